"""SimGrid accepts the export, and its times are those of the platform."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine import SimulateOptions, simulate
from scalatrace.predict.export.simgrid import SIMGRID, write_simgrid
from scalatrace.predict.export.simgrid_platform import list_unsupported, platform_xml
from scalatrace.predict.export.simgrid_run import simgrid_time_ns
from scalatrace.predict.lowering import TraceLowering
from scalatrace.predict.platform import Network, NetworkTopology, Platform, Segment, TopologyLink
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import BYTE, Builder, Comm, To, stencil
from support.lowered import every_kind, on

SEGMENTS = (Segment(0, 1000, 0.1, 0, 300, 400, 0.01, 0.02), Segment(2000, 3000, 0.5, 0, 700, 900))

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")


def message(nbytes: int, nonblocking: bool) -> Trace:
    b = Builder(2)
    prefix, name = ("I", str.lower) if nonblocking else ("", str)
    both = {"count": nbytes, "datatype": BYTE, "tag": 0, "comm": Comm()}
    wait = [b.event("Wait", request=0)] if nonblocking else []
    return b.of(
        b.event(prefix + name("Send"), repeat=on({0: 1}), dest=1, **both),
        b.event(prefix + name("Recv"), repeat=on({1: 1}), source=0, **both),
        *wait,
    )


def test_text(tmp_path: Path) -> None:
    lowering = TraceLowering(stencil(), SIMGRID)
    write_simgrid(lowering, tmp_path)
    assert (tmp_path / "ranks.txt").read_text() == "".join(f"rank-{i}.txt\n" for i in range(4))
    lines = (tmp_path / "rank-0.txt").read_text().splitlines()
    assert lines[:4] == ["0 init", "0 irecv 3 7 800 6", "0 isend 1 7 800 6", "0 waitall"]
    assert lines[-2:] == ["0 allreduce 8 0 6", "0 finalize"]


@needs_simgrid
@pytest.mark.parametrize("limit", [None, 1000])
@pytest.mark.parametrize("nbytes", [0, 8, 1001, 1999, 2000, 100_000])
def test_one_message_takes_its_time(nbytes: int, limit: int | None) -> None:
    platform = Platform(network=Network(SEGMENTS, limit))
    expected = platform.network.segment(nbytes).message_ns(nbytes)
    for nonblocking in (False, True):
        assert simgrid_time_ns(message(nbytes, nonblocking), platform) == pytest.approx(expected, abs=1e-3)


@needs_simgrid
def test_messages_within_a_node() -> None:
    memory = Network((Segment(0, 200, 0.05, 0, 300, 400),))
    network = Network((Segment(0, 1000, 0.1, 0, 300, 400),))
    platform = Platform(network=network, memory=memory, ranks_per_node=2)
    assert simgrid_time_ns(message(1000, False), platform) == pytest.approx(950, rel=0.01)


@needs_simgrid
@pytest.mark.parametrize("target", [None, SIMGRID])
def test_simgrid_accepts_all_kinds_of_calls(target: object) -> None:
    platform = Platform(network=Network(SEGMENTS))
    time_ns = simgrid_time_ns(every_kind(6), platform, target=target)  # type: ignore[arg-type]
    assert 10_000 < time_ns < 10_000_000


@needs_simgrid
def test_computation_counts() -> None:
    b = Builder(3)
    trace = b.of(b.event("Barrier", comm=Comm(), compute=Histogram.of(5000)))
    assert simgrid_time_ns(trace, Platform()) == pytest.approx(5000, rel=1e-6)


@needs_simgrid
def test_a_deadlock_is_an_error() -> None:
    b = Builder(2)
    both = {"count": 1, "datatype": BYTE, "tag": 0, "comm": Comm()}
    trace = b.of(b.event("Recv", repeat=on({0: 1}), source=1, **both))
    with pytest.raises(ScalatraceError, match="does not end"):
        simgrid_time_ns(trace, Platform())


TOPOLOGIES = (
    NetworkTopology("cluster"),
    NetworkTopology("fat-tree", topo_parameters="2;4,3;1,2;1,1"),
    NetworkTopology("fat-tree", radix=4, oversubscription=3),
    NetworkTopology("torus", (3, 4)),
    NetworkTopology("mesh", (4, 3)),
    NetworkTopology("dragonfly", topo_parameters="2,1;1,1;3,2;2"),
    NetworkTopology(
        "graph",
        nodes=tuple(f"n{i}" for i in range(12)),
        links=(*(TopologyLink(f"n{i}", f"s{i % 3}") for i in range(12)), TopologyLink("s0", "s1"),
               TopologyLink("s1", "s2", per_byte_ns=0.2)),
    ),
)  # fmt: skip


@needs_simgrid
@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: topology.kind)
@pytest.mark.parametrize("placement", ["block", "random:3"])
@pytest.mark.parametrize("distance", [1, 5])
def test_flows_take_as_long_as_in_simgrid(topology: NetworkTopology, placement: str, distance: int) -> None:
    b = Builder(12)
    both = {"count": 100_000, "datatype": BYTE, "tag": 0, "comm": Comm()}
    trace = b.of(
        *(b.event("Irecv", source=To(Encoding.MODULO, Vec(-d)), **both) for d in (distance, 2)),
        *(b.event("Isend", dest=To(Encoding.MODULO, Vec(d)), **both) for d in (distance, 2)),
        b.event("Waitall", requests=(3, 2, 1, 0)),
    )
    network = Network((Segment(0, per_byte_ns=0.1),), 1000)  # without latency, SimGrid shares links equally
    platform = Platform(network=network, interface="unlimited", topology=topology, placement=placement)
    ours = simulate(trace, platform, SimulateOptions(network="flows")).time_ns
    assert simgrid_time_ns(trace, platform, contention=True) == pytest.approx(ours, rel=0.002)


@pytest.mark.parametrize("topology", [NetworkTopology("mesh", (2, 1)), NetworkTopology("torus", (2, 1))])
def test_hosts_have_cores_for_their_ranks(topology: NetworkTopology, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a\na\na\nb\n")
    platform = Platform(topology=topology, placement=f"file:{tmp_path / 'hosts'}").placed(4)
    text = platform_xml(platform, 4, contention=True)
    assert set(re.findall(r'core="(\d+)"', text)) == {"3"}
    assert 'src="node-1" dst="node-1"' in text or "loopback_bw" in text


@needs_simgrid
@pytest.mark.parametrize("topology", [NetworkTopology("mesh", (2, 1)), NetworkTopology("torus", (2, 1))])
def test_ranks_of_a_node_compute_at_the_same_time(topology: NetworkTopology) -> None:
    b = Builder(8)
    trace = b.of(b.event("Barrier", comm=Comm(), compute=Histogram.of(1_000_000)))
    platform = Platform(network=Network((Segment(0, 100.0, 1.0),)), topology=topology, ranks_per_node=4)
    assert simgrid_time_ns(trace, platform, contention=True) == pytest.approx(1_000_000, rel=0.01)


def test_without_simgrid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ScalatraceError, match="libsimgrid-dev"):
        simgrid_time_ns(stencil(), Platform())


def test_what_simgrid_does_not_know() -> None:
    platform = Platform(
        network=Network((Segment(0, 1.0, gap_ns=2.0),)),
        topology=NetworkTopology("torus", (2, 2), hop_ns=1.0),
        memory=Network(SEGMENTS),
    )
    assert len(list_unsupported(platform)) == 3
