"""Messages that share links: loads against direct counting, flows against a plain max-min simulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.executor.links import EngineTopology
from scalatrace.predict.engine import hot_links
from scalatrace.predict.engine.hot_links import hottest_links
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.platform import (
    AlgorithmRule,
    Network,
    NetworkTopology,
    Platform,
    Segment,
    TopologyShape,
)
from scalatrace.predict.platform.engine_arrays import engine_topology
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import BYTE, Builder, Comm, To
from support.lowered import every_kind, on
from support.random_loops import both

NETWORK = Network((Segment(0, 1000, 1.0),))
PLATFORM = Platform(network=NETWORK, interface="unlimited", topology=NetworkTopology("cluster"))
TREE = NetworkTopology("fat-tree", topo_parameters="2;2,4;1,1;1,1")
TOPOLOGIES = (
    NetworkTopology("cluster"), TREE, NetworkTopology("torus", (4, 2)), NetworkTopology("mesh", (2, 4)),
    NetworkTopology("dragonfly", topo_parameters="2,1;1,1;2,1;2"),
)  # fmt: skip
NRANKS = 8


def times_ns(trace: Trace, platform: Platform, network: str) -> list[float]:
    result = Simulator(trace).run(platform, SimulateOptions(network=network))
    return [float(ps) / 1000 for ps in result.clocks[:, 0]]


Sent = tuple[int, int, int, int]
"""Source, destination, bytes, time of the start in ns."""

MESSAGES = st.lists(
    st.tuples(
        st.integers(0, NRANKS - 1), st.integers(0, NRANKS - 1), st.integers(1, 5000), st.integers(0, 3000)
    ).filter(lambda m: m[0] != m[1]),
    min_size=1, max_size=12, unique_by=lambda m: (m[0], m[1]),
)  # fmt: skip


def exchange(messages: Sequence[Sent]) -> Trace:
    """Return a trace in which each message is sent after its time; all receives are posted before."""
    b = Builder(NRANKS)
    receives = [
        b.event("Irecv", repeat=on({dest: 1}), source=source, **both(nbytes))
        for source, dest, nbytes, _ in messages
    ]
    sends, counts = [], [0] * NRANKS
    for _, dest, _, _ in messages:
        counts[dest] += 1
    before = [0] * NRANKS
    for source, dest, nbytes, start in sorted(messages, key=lambda m: m[3]):
        compute = Histogram.of(start - before[source])
        before[source] = start
        sends.append(b.event("Isend", repeat=on({source: 1}), dest=dest, compute=compute, **both(nbytes)))
        counts[source] += 1
    waits = [
        b.event("Waitall", repeat=on({rank: 1}), requests=tuple(range(count))[::-1])
        for rank, count in enumerate(counts)
        if count
    ]
    return b.of(*receives, *sends, *waits, every=True)


def links_of(platform: Platform, messages: Sequence[Sent]) -> list[list[int]]:
    topology = engine_topology(platform.links(NRANKS))
    ends = (np.array([message[i] for message in messages]) for i in (0, 1))
    offsets, links = topology.routes(*ends)
    return [links[a:b].tolist() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


@settings(max_examples=40, deadline=None)
@given(MESSAGES, st.sampled_from(TOPOLOGIES))
def test_loads_count_the_bytes_of_each_link(messages: list[Sent], topology: NetworkTopology) -> None:
    platform = replace(PLATFORM, topology=topology)
    shape, routes = platform.links(NRANKS), links_of(platform, messages)
    bytes_of: dict[int, int] = {}
    for message, route in zip(messages, routes, strict=True):
        for link in route:
            bytes_of[link] = bytes_of.get(link, 0) + message[2]
    expected = [0.0] * NRANKS
    for (source, dest, nbytes, start), route in zip(messages, routes, strict=True):
        busy = max(bytes_of[link] * shape.per_byte_ns[shape.class_of(link)] for link in route)
        expected[source] = max(expected[source], start)
        expected[dest] = max(expected[dest], start + 1000 + max(busy, nbytes))
    assert times_ns(exchange(messages), platform, "loads") == pytest.approx(expected, rel=1e-6, abs=0.01)


def max_min(flows: dict[int, tuple[list[int], float]], capacity: dict[int, float]) -> dict[int, float]:
    """Return rates: raise all together, and stop those that a full link or their own limit holds."""
    rates = dict.fromkeys(flows, 0.0)
    free = set(flows)
    while free:
        users = {link: [f for f in flows if link in flows[f][0]] for f in free for link in flows[f][0]}
        steps = [flows[f][1] - rates[f] for f in free]
        steps += [
            (capacity[link] - sum(rates[f] for f in used)) / len(free.intersection(used))
            for link, used in users.items()
        ]
        step = max(min(steps), 0.0)
        for f in free:
            rates[f] += step
        full = {
            link
            for link, used in users.items()
            if capacity[link] - sum(rates[f] for f in used) < 1e-9 * capacity[link]
        }
        stopped = {f for f in free if rates[f] >= flows[f][1] * (1 - 1e-9) or full.intersection(flows[f][0])}
        free -= stopped or free
    return rates


def ends_of(messages: Sequence[Sent], routes: list[list[int]], capacity: dict[int, float]) -> list[float]:
    left = [float(message[2]) for message in messages]
    starts = [message[3] + 1000.0 for message in messages]
    ends = [0.0] * len(messages)
    now, active, waiting = 0.0, set[int](), set(range(len(messages)))
    while active or waiting:
        rates = max_min({f: (routes[f], 1.0) for f in active}, capacity)
        times = [starts[f] for f in waiting] + [now + left[f] / rates[f] for f in active]
        then = min(times)
        for f in active:
            left[f] -= rates[f] * (then - now)
        now = then
        for f in [f for f in active if left[f] < 1e-6]:
            ends[f] = now
            active.remove(f)
        for f in [f for f in waiting if starts[f] <= now]:
            waiting.remove(f)
            active.add(f)
    return ends


@settings(max_examples=60, deadline=None)
@given(MESSAGES, st.sampled_from(TOPOLOGIES), st.booleans())
def test_flows_are_max_min_fair(messages: list[Sent], topology: NetworkTopology, interfaces: bool) -> None:
    platform = replace(PLATFORM, topology=topology, interface="rank" if interfaces else "unlimited")
    shape, routes = platform.links(NRANKS), links_of(platform, messages)
    capacity = {link: 1 / shape.per_byte_ns[shape.class_of(link)] for route in routes for link in route}
    if interfaces:
        for (source, dest, _, _), route in zip(messages, routes, strict=True):
            ends = -1 - source, -101 - dest
            route.extend(ends)
            capacity |= dict.fromkeys(ends, 1.0)
    expected = [0.0] * NRANKS
    for (source, dest, _, start), end in zip(messages, ends_of(messages, routes, capacity), strict=True):
        expected[source] = max(expected[source], start)
        expected[dest] = max(expected[dest], end)
    assert times_ns(exchange(messages), platform, "flows") == pytest.approx(expected, rel=1e-6, abs=0.1)


@pytest.mark.parametrize("network", ["loads", "flows"])
@pytest.mark.parametrize("limit", [None, 100])
def test_links_that_nobody_shares_change_nothing(network: str, limit: int | None) -> None:
    fast = NetworkTopology("cluster", per_byte_ns=1e-9)
    platform = replace(PLATFORM, network=Network((Segment(0, 1000, 1.0, 0, 300, 400),), limit), topology=fast)
    for trace in (every_kind(4), every_kind(8)):
        expected = times_ns(trace, platform, "none")
        close = pytest.approx(expected, rel=1e-12 if network == "loads" else 1e-3)
        assert times_ns(trace, platform, network) == close


def shift(nbytes: int, distance: int = 4) -> Trace:
    b = Builder(NRANKS)
    return b.of(
        b.event("Irecv", source=To(Encoding.MODULO, Vec(-distance)), **both(nbytes)),
        b.event("Isend", dest=To(Encoding.MODULO, Vec(distance)), **both(nbytes)),
        b.event("Waitall", requests=(1, 0)),
    )


@pytest.mark.parametrize("network", ["loads", "flows"])
def test_an_oversubscribed_tree_is_slower(network: str) -> None:
    whole = NetworkTopology("fat-tree", radix=4, oversubscription=1)
    halves = NetworkTopology("fat-tree", radix=4, oversubscription=4)
    times = [
        max(times_ns(shift(1000), replace(PLATFORM, topology=each), network)) for each in (whole, halves)
    ]
    assert times == [2000, 5000]


@pytest.mark.parametrize("network", ["loads", "flows"])
@pytest.mark.parametrize("limit", [None, 100])
def test_placement_decides_what_is_shared(network: str, limit: int | None) -> None:
    memory = Network((Segment(0, 100, 0.1),))
    platform = replace(
        PLATFORM, network=Network((Segment(0, 1000, 1.0),), limit), memory=memory, ranks_per_node=2
    )
    trace = shift(1000)
    assert max(times_ns(trace, platform, network)) == 1000 + 2000
    assert max(times_ns(trace, replace(platform, placement="cyclic"), network)) == 200


def test_several_sends_before_a_wait_share_links() -> None:
    b = Builder(NRANKS)
    receives = [b.event("Irecv", source=To(Encoding.MODULO, Vec(-d)), **both(1000)) for d in (1, 2, 3)]
    sends = [b.event("Isend", dest=To(Encoding.MODULO, Vec(d)), **both(1000)) for d in (1, 2, 3)]
    trace = b.of(*receives, *sends, b.event("Waitall", requests=tuple(range(6))[::-1]))
    for network in ("loads", "flows"):
        assert max(times_ns(trace, PLATFORM, network)) == 4000
    # Messages that wait for the interface of their rank do not share its link besides.
    assert max(times_ns(trace, replace(PLATFORM, interface="rank"), "loads")) == 4000


def test_destinations_that_vary_share_links_in_each_execution() -> None:
    b = Builder(NRANKS)

    def peers(rows: dict[int, tuple[int, int]]) -> To:
        groups = [(RankList([rank]), vec_of(values)) for rank, values in rows.items()]
        return To(Encoding.ABSOLUTE, Groups(groups))

    send = b.event("Send", repeat=on({0: 1, 1: 1}), dest=peers({0: (4, 5), 1: (5, 4)}), **both(1000))
    receive = b.event("Recv", repeat=on({4: 1, 5: 1}), source=peers({4: (0, 1), 5: (1, 0)}), **both(1000))
    trace = b.of(b.loop(2, send, receive))
    assert max(times_ns(trace, replace(PLATFORM, ranks_per_node=4), "loads")) == 3000


@pytest.mark.parametrize("network", ["loads", "flows"])
def test_receives_from_any_source_get_what_arrives_first(network: str) -> None:
    b = Builder(NRANKS)
    sends = [
        b.event("Isend", repeat=on({rank: 1}), dest=0, compute=Histogram.of(ns), **both(nbytes, rank))
        for rank, ns, nbytes in ((1, 0, 5000), (2, 10, 100))
    ]
    waits = b.event("Waitall", repeat=on({1: 1, 2: 1}), requests=(0,))
    receive = b.event("Recv", repeat=on({0: 1}), source=ANY_SOURCE, **both(5000, 2))
    other = b.event("Recv", repeat=on({0: 1}), source=ANY_SOURCE, **both(5000, 1))
    trace = b.of(*sends, waits, receive, other, every=True)
    expected = 1000 + 5000 + 100
    assert max(times_ns(trace, PLATFORM, network)) == pytest.approx(expected, rel=0.02)


def test_a_probe_waits_for_the_flow() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), dest=1, **both(1000)),
        b.event("Probe", repeat=on({1: 1}), source=0, tag=0, comm=Comm()),
        b.event("Recv", repeat=on({1: 1}), source=0, **both(1000)),
    )
    assert max(times_ns(trace, PLATFORM, "flows")) == 2000


@pytest.mark.parametrize("network", ["none", "loads", "flows"])
@pytest.mark.parametrize("name", ["Put", "Get", "Rput"])
@pytest.mark.parametrize("ending", ["Win_flush_all", "Win_fence", "Wait"])
def test_one_sided_transfers_share_links(name: str, ending: str, network: str) -> None:
    """Two ranks access one target: they share its link; acknowledgements and requests take a latency."""
    if ending == "Wait" and name != "Rput":
        return
    b = Builder(NRANKS)
    window = {"win": 0, "comm": Comm()}
    some = on({1: 1, 2: 1})
    access = b.event(
        name, repeat=some, origin_count=1000, origin_datatype=BYTE, target_rank=0, target_disp=0,
        target_count=1000, target_datatype=BYTE, **window,
    )  # fmt: skip
    end = b.event("Wait", repeat=some, request=0) if ending == "Wait" else b.event(ending, **window)
    times = times_ns(b.of(access, end, every=True), PLATFORM, network)
    bytes_ns = 1000 if network == "none" else 2000
    assert max(times) == 2000 + bytes_ns + (3000 if ending == "Win_fence" else 0)


def test_one_sided_transfers_end_without_their_flush() -> None:
    b = Builder(2)
    put = b.event(
        "Put", repeat=on({0: 1}), origin_count=1000, origin_datatype=BYTE, target_rank=1, target_disp=0,
        target_count=1000, target_datatype=BYTE, win=0, comm=Comm(),
    )  # fmt: skip
    assert times_ns(b.of(put), PLATFORM, "flows") == [0, 0]


@pytest.mark.parametrize("network", ["loads", "flows"])
def test_paths_add_up(network: str) -> None:
    trace = every_kind(6)
    result = Simulator(trace).run(PLATFORM, SimulateOptions(network=network), path=True)
    assert result.path_by_node is not None
    assert int(result.path_by_node.sum()) == result.time_ps


@pytest.mark.parametrize("network", ["loads", "flows"])
def test_further_links_take_longer(network: str) -> None:
    tree = replace(PLATFORM, topology=replace(TREE, hop_ns=50.0))
    line = replace(PLATFORM, topology=NetworkTopology("torus", (8,), hop_ns=50.0))
    times = [max(times_ns(shift(0, far), each, network)) for each in (tree, line) for far in (1, 4)]
    assert times == [1100, 1100, 1000, 1150]


def collective(name: str, entries_ns: Sequence[int]) -> Trace:
    """Return one collective call that ranks enter at different times."""
    b = Builder(NRANKS)
    sizes: dict[str, Any] = {"count": 4000, "datatype": BYTE}
    if name == "Alltoall":
        sizes = {"sendcount": 1000, "sendtype": BYTE, "recvcount": 1000, "recvtype": BYTE}
    if name == "Bcast":
        sizes["root"] = 3
    if name == "Allreduce":
        sizes["op"] = "MPI_SUM"
    waits = [
        b.event("Wtime", repeat=on({rank: 1}), compute=Histogram.of(ns)) for rank, ns in enumerate(entries_ns)
    ]
    return b.of(*waits, b.event(name, **sizes, comm=Comm()), every=True)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["Alltoall", "Bcast", "Allreduce"]),
    st.booleans(),
    st.sampled_from(TOPOLOGIES),
    st.lists(st.integers(0, 3000), min_size=NRANKS, max_size=NRANKS) | st.just([0] * NRANKS),
    st.booleans(),
    st.sampled_from([None, 100]),
)
def test_rounds_that_overlap_take_as_long_as_flows(
    name: str,
    linear: bool,
    topology: NetworkTopology,
    entries_ns: list[int],
    interfaces: bool,
    limit: int | None,
) -> None:
    network = Network((Segment(0, 200, 1.0, 0, 30, 40),), limit)
    platform = Platform(
        network=network,
        interface="rank" if interfaces else "unlimited",
        topology=topology,
        collectives={name.lower(): (AlgorithmRule("linear"),)} if linear else {},
    )
    trace = collective(name, entries_ns)
    assert times_ns(trace, platform, "loads") == pytest.approx(times_ns(trace, platform, "flows"), abs=0.1)


def test_all_to_alls_on_a_torus_are_slower_than_their_rounds() -> None:
    """One round after another would take 9000 ns, the time of the busiest link of each."""
    platform = replace(
        PLATFORM,
        network=Network((Segment(0, 0, 1.0),)),
        topology=NetworkTopology("torus", (4, 2)),
        collectives={"alltoall": (AlgorithmRule("pairwise"),)},
    )
    trace = collective("Alltoall", [0] * NRANKS)
    assert max(times_ns(trace, platform, "loads")) == max(times_ns(trace, platform, "flows")) == 11500


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3000), min_size=NRANKS, max_size=NRANKS) | st.just([0] * NRANKS),
    st.sampled_from(["none", "flows"]),
    st.booleans(),
    st.sampled_from([None, 100]),
)
def test_linear_all_to_alls_send_all_messages_at_once(
    entries_ns: list[int], network: str, interfaces: bool, limit: int | None
) -> None:
    platform = Platform(
        network=Network((Segment(0, 200, 1.0, 0, 30, 40),), limit),
        interface="rank" if interfaces else "unlimited",
        topology=TREE,
        collectives={"alltoall": (AlgorithmRule("linear"),)},
    )
    b = Builder(NRANKS)
    calls = [
        b.event("Wtime", repeat=on({rank: 1}), compute=Histogram.of(ns)) for rank, ns in enumerate(entries_ns)
    ]
    calls += [b.event("Irecv", source=To(Encoding.XOR, Vec(d)), **both(1000)) for d in range(1, NRANKS)]
    calls += [b.event("Isend", dest=To(Encoding.XOR, Vec(d)), **both(1000)) for d in range(1, NRANKS)]
    calls.append(b.event("Waitall", requests=tuple(range(2 * NRANKS - 2))[::-1]))
    expected = times_ns(b.of(*calls, every=True), platform, network)
    times = times_ns(collective("Alltoall", entries_ns), platform, network)
    assert times == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("nranks", [300, 600])
def test_all_messages_of_large_linear_all_to_alls_share_links(nranks: int) -> None:
    platform = replace(PLATFORM, collectives={"alltoall": (AlgorithmRule("linear"),)})
    b = Builder(nranks)
    sizes = {"sendcount": 1000, "sendtype": BYTE, "recvcount": 1000, "recvtype": BYTE}
    trace = b.of(b.event("Alltoall", **sizes, comm=Comm()))
    assert times_ns(trace, platform, "loads") == [1000 + (nranks - 1) * 1000] * nranks


def test_some_rounds_stand_for_those_of_a_long_call() -> None:
    platform = replace(
        PLATFORM,
        network=Network((Segment(0, 0, 0.1),)),
        topology=NetworkTopology("torus", (10, 6, 5)),
        collectives={"alltoall": (AlgorithmRule("pairwise"),)},
    )
    b = Builder(300)
    sizes = {"sendcount": 16384, "sendtype": BYTE, "recvcount": 16384, "recvtype": BYTE}
    trace = b.of(b.event("Alltoall", **sizes, comm=Comm()))
    simgrid_ns = 2_485_214  # replay of SimGrid 3.32 on this torus
    assert max(times_ns(trace, platform, "loads")) == pytest.approx(simgrid_ns, rel=0.1)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_loads_and_flows_count_the_same_bytes(topology: NetworkTopology) -> None:
    b = Builder(NRANKS)
    steps = b.loop(
        20,
        b.event("Irecv", source=To(Encoding.MODULO, Vec(-3)), **both(1000)),
        b.event("Isend", dest=To(Encoding.MODULO, Vec(3)), at=("a.py:1:f",), **both(1000)),
        b.event("Waitall", requests=(1, 0)),
        b.event("Allreduce", count=800, datatype=BYTE, op="MPI_SUM", comm=Comm()),
    )
    simulator, platform = Simulator(b.of(steps)), replace(PLATFORM, topology=topology)
    uses = []
    for network in ("loads", "flows"):
        result = simulator.run(platform, SimulateOptions(network=network), count_links=True)
        assert result.link_use is not None
        uses.append(result.link_use)
    assert uses[0].nbytes == pytest.approx(uses[1].nbytes)
    assert uses[0].nbytes.sum() > 0
    rows = [hottest_links(use, simulator.program, 1e6, 3) for use in uses]
    assert [row["link"] for row in rows[0]] == [row["link"] for row in rows[1]]
    first = rows[0][0]
    assert first["nbytes"] == uses[0].nbytes.max() or topology.kind == "dragonfly"
    assert {row["operation"] for row in rows[0]} <= {"Isend", "Allreduce"}


def test_links_are_built_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def build(shape: TopologyShape) -> EngineTopology:
        built.append(shape.kind)
        return engine_topology(shape)

    monkeypatch.setattr(sys.modules[Simulator.__module__], "engine_topology", build)
    simulator, line = Simulator(every_kind(8)), NetworkTopology("torus", (8,))
    for seed in (1, 2):
        for network in ("loads", "flows"):
            options = SimulateOptions(network=network, drawn=True, seed=seed)
            first, again = (simulator.run(PLATFORM, options) for _ in range(2))
            assert first.clocks.tolist() == again.clocks.tolist()
    simulator.run(replace(PLATFORM, topology=line))
    assert built == ["cluster", "torus"]


def test_bytes_of_destinations_that_vary() -> None:
    b = Builder(4)
    peers = To(Encoding.ABSOLUTE, Groups([(RankList([0]), vec_of((1, 2, 1, 3)))]))
    send = b.event("Send", repeat=on({0: 1}), dest=peers, **both(1000))
    receives = [
        b.event("Recv", repeat=on({r: n}), source=0, **both(1000)) for r, n in ((1, 2), (2, 1), (3, 1))
    ]
    simulator = Simulator(b.of(b.loop(4, send), *receives))
    for network in ("loads", "flows"):
        use = simulator.run(PLATFORM, SimulateOptions(network=network), count_links=True).link_use
        assert use is not None
        assert use.nbytes.tolist() == [4000, 0, 0, 2000, 0, 1000, 0, 1000]


def test_links_that_are_not_counted_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_links, "MAX_COUNTS", 1)
    simulator = Simulator(shift(1000))
    use = simulator.run(PLATFORM, count_links=True).link_use
    assert use is not None
    assert hottest_links(use, simulator.program, 1e6, 3) == []
    note = simulator.program.notes["busiest links"]
    assert note == f"not counted: {2 * NRANKS} links for each call that sends take too much memory"
