"""Lowered traces: messages match, the order is that of the walk, and nothing disappears unreported."""

from __future__ import annotations

import pytest

from scalatrace.cli.export import with_senders
from scalatrace.errors import UsageError
from scalatrace.predict.export.simgrid import SIMGRID
from scalatrace.predict.lowering import (
    Computation,
    LoweringTarget,
    Outcome,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)
from scalatrace.predict.lowering.messages import FIRST_NUMBERED
from scalatrace.predict.platform import Platform
from scalatrace.predict.platform.algorithms import AlgorithmRule
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG
from support.builder import DOUBLE, INT, Builder, Comm, stencil
from support.lowered import every_kind, on, run


@pytest.mark.parametrize("n", [4, 6, 10])
@pytest.mark.parametrize(
    "target", [LoweringTarget(), SIMGRID, LoweringTarget(frozenset({"allreduce"}), groups=True)]
)
def test_messages_match(n: int, target: LoweringTarget) -> None:
    lowering = TraceLowering(every_kind(n), target)
    run(lowering)
    assert lowering.account.count(Outcome.LOST) == 1  # MPI_Mprobe
    per_rank = [sum(1 for _ in lowering.trace.walk(rank)) for rank in range(n)]
    steps = [list(lowering.steps(rank)) for rank in range(n)]
    assert [len(own) for own in steps] == per_rank
    for rank, own in enumerate(steps):
        assert [step.call.op for step in own] == [call.op for call in lowering.trace.walk(rank)]


def test_point_to_point() -> None:
    lowering = TraceLowering(stencil(), SIMGRID)
    first = list(lowering.actions(0))[:3]
    assert first == [RecvMessage(3, 800, 7, 0), SendMessage(1, 800, 7, 1), WaitAction((0, 1))]
    assert [type(a).__name__ for a in lowering.actions(2)].count("CollectiveAction") == 1
    assert run(lowering).nbytes == 4 * 10 * 800


def test_communicators_have_tags_of_their_own() -> None:
    lowering = TraceLowering(every_kind(), SIMGRID)
    tags = {action.tag for action in lowering.actions(0) if isinstance(action, SendMessage)}
    assert 5 in tags
    assert any(tag >= FIRST_NUMBERED for tag in tags)


@pytest.mark.parametrize("kept", [[0, 1], [1, 2, 3], [3]])
def test_some_ranks(kept: list[int]) -> None:
    lowering = TraceLowering(every_kind(), SIMGRID, ranks=kept)
    for rank in kept:
        for action in lowering.actions(rank):
            if isinstance(action, SendMessage | RecvMessage):
                assert 0 <= action.peer < len(kept)
    lost = [row for row in lowering.account.rows() if row["outcome"] == "lost"]
    assert any("not in the result" in row["treatment"] for row in lost)


def test_times_and_factors() -> None:
    b = Builder(4)
    times = Histogram(40, 1000, 3000, 2000, 10)
    total = {"count": 1, "datatype": DOUBLE, "op": "MPI_SUM", "comm": Comm()}
    trace = b.of(b.event("Allreduce", compute=times, **total))

    def computed(platform: Platform) -> list[Computation]:
        return [a for a in TraceLowering(trace, platform=platform).actions(0) if isinstance(a, Computation)]

    assert computed(Platform()) == [Computation(2000.0)]
    scaled = Platform(compute_scale=0.5, reduce_per_byte_ns=1.0)
    assert computed(scaled) == [Computation(1000.0), Computation(8.0), Computation(8.0)]


@pytest.mark.parametrize("n", [2, 6, 7])
def test_neighbor_exchange_of_a_platform(n: int) -> None:
    """Half as many rounds as ranks if these are even; each rank sends all blocks but one."""
    b = Builder(n)
    sides = {"sendtype": INT, "recvtype": INT, "comm": Comm()}
    trace = b.of(b.event("Allgather", sendcount=3, recvcount=3, **sides))
    platform = Platform(collectives={"allgather": (AlgorithmRule("neighbor_exchange"),)})
    lowering = TraceLowering(trace, platform=platform)
    for rank in range(n):
        sent = [a.nbytes for a in lowering.actions(rank) if isinstance(a, SendMessage)]
        assert sent == ([12] * (n - 1) if n % 2 else [12] + [24] * (n // 2 - 1))
    assert run(lowering).nbytes == n * (n - 1) * 12
    used = "ring" if n % 2 else "neighbor_exchange"
    assert {row["treatment"] for row in lowering.account.rows()} == {f"messages, {used}"}


def test_partitions_are_sent_when_all_are_ready() -> None:
    ops: list[str] = []
    for step in TraceLowering(every_kind()).steps(0):
        if any(isinstance(action, SendMessage) and action.nbytes == 32 for action in step.actions):
            ops.append(step.call.op)
    assert ops[:2] == ["Pready", "Pready"]


def test_open_receives_are_refused() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Recv", count=1, datatype=INT, source=ANY_SOURCE, tag=0, comm=Comm(), repeat=on({0: 1}))
    )
    with pytest.raises(UsageError, match="any source"):
        list(TraceLowering(trace).actions(0))


@pytest.mark.parametrize("tag", [3, ANY_TAG])
@pytest.mark.parametrize("persistent", [False, True])
def test_cancelled_receives_take_no_later_message(tag: int, persistent: bool) -> None:
    """A request gets one message, or is started once more and cancelled; a later receive gets the second."""
    b = Builder(2)
    rank0, rank1 = on({0: 1}), on({1: 1})
    both = {"count": 1, "datatype": INT, "comm": Comm()}

    def requested(op: str) -> Event:
        return b.event(op, repeat=rank0, source=1, tag=tag, **both)

    def started() -> Event:
        return b.event("Start", repeat=rank0, request=0)

    trace = b.of(
        *([requested("Recv_init"), started()] if persistent else [requested("Irecv")]),
        b.event("Send", repeat=rank1, dest=0, tag=3, **both),
        b.event("Wait", repeat=rank0, request=0),
        started() if persistent else requested("Irecv"),
        b.event("Cancel", repeat=rank0, request=0),
        b.event("Wait", repeat=rank0, request=0),
        b.event("Send", repeat=rank0, dest=1, tag=4, **both),
        b.event("Recv", repeat=rank1, source=0, tag=4, **both),
        b.event("Send", repeat=rank1, dest=0, tag=3, **both),
        b.event("Recv", repeat=rank0, source=1, tag=3, **both),
    )
    assert sum(run(TraceLowering(with_senders(trace))).sent.values()) == 3


def test_unknown_ranks_are_refused() -> None:
    with pytest.raises(UsageError, match="rank 9"):
        TraceLowering(stencil(), ranks=[9])


def test_one_sided_communication_is_reported_lost() -> None:
    b = Builder(2)
    trace = b.of(b.event("Put", origin_count=4, origin_datatype=INT, target_rank=1, comm=Comm()))
    lowering = TraceLowering(trace)
    assert list(lowering.actions(0)) == []
    row = lowering.account.rows()[0]
    assert (row["operation"], row["outcome"], row["bytes"]) == ("MPI_Put", "lost", 16)
