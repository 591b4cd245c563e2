"""The simulator against times worked out by hand, and against a second one without its short cuts."""

from __future__ import annotations

import gc
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.predict.engine.simulate import (
    SimulateOptions,
    SimulationDeadlockError,
    SimulationThreadsError,
    Simulator,
    simulate,
)
from scalatrace.predict.platform import MatchingCost, Network, Platform, Segment
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, Vec
from support.builder import INT, Builder, Comm, To
from support.lowered import every_kind, member_types, on
from support.random_loops import BYTE, both, loops
from support.simulated import simulated_ns

SEGMENTS = (Segment(0, 1000, 0.1, 0, 300, 400, 0.01, 0.02), Segment(2000, 3000, 0.5, 0, 700, 900))
NETWORK = Network(SEGMENTS, 10_000, 500)


def message(nbytes: int, send: str = "Send", receive: str = "Recv") -> Trace:
    b = Builder(2)
    wait = [b.event("Wait", request=0)] if send[0] == "I" else []
    return b.of(
        b.event(send, repeat=on({0: 1}), dest=1, **both(nbytes)),
        b.event(receive, repeat=on({1: 1}), source=0, **both(nbytes)),
        *wait,
    )


@pytest.mark.parametrize("nbytes", [0, 8, 1999, 2000, 10_000])
def test_an_eager_message(nbytes: int) -> None:
    segment = NETWORK.segment(nbytes)
    for names in (("Send", "Recv"), ("Isend", "Irecv")):
        result = simulate(message(nbytes, *names), Platform(network=NETWORK))
        sender = segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns
        assert (result.clocks[:, 0] / 1000).tolist() == pytest.approx([sender, segment.message_ns(nbytes)])


def test_a_rendezvous_waits_for_the_receiver() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), dest=1, **both(20_000)),
        b.event("Recv", repeat=on({1: 1}), source=0, compute=Histogram.of(1_000_000), **both(20_000)),
    )
    result = simulate(trace, Platform(network=NETWORK))
    transfer = 500 + 3000 + 20_000 * 0.5
    assert (result.clocks[:, 0] / 1000).tolist() == [1_000_000 + transfer, 1_000_000 + transfer + 900]
    assert result.by_rank[0].tolist() == [0, (700 + transfer) * 1000, (1_000_000 - 700) * 1000]


@pytest.mark.parametrize(("send", "waits"), [("Ssend", True), ("Bsend", False), ("Rsend", False)])
def test_modes_of_sends(send: str, waits: bool) -> None:
    nbytes = 20_000 if send == "Bsend" else 8
    result = simulate(message(nbytes, send), Platform(network=NETWORK))
    assert (result.clocks[0, 0] / 1000 > 1000) == waits


def test_messages_wait_for_the_interface_of_their_sender() -> None:
    b = Builder(3)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), dest=1, **both(1000)),
        b.event("Send", repeat=on({0: 1}), dest=2, **both(1000)),
        b.event("Recv", repeat=on({1: 1, 2: 1}), source=0, **both(1000)),
    )
    one = Platform(network=Network((Segment(0, 10, 1.0),)))
    assert (simulate(trace, one).clocks[:, 0] / 1000).tolist() == [0, 1010, 2010]
    unlimited = replace(one, interface="unlimited")
    assert (simulate(trace, unlimited).clocks[:, 0] / 1000).tolist() == [0, 1010, 1010]


def test_messages_within_a_node() -> None:
    memory = Network((Segment(0, 200, 0.05, 0, 300, 400),))
    platform = Platform(network=NETWORK, memory=memory, ranks_per_node=2)
    assert simulate(message(1000), platform).time_ns == 950
    assert simulate(message(1000), replace(platform, ranks_per_node=1)).time_ns > 950


def test_ranks_of_a_node_share_its_interface() -> None:
    b = Builder(4)
    trace = b.of(
        b.event("Send", repeat=on({0: 1, 1: 1}), dest=To(Encoding.RELATIVE, Vec(2)), **both(1000)),
        b.event("Recv", repeat=on({2: 1, 3: 1}), source=To(Encoding.RELATIVE, Vec(-2)), **both(1000)),
    )
    own = Platform(network=Network((Segment(0, 10, 1.0),)), ranks_per_node=2)
    shared = replace(own, interface="node")
    assert [simulate(trace, each).time_ns for each in (own, shared)] == [1010, 2010]
    # Messages within a node do not use it.
    assert simulate(trace, replace(shared, ranks_per_node=4)).time_ns == 1010


def test_searches_in_queues_cost_time() -> None:
    b = Builder(2)
    trace = b.of(
        *(b.event("Send", repeat=on({0: 1}), dest=1, **both(0, tag)) for tag in range(3)),
        *(b.event("Recv", repeat=on({1: 1}), source=0, **both(0, tag)) for tag in (2, 1, 0)),
    )
    free = Platform(network=Network((Segment(0, 10),)))
    costly = replace(free, matching=MatchingCost(5))
    assert simulate(trace, free).time_ns == 10
    assert simulate(trace, costly).time_ns > 10


def test_receives_from_any_source_take_the_first_message() -> None:
    b = Builder(3)
    each = {0: 500, 1: 100, 2: 0}
    trace = b.of(
        *(
            b.event("Send", repeat=on({rank: 1}), dest=2, compute=Histogram.of(ns), **both(rank))
            for rank, ns in each.items()
            if rank < 2
        ),
        b.event("Recv", repeat=on({2: 1}), source=ANY_SOURCE, **both(9)),
        b.event("Send", repeat=on({2: 1}), dest=1, **both(0, 7)),
        b.event("Recv", repeat=on({1: 1}), source=2, **both(0, 7)),
        b.event("Recv", repeat=on({2: 1}), source=ANY_SOURCE, **both(9)),
    )
    result = simulate(trace, Platform(network=Network((Segment(0, 10),))))
    assert (result.clocks[:, 0] / 1000).tolist() == [500, 120, 510]


def test_receives_from_any_source_that_wait_for_others() -> None:
    """Rank k receives from rank k - 1, once that has its own two messages, and from a leaf."""
    b, n = Builder(40), 20
    leaves = {n + k: (k * 37 % 20) * 1000 for k in range(n)}
    trace = b.of(
        *(
            b.event("Send", repeat=on({leaf: 1}), dest=leaf - n, compute=Histogram.of(ns), **both(0))
            for leaf, ns in leaves.items()
        ),
        b.event("Recv", repeat=on({0: 1}), source=ANY_SOURCE, **both(0)),
        b.event("Recv", repeat=on(dict.fromkeys(range(1, n), 2)), source=ANY_SOURCE, **both(0)),
        b.event(
            "Send", repeat=on(dict.fromkeys(range(n - 1), 1)), dest=To(Encoding.RELATIVE, Vec(1)), **both(0)
        ),
    )
    result = simulate(trace, Platform(network=Network((Segment(0, 10),))))
    expected = [leaves[n] + 10]
    for k in range(1, n):
        expected.append(max(expected[-1], leaves[n + k]) + 10)
    assert (result.clocks[:n, 0] / 1000).tolist() == expected


def test_messages_of_one_sender_do_not_overtake_each_other() -> None:
    """The second message is shorter and would arrive first."""
    b = Builder(2)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), dest=1, **both(200)),
        b.event("Send", repeat=on({0: 1}), dest=1, **both(8)),
        b.event("Recv", repeat=on({1: 1}), source=ANY_SOURCE, **both(200)),
        b.event("Send", repeat=on({1: 1}), dest=0, **both(8, 7)),
        b.event("Recv", repeat=on({1: 1}), source=ANY_SOURCE, **both(200)),
        b.event("Recv", repeat=on({0: 1}), source=1, **both(8, 7)),
    )
    network = Network((Segment(0, 1000, send_overhead_ns=3000), Segment(100, 5000)))
    assert (simulate(trace, Platform(network=network)).clocks[:, 0] / 1000).tolist() == [9000, 8000]


def test_a_request_that_is_freed_while_pending_keeps_its_message() -> None:
    """Else the send of rank 2 gets its number, and the receive of rank 0 ends with the first message."""
    b = Builder(3)
    large = 20_000
    trace = b.of(
        b.event("Isend", repeat=on({0: 1}), dest=1, **both(large)),
        b.event("Request_free", repeat=on({0: 1}), request=0),
        b.event("Send", repeat=on({2: 1}), dest=1, **both(large)),
        b.event("Recv", repeat=on({1: 1}), source=0, compute=Histogram.of(1_000_000), **both(large)),
        b.event("Recv", repeat=on({1: 1}), source=2, **both(large)),
        b.event("Send", repeat=on({1: 1}), dest=0, **both(0)),
        b.event("Recv", repeat=on({0: 1}), source=1, **both(0)),
    )
    result = simulate(trace, Platform(network=NETWORK))
    transfer_ns = 500 + 3000 + large * 0.5
    assert (result.clocks[:, 0] / 1000 > 1_000_000 + 2 * transfer_ns).all()


@pytest.mark.parametrize("source", [0, ANY_SOURCE])
def test_a_cancelled_receive_is_complete_and_takes_no_message(source: int) -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Irecv", repeat=on({1: 1}), source=source, **both(8)),
        b.event("Irecv", repeat=on({1: 1}), source=0, **both(8)),
        b.event("Cancel", repeat=on({1: 1}), request=1),
        b.event("Wait", repeat=on({1: 1}), request=1),
        b.event("Send", repeat=on({1: 1}), dest=0, **both(0)),
        b.event("Recv", repeat=on({0: 1}), source=1, **both(0)),
        b.event("Send", repeat=on({0: 1}), dest=1, **both(8)),
        b.event("Wait", repeat=on({1: 1}), request=0),
    )
    one_message_ns = simulate(message(8), Platform(network=NETWORK)).time_ns
    assert simulate(trace, Platform(network=NETWORK)).time_ns > 1.5 * one_message_ns


@pytest.mark.parametrize("by", ["tag", "communicator"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_the_receive_from_any_source_that_was_posted_first_may_end_last(
    by: str, order: tuple[int, ...]
) -> None:
    """Rank 0 asks for one message after the other; of its receives it has posted all before."""
    b = Builder(2)
    comms = [b.family("dup", (2,), (0, 1)) if by == "communicator" else Comm() for _ in order]
    ask = {"count": 1, "datatype": BYTE, "tag": 9, "comm": Comm()}
    calls = []
    for k in range(3):
        data = {"count": 1, "datatype": BYTE, "tag": k if by == "tag" else 0, "comm": comms[k]}
        calls.append(b.event("Irecv", repeat=on({0: 1}), source=ANY_SOURCE, **data))
    live = [0, 1, 2]
    for k in order:
        data = {"count": 1, "datatype": BYTE, "tag": k if by == "tag" else 0, "comm": comms[k]}
        calls += [
            b.event("Send", repeat=on({0: 1}), dest=1, **ask),
            b.event("Recv", repeat=on({1: 1}), source=0, **ask),
            b.event("Send", repeat=on({1: 1}), dest=0, **data),
            b.event("Wait", repeat=on({0: 1}), request=len(live) - 1 - live.index(k)),
        ]
        live.remove(k)
    result = simulate(b.of(*calls), Platform(network=Network((Segment(0, 10),))))
    assert result.nevents == len(calls)
    assert result.time_ns == 60


def test_a_message_does_not_overtake_one_that_a_receive_from_any_source_may_want() -> None:
    """The second receive fits both messages of rank 1, of which the first may be for the first receive."""
    b = Builder(3)
    trace = b.of(
        b.event("Irecv", repeat=on({0: 1}), source=ANY_SOURCE, **both(8, 1)),
        b.event("Irecv", repeat=on({0: 1}), source=1, **both(8, ANY_TAG)),
        b.event("Send", repeat=on({1: 1}), dest=0, **both(8, 1)),
        b.event("Send", repeat=on({1: 1}), dest=0, **both(8, 2)),
        b.event("Wait", repeat=on({0: 1}), request=0),
        b.event("Wait", repeat=on({0: 1}), request=0),
    )
    assert simulate(trace, Platform(network=NETWORK)).nevents == 6


def test_a_message_to_itself_may_be_the_last_call() -> None:
    b = Builder(1)
    call = b.event(
        "Sendrecv", sendcount=8, sendtype=BYTE, dest=0, sendtag=0, recvcount=8, recvtype=BYTE, source=0,
        recvtag=0, comm=Comm(),
    )  # fmt: skip
    assert simulate(b.of(call), Platform(network=NETWORK)).nevents == 1


def test_a_path_through_a_transfer_with_a_request() -> None:
    b = Builder(2)
    put = {"origin_count": 1000, "origin_datatype": BYTE, "target_rank": 1, "target_disp": 0}
    trace = b.of(
        b.event(
            "Rput", repeat=on({0: 1}), **put, target_count=1000, target_datatype=BYTE, win=0, comm=Comm()
        ),
        b.event("Wait", repeat=on({0: 1}), request=0),
    )
    result = Simulator(trace).run(Platform(network=NETWORK), path=True)
    assert result.time_ns > 1000


def test_a_deadlock_names_the_ranks() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Recv", at=("a.py:3:f",), source=To(Encoding.XOR, Vec(1)), **both(1)),
        b.event("Send", at=("a.py:4:f",), dest=To(Encoding.XOR, Vec(1)), **both(1)),
    )
    with pytest.raises(
        SimulationDeadlockError, match=r"2 of 2 ranks wait for ever: rank 0 in Recv at a.py:3:f"
    ):
        simulate(trace, Platform())


def test_a_send_without_its_count() -> None:
    b = Builder(2)
    send = b.event("Send", repeat=on({0: 1}), datatype=BYTE, dest=1, tag=0, comm=Comm())
    with pytest.raises(UsageError, match="Send was recorded without its parameter count"):
        simulate(b.of(send), Platform(network=NETWORK))


def test_a_trace_without_some_ranks() -> None:
    trace = replace(message(8), ranks=RankList([1]))
    with pytest.raises(ScalatraceError, match="the trace has 1 of 2 ranks: a simulation needs all"):
        simulate(trace, Platform(network=NETWORK))


def test_parameters_in_histograms_are_refused() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), dest=1, count=Summary(None, 5), datatype=BYTE, tag=0, comm=Comm())
    )
    with pytest.raises(UsageError, match="count of Send was recorded as a histogram"):
        simulate(trace, Platform())


def test_every_kind_of_call_ends() -> None:
    result = simulate(every_kind(6), Platform(network=NETWORK))
    assert 10_000 < result.time_ns < 10_000_000
    assert result.nevents == every_kind(6).nevents()


def test_one_sided_transfers_end_at_the_flush() -> None:
    b = Builder(2)
    comm, win = Comm(), 0
    trace = b.of(
        b.event("Put", repeat=on({0: 1}), origin_count=1000, origin_datatype=BYTE, target_rank=1,
                target_disp=0, target_count=1000, target_datatype=BYTE, win=win, comm=comm),
        b.event("Win_flush_all", repeat=on({0: 1}), win=win, comm=comm),
    )  # fmt: skip
    result = simulate(trace, Platform(network=Network((Segment(0, 10, 1.0, 0, 5),))))
    assert (result.clocks[:, 0] / 1000).tolist() == [5 + 10 + 1000 + 10, 0]


PLATFORMS = st.builds(
    lambda latency, per_byte, o, limit, interface, shared: Platform(
        network=Network((Segment(0, latency, per_byte, 3 * o, o, 2 * o, 0.25),), limit, 50.0),
        memory=Network((Segment(0, latency / 2, per_byte / 2, 0, o),)) if shared else None,
        ranks_per_node=2,
        interface=interface,
    ),
    st.sampled_from([0.0, 100.0, 1000.0]),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([0.0, 30.0]),
    st.sampled_from([None, 100]),
    st.sampled_from(["rank", "unlimited"]),
    st.booleans(),
)


def test_waitsome_ends_what_it_completed_beside_persistent_requests() -> None:
    """Requests that it left would shift the ages of persistent ones."""
    right, left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))

    def of(*ends: tuple[str, tuple[int, ...]]) -> Trace:
        b = Builder(4)
        return b.of(
            b.event("Send_init", dest=right, **both(64, 0)),
            b.event("Recv_init", source=left, **both(64, 0)),
            b.loop(
                6,
                b.event("Startall", requests=(1, 0)),
                b.event("Waitall", requests=(1, 0)),
                b.event("Irecv", source=left, **both(400, 1)),
                b.event("Isend", dest=right, **both(400, 1)),
                *(b.event(op, requests=ages) for op, ages in ends),
            ),
            b.event("Barrier", comm=Comm()),
        )

    platform = Platform(network=Network((Segment(latency_ns=100.0, per_byte_ns=1.0),)))
    whole = simulate(of(("Waitall", (1, 0))), platform).time_ns
    assert simulate(of(("Waitsome", (1, 0))), platform).time_ns == whole
    assert simulate(of(("Waitsome", (0,)), ("Waitsome", (0,))), platform).time_ns == whole


@settings(max_examples=150, deadline=None)
@given(trace=loops(), platform=PLATFORMS)
def test_all_ranks_end_as_in_the_simple_simulator(trace: Trace, platform: Platform) -> None:
    try:
        expected = simulated_ns(trace, platform)
    except RuntimeError:
        with pytest.raises(SimulationDeadlockError):
            simulate(trace, platform)
        return
    result = simulate(trace, platform)
    assert (result.clocks[:, 0] / 1000).tolist() == pytest.approx(expected, abs=0.1)


@settings(max_examples=100, deadline=None)
@given(trace=loops(), platform=PLATFORMS)
def test_steady_loops_change_nothing(trace: Trace, platform: Platform) -> None:
    try:
        short = Simulator(trace).run(platform)
    except SimulationDeadlockError:
        return
    whole = Simulator(trace).run(platform, path=True)
    for name in ("clocks", "by_node", "by_rank", "calls"):
        if name in ("by_node", "calls"):
            assert np.array_equal(getattr(short, name).sum(0), getattr(whole, name).sum(0))
        else:
            assert np.array_equal(getattr(short, name), getattr(whole, name))
    assert short.nevents == whole.nevents == whole.nsimulated == trace.nevents()
    # The calls on the longest path take the whole time.
    assert whole.path_by_node is not None
    assert int(whole.path_by_node.sum()) == whole.time_ps
    assert int(whole.path_by_node[:, 0].sum()) <= whole.time_ps


def test_calls_beside_a_steady_loop_count_once() -> None:
    b = Builder(3)
    ring = b.loop(100, b.event("Sendrecv", repeat=on({0: 1, 1: 1}), sendcount=1, sendtype=BYTE,
                               dest=To(Encoding.XOR, Vec(1)), sendtag=0, recvcount=1, recvtype=BYTE,
                               source=To(Encoding.XOR, Vec(1)), recvtag=0, comm=Comm()))  # fmt: skip
    alone = b.event("Pcontrol", repeat=on({2: 90}), level=1)
    trace = b.of(ring, alone)
    result = simulate(trace, Platform(network=NETWORK))
    assert result.nevents == trace.nevents() > result.nsimulated


def test_a_long_loop_is_multiplied() -> None:
    b = Builder(4)
    ring = [
        b.event("Isend", dest=To(Encoding.MODULO, Vec(1)), compute=Histogram.of(500), **both(8)),
        b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **both(8)),
        b.event("Wait", request=0),
    ]
    result = simulate(b.of(b.loop(10**9, *ring)), Platform(network=NETWORK))
    assert result.nevents == 12 * 10**9
    assert result.nsimulated < 200


def test_drawn_times_follow_the_histogram_and_the_seed() -> None:
    b = Builder(2)
    bins = (Bin(90, 10, 100, 50), Bin(10, 1000, 3000, 1550))
    times = Histogram(100, 10, 3000, 200, 100, bins)
    event = b.event("Pcontrol", level=1, compute=times)
    event = replace(event, stats=(*event.stats, replace(event.stats[0], pred=1)))
    trace = b.of(b.loop(5000, event))
    trace.preds.append((event.op, event.signature))
    simulator = Simulator(trace)
    gc.collect()  # what the simulator points to must live
    runs = [simulator.run(Platform(), SimulateOptions(drawn=True, seed=seed)).time_ns for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0] == pytest.approx(simulator.run(Platform()).time_ns, rel=0.1)


def loaded(loads: tuple[int, ...], times: Histogram, iterations: int) -> Trace:
    """Ranks that compute, as their loads say, before each barrier."""
    b = Builder(len(loads))
    event = b.event("Barrier", comm=Comm(), compute=times)
    event = replace(event, stats=(*event.stats, replace(event.stats[0], pred=1)))
    trace = b.of(b.loop(iterations, event))
    trace.preds.append((event.op, event.signature))
    trace.load = [Vec(loads)]
    return trace


def test_draws_do_not_count_loads_twice() -> None:
    """Half of the samples are of a rank that computes 0.5 s, half of one that computes 1.5 s."""
    times = Histogram(2, 500, 1500, 1000, 707.1, (Bin(1, 500, 500, 500), Bin(1, 1500, 1500, 1500)))
    simulator = Simulator(loaded((-16, 9), times, 1))
    mean = simulator.run(Platform()).time_ns
    assert mean == pytest.approx(1477, rel=0.01)
    for seed in range(5):
        assert simulator.run(Platform(), SimulateOptions(drawn=True, seed=seed)).time_ns == pytest.approx(
            mean, rel=1e-3
        )


def test_ranks_draw_the_same_bin_in_an_iteration() -> None:
    """The work of an iteration is that of all ranks: no rank waits for another one that has more of it."""
    times = Histogram(100, 10, 1000, 505, 497.5, (Bin(50, 10, 10, 10), Bin(50, 1000, 1000, 1000)))
    simulator = Simulator(loaded((0,) * 8, times, 1000))
    means, drawn = (simulator.run(Platform(), SimulateOptions(drawn=drawn)) for drawn in (False, True))
    assert drawn.time_ns == pytest.approx(means.time_ns, rel=0.01)
    assert drawn.by_rank[:, 0] == pytest.approx(means.by_rank[:, 0], rel=1e-3)


def test_noise_within_a_bin_is_the_rank_s_own() -> None:
    """At each barrier the slowest of eight ranks counts. Each computes as much as recorded all the same."""
    simulator = Simulator(loaded((0,) * 8, Histogram(100, 900, 1100, 1000, 57.7), 1000))
    means, drawn = (simulator.run(Platform(), SimulateOptions(drawn=drawn)) for drawn in (False, True))
    assert drawn.time_ns == pytest.approx(1.078 * means.time_ns, rel=0.01)
    assert drawn.by_rank[:, 0] == pytest.approx(means.by_rank[:, 0], rel=1e-3)


def test_factors_on_computation() -> None:
    b = Builder(2)
    trace = b.of(b.event("Barrier", comm=Comm(), compute=Histogram.of(1000)))
    slow = SimulateOptions(compute_scale=3.0, slowness=np.array([1, 2], dtype=np.float32))
    assert simulate(trace, Platform(compute_scale=0.5), slow).time_ns == 3000


def test_blocks_of_alltoallw_count_each_with_its_own_datatype() -> None:
    """Blocks of 16 bytes, as counts of one datatype and as a datatype for each block."""
    b = Builder(4)
    sides = {"sendtype": INT, "recvtype": INT}
    same = b.of(b.event("Alltoall", sendcount=4, recvcount=4, **sides, comm=Comm()))
    members = {side: member_types(4, "vector(2,1,3,MPI_INT)", 8) for side in ("sendtypes", "recvtypes")}
    each = b.of(b.event("Alltoallw", sendcounts=(2,) * 4, recvcounts=(2,) * 4, **members, comm=Comm()))
    assert (
        simulate(each, Platform(network=NETWORK)).time_ns == simulate(same, Platform(network=NETWORK)).time_ns
    )


needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")


@needs_simgrid
@settings(max_examples=15, deadline=None)
@given(trace=loops(wild=False), o=st.sampled_from([0.0, 200.0]))
def test_simgrid_agrees(trace: Trace, o: float) -> None:
    from scalatrace.predict.export.simgrid_run import simgrid_time_ns

    network = Network((Segment(0, 5000.0, 1.0, 0, o, o),), 65536)
    platform = Platform(network=network, interface="unlimited")
    assert simulate(trace, platform).time_ns == pytest.approx(simgrid_time_ns(trace, platform), rel=0.02)


def test_threads_are_named_where_their_calls_wait_for_each_other() -> None:
    b = Builder(2)
    trace = b.of(b.event("Recv", source=To(Encoding.MODULO, Vec(1)), **both(8)))
    trace.meta["threads"] = "2"
    with pytest.raises(SimulationThreadsError, match="2 threads of a rank called MPI") as caught:
        simulate(trace, Platform(network=NETWORK))
    assert "deadlock" not in str(caught.value)
