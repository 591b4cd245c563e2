"""How much of the mean waits a rank has time for."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import Trace, load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.replay.probabilistic.planned_calls import wait_share, waits
from scalatrace.trace.model.tables import Kind

ROUNDS = 10
COMPUTE, COMM = (8e7, 2e7), (0.0, 6e7)
"""Nanoseconds before and in the Waitall of each rank: one computes, the other waits for it."""


def _trace(folder: Path, compute_ns: tuple[float, ...], comm_ns: tuple[float, ...]) -> Trace:
    cores = []
    for rank, (before, inside) in enumerate(zip(compute_ns, comm_ns, strict=True)):
        core = Core(rank, len(compute_ns))
        core.define_stat("compute_ns")
        core.define_stat("comm_ns")
        op = core.define_op("Barrier", (("comm", Kind.COMM),))
        receive = core.define_op("Mprobe", (("comm", Kind.COMM),))
        site = core.define_signature(["app.py:1:main"])
        for _ in range(ROUNDS):
            core.append(receive, [COMM_WORLD], site, rank, len(compute_ns), [before, inside])
            core.append(op, [COMM_WORLD], site, rank, len(compute_ns), [0.0, 0.0])
        core.finish()
        cores.append(core)
    for child in cores[1:]:
        cores[0].merge(child.pack())
    cores[0].write(folder / "a.st")
    return load(folder / "a.st")


def test_who_computes_longest_does_not_wait(tmp_path: Path) -> None:
    """Were both to wait for the mean of 30 ms, the run would take 110 ms a round and not 80."""
    trace = _trace(tmp_path, COMPUTE, COMM)
    assert wait_share(trace, 0) == pytest.approx(0, abs=0.2)
    assert wait_share(trace, 1) == 1


def test_alike_ranks_wait_as_long_as_they_did(tmp_path: Path) -> None:
    trace = _trace(tmp_path, (5e7, 5e7), (3e7, 3e7))
    assert [wait_share(trace, rank) for rank in (0, 1)] == pytest.approx([1, 1], abs=0.05)


def test_what_may_wait() -> None:
    assert all(waits(op) for op in ("Recv", "Irecv", "Waitall", "Test", "Probe"))
    assert not any(waits(op) for op in ("Send", "Isend", "Bcast", "Comm_split"))
