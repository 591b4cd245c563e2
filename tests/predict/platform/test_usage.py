"""What a run does not use of its platform is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace.predict.platform import (
    AlgorithmRule,
    Network,
    NetworkTopology,
    Platform,
    Segment,
    write_platform,
)
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.drawing import json_of

NETWORK = Network((Segment(latency_ns=1000.0, per_byte_ns=1.0),))
RING = {"datatype": DOUBLE, "tag": 0, "comm": Comm()}


def notes(folder: Path, capsys: pytest.CaptureFixture[str], platform: Platform) -> dict[str, str]:
    """The notes of a simulated ring of 8 ranks, with messages of 800 bytes and a sum."""
    b = Builder(8)
    trace = b.of(
        b.event("Isend", count=100, dest=To(Encoding.MODULO, Vec(1)), **RING, request=0),
        b.event("Recv", count=100, source=To(Encoding.MODULO, Vec(-1)), **RING),
        b.event("Wait", request=0),
        b.event("Allreduce", count=1, datatype=DOUBLE, comm=Comm()),
    )
    scalatrace.save(trace, folder / "a.st")
    write_platform(folder / "p.toml", platform)
    facts = json_of(capsys, "simulate", folder / "a.st", "--platform", folder / "p.toml")
    found: dict[str, str] = facts["notes"]
    return found


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        (Platform(network=NETWORK), ""),
        (
            Platform(network=NETWORK, topology=NetworkTopology("fat-tree", radix=4)),
            "",
        ),
        (Platform(network=NETWORK, memory=NETWORK, ranks_per_node=8), "network (all ranks are on one node)"),
        (Platform(network=NETWORK, memory=NETWORK, ranks_per_node=1), "memory (no two ranks share a node)"),
        (Platform(network=NETWORK, memory=NETWORK, ranks_per_node=4), ""),
        (
            Platform(network=NETWORK, collectives={"scan": (AlgorithmRule("linear"),)}),
            "collectives.scan (the run has no",
        ),
        (Platform(network=NETWORK, collectives={"allreduce": (AlgorithmRule("ring"),)}), ""),
        (
            Platform(network=NETWORK, measured_up_to_bytes=100),
            "up to 800 bytes, the platform was measured up to 100",
        ),
        (Platform(network=NETWORK, measured_up_to_bytes=800), ""),
    ],
)
def test_what_a_run_does_not_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], platform: Platform, text: str
) -> None:
    found = notes(tmp_path, capsys, platform).get("platform", "")
    assert text in found
    assert bool(text) == bool(found)
