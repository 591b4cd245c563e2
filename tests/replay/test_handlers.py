"""Handlers over the transport that keeps calls: what is issued is what the trace says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scalatrace.operations import Category, operation
from scalatrace.replay import (
    MissingError,
    RanksError,
    ReplayError,
    ReplayOptions,
    UnsupportedError,
    check,
    run,
)
from scalatrace.replay.common.options import ComputeMode
from scalatrace.replay.engine.handlers import HANDLERS
from scalatrace.replay.transport.args import Constant, Count, Counts, Ints, Out, Ref
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, Sequence
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED, Vec
from support.builder import DOUBLE, INT, Builder, Comm, stencil
from support.memory_transport import MemoryTransport, Named

QUICK = ReplayOptions(ComputeMode.NONE)
NO_TYPE = Datatype("MPI_DATATYPE_NULL", 0, 0)


def issued(trace: Trace, rank: int = 0) -> list[tuple[str, tuple[Any, ...]]]:
    transport = MemoryTransport(rank, trace.nprocs)
    check(trace, transport.size)
    run(trace, transport, QUICK)
    return transport.calls


def plain(args: tuple[Any, ...]) -> list[Any]:
    """Arguments as values: handles by name, buffers as "random" or "room"."""
    return [_plain(arg) for arg in args]


def _plain(arg: Any) -> Any:
    if isinstance(arg, Count):
        return arg.n
    if isinstance(arg, Counts | Ints):
        return list(arg.values)
    if isinstance(arg, Named):
        return arg.name
    if hasattr(arg, "buffer"):
        return "random" if arg.buffer.random else "room"
    return arg


def one_call(builder: Builder, *nodes: Event | Sequence) -> list[Any]:
    (op, args), *rest = issued(builder.of(*nodes))
    assert not rest
    return [op, *plain(args)]


def test_send_and_receive_keep_wildcards_and_null_peers() -> None:
    b = Builder()
    trace = b.of(
        b.event("Send", count=3, datatype=DOUBLE, dest=PROC_NULL, tag=7, comm=Comm()),
        b.event("Recv", count=3, datatype=INT, source=ANY_SOURCE, tag=ANY_TAG, comm=Comm()),
    )
    assert [[op, *plain(args)] for op, args in issued(trace)] == [
        ["Send", "random", 3, "MPI_DOUBLE", PROC_NULL, 7, "MPI_COMM_WORLD"],
        ["Recv", "room", 3, "MPI_INT", ANY_SOURCE, ANY_TAG, "MPI_COMM_WORLD", Constant.STATUS],
    ]


def test_stencil_is_issued_call_by_call() -> None:
    calls = issued(stencil(), rank=3)
    assert [op for op, _ in calls] == ["Irecv", "Isend", "Waitall"] * 10 + ["Allreduce"]
    assert plain(calls[0][1])[3:5] == [2, 7]
    assert plain(calls[1][1])[3:5] == [0, 7]
    receive, send = (calls[i][1][-1].handle for i in (0, 1))
    waited = calls[2][1]
    assert waited[0] == 2
    assert waited[1].items[0] is receive  # age 1, the older
    assert waited[1].items[1] is send


def test_room_is_used_again_once_its_request_is_complete() -> None:
    calls = issued(stencil())
    buffers = {id(args[0].buffer) for op, args in calls if op == "Irecv"}
    assert len(buffers) == 1


def test_room_of_requests_under_way_is_not_shared() -> None:
    b = Builder()
    receive = {"count": 4, "datatype": DOUBLE, "source": 0, "tag": 0, "comm": Comm()}
    calls = issued(b.of(b.loop(3, b.event("Irecv", **receive)), b.event("Waitall", requests=(2, 1, 0))))
    assert len({id(args[0].buffer) for op, args in calls if op == "Irecv"}) == 3


def test_waitsome_takes_the_recorded_requests_only() -> None:
    b = Builder()
    send = {"count": 1, "datatype": INT, "dest": 0, "tag": 0, "comm": Comm()}
    trace = b.of(
        b.loop(3, b.event("Isend", **send)),
        b.event("Waitsome", requests=(2, 0)),
        b.event("Wait", request=0),
    )
    calls = issued(trace)
    made = [args[-1].handle for op, args in calls[:3]]
    assert calls[3][0] == "Waitsome"
    assert calls[3][1][1].items == [made[0], made[2]]
    assert calls[4][1][0].handle is made[1]


def test_persistent_requests_live_until_they_are_freed() -> None:
    b = Builder()
    init = {"count": 2, "datatype": DOUBLE, "source": 0, "tag": 0, "comm": Comm()}
    trace = b.of(
        b.event("Recv_init", **init),
        b.loop(2, b.event("Start", request=0), b.event("Wait", request=0)),
        b.event("Request_free", request=0),
    )
    calls = issued(trace)
    assert [op for op, _ in calls] == ["Recv_init", "Start", "Wait", "Start", "Wait", "Request_free"]
    assert len({id(args[-1 if op == "Recv_init" else 0].handle) for op, args in calls}) == 1


def test_null_requests_stay_null() -> None:
    b = Builder()
    send = {"count": 1, "datatype": INT, "dest": 0, "tag": 0, "comm": Comm()}
    calls = issued(b.of(b.event("Isend", **send), b.event("Waitall", requests=(UNDEFINED, 0, UNDEFINED))))
    assert len(calls[1][1][1].items) == 3


def test_matched_messages_are_received_by_age() -> None:
    b = Builder()
    probe = {"source": 0, "comm": Comm()}
    receive = {"count": 1, "datatype": INT}
    calls = issued(
        b.of(
            b.event("Mprobe", tag=1, **probe),
            b.event("Mprobe", tag=2, **probe),
            b.event("Mrecv", message=1, **receive),
            b.event("Imrecv", message=0, **receive),
            b.event("Wait", request=0),
        )
    )
    first, second = calls[0][1][3].handle, calls[1][1][3].handle
    assert calls[2][1][3].handle is first
    assert calls[3][1][3].handle is second


def test_a_matched_receive_has_room_for_the_message_that_was_matched() -> None:
    b = Builder()
    probe, receive = {"source": ANY_SOURCE, "tag": 1, "comm": Comm()}, {"count": 2, "datatype": INT}
    trace = b.of(
        b.event("Mprobe", **probe), b.event("Mrecv", message=0, **receive),
        b.event("Improbe", **probe), b.event("Imrecv", message=0, **receive),
    )  # fmt: skip
    transport = MemoryTransport(arrivals=[(0, 13), (0, 4)])
    run(trace, transport, QUICK)
    assert [args[1] for op, args in transport.calls if op in ("Mrecv", "Imrecv")] == [Count(4), Count(2)]


def test_only_the_roots_side_is_given_to_a_gather() -> None:
    b = Builder()
    event = b.event("Gather", sendcount=5, sendtype=DOUBLE, recvcount=UNDEFINED, recvtype=NO_TYPE,
                    root=0, comm=Comm(), in_place=0)  # fmt: skip
    assert one_call(b, event) == [
        "Gather", "random", 5, "MPI_DOUBLE", Constant.NULL, 0, "MPI_BYTE", 0, "MPI_COMM_WORLD",
    ]  # fmt: skip


def test_in_place_stays_in_place() -> None:
    b = Builder()
    event = b.event("Allreduce", count=2, datatype=INT, op="MPI_MAX", comm=Comm(), in_place=1)
    assert one_call(b, event)[1:4] == [Constant.IN_PLACE, "room", 2]


def test_vectors_reach_over_holes() -> None:
    b = Builder()
    event = b.event("Allgatherv", sendcount=1, sendtype=DOUBLE, recvcounts=(2,), displs=(9,), recvtype=DOUBLE,
                    comm=Comm(), in_place=0)  # fmt: skip
    (call,) = issued(b.of(event))
    room = call[1][3]
    assert room.buffer.nbytes >= 11 * 8
    assert plain(call[1])[4:6] == [[2], [9]]


def test_persistent_collectives_have_an_info_and_a_request() -> None:
    b = Builder()
    op, args = issued(b.of(b.event("Bcast_init", count=1, datatype=INT, root=0, comm=Comm())))[0]
    assert op == "Bcast_init"
    assert args[-2] is Constant.INFO_NULL
    assert isinstance(args[-1], Ref)


def test_communicators_are_made_by_their_calls_and_used() -> None:
    b = Builder()
    half = b.family("split", [1], [0])
    trace = b.of(
        b.event("Comm_split", comm=Comm(), color=UNDEFINED + 6, key=1, newcomm=half),
        b.event("Barrier", comm=half),
        b.event("Comm_free", comm=half),
    )
    calls = issued(trace)
    made = calls[0][1][-1].handle
    assert calls[1][1][0] is made
    assert calls[2][1][0].handle is made


def test_calls_of_equal_values_use_the_communicator_of_the_moment() -> None:
    """A communicator that is freed and made anew in a loop is another one each time."""
    b = Builder()
    dup = b.family("dup", [1], [0])
    loop = b.loop(
        3,
        b.event("Comm_dup", comm=Comm(), newcomm=dup),
        b.loop(2, b.event("Barrier", comm=dup)),
        b.event("Comm_free", comm=dup),
    )
    calls = issued(b.of(loop))
    used = [args[0] for op, args in calls if op == "Barrier"]
    assert used[::2] == used[1::2]
    assert len(set(map(id, used))) == 3


def test_a_communicator_with_other_members_is_an_error() -> None:
    b = Builder(2)
    half = b.family("split", [1, 1], [0, 1])
    trace = b.of(b.event("Comm_split", comm=Comm(), color=0, key=0, newcomm=half))
    with pytest.raises(ReplayError, match=r"rank 0, event 0, MPI_Comm_split.*has the members \(0, 1\) here"):
        run(trace, MemoryTransport(0, 2), QUICK)


def test_a_communicator_that_nothing_made_is_an_error() -> None:
    b = Builder()
    lost = b.family("unknown", [1], [0])
    with pytest.raises(MissingError, match=r"communicator 3 .*MPI_Comm_join"):
        issued(b.of(b.event("Barrier", comm=lost)))


def test_a_type_of_another_size_is_an_error() -> None:
    b = Builder()
    send = {"count": 1, "datatype": Datatype("MPI_INT", 8, 8), "dest": 0, "tag": 0, "comm": Comm()}
    with pytest.raises(ReplayError, match="size 4 and extent 4 here, but 8 and 8"):
        issued(b.of(b.event("Send", **send)))


def test_wrong_number_of_ranks_and_missing_handlers_are_said_before_the_first_call() -> None:
    with pytest.raises(RanksError, match="the trace is of 4 ranks, this is 2") as error:
        check(stencil(), 2)
    assert error.value.exit_status == 2
    b = Builder()
    with pytest.raises(UnsupportedError, match="no handler for MPI_Abort, MPI_Comm_spawn"):
        check(b.of(b.event("Comm_spawn", comm=Comm()), b.event("Abort", comm=Comm())), 1)


def test_files_are_never_where_the_program_had_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    precious = tmp_path / "data" / "precious.bin"
    precious.parent.mkdir()
    precious.write_bytes(b"keep")
    b = Builder()
    opened = b.event(
        "File_open", comm=Comm(), filename=str(precious), amode="MPI_MODE_CREATE|MPI_MODE_RDWR", fh=0
    )
    other = b.event("File_open", comm=Comm(), filename="old/precious.bin", amode="MPI_MODE_RDONLY", fh=1)
    paths = [Path(args[1].text) for _, args in issued(b.of(opened, other))]
    assert {path.parent.name for path in paths} == {"replay-io"}
    assert all(path.name.endswith("-precious.bin") for path in paths)
    assert len(set(paths)) == 2
    assert precious.read_bytes() == b"keep"


def test_computation_is_the_mean_after_the_predecessor_times_the_scale() -> None:
    b = Builder()
    event = b.event("Barrier", comm=Comm(), compute=Histogram(2, 1000, 3000, 2000, 1000))
    result = run(b.of(event), MemoryTransport(), ReplayOptions(ComputeMode.SPIN, compute_scale=3.0))
    assert result.computed_ns == 6000
    assert result.wall_ns >= 6000


def test_branches_of_other_ranks_take_no_time() -> None:
    """Figure 5.6: the computations of two branches stand one behind the other in the trace."""
    b = Builder(2)
    branches = [
        b.event(
            "Barrier",
            repeat=Groups([(RankList([rank]), Vec(1))]),
            at=[f"a.py:{rank}:f"],
            comm=Comm(),
            compute=Histogram(1, 3_000_000, 3_000_000, 3_000_000, 0),
        )
        for rank in (0, 1)
    ]
    trace = b.of(*branches)
    for rank in (0, 1):
        result = run(trace, MemoryTransport(rank, 2), ReplayOptions(ComputeMode.SPIN))
        assert result.computed_ns == 3_000_000
        assert result.calls == {"Barrier": 1}


def test_results_count_calls_and_bytes() -> None:
    result = run(stencil(), MemoryTransport(1, 4), QUICK)
    assert result.calls == {"Irecv": 10, "Isend": 10, "Waitall": 10, "Allreduce": 1}
    assert result.sent["Isend"] == 8000
    assert result.left == 0
    assert type(result).unpack(result.pack()) == result


def test_polls_are_repeated_and_count_once() -> None:
    class Slow(MemoryTransport):
        refusals = 3

        def issue(self, call: Any) -> None:
            super().issue(call)
            op, args = call
            if op == "Test" and self.refusals:
                self.refusals -= 1
                flags = [arg for arg in args if isinstance(arg, Out)]
                flags[0].values = [0]

    b = Builder()
    send = {"count": 1, "datatype": INT, "dest": 0, "tag": 0, "comm": Comm()}
    transport = Slow()
    result = run(b.of(b.event("Isend", **send), b.event("Test", request=0)), transport, QUICK)
    assert [op for op, _ in transport.calls] == ["Isend"] + ["Test"] * 4
    assert result.calls == {"Isend": 1, "Test": 1}


@pytest.mark.parametrize("op", sorted(HANDLERS))
def test_every_handler_is_of_an_operation_that_the_table_knows(op: str) -> None:
    assert operation(op).category is not Category.OTHER or op in ("Buffer_flush",)


def test_large_loops_are_walked_not_expanded() -> None:
    b = Builder()
    n = 50_000
    result = run(b.of(b.loop(n, b.event("Barrier", comm=Comm()))), MemoryTransport(), QUICK)
    assert result.calls == {"Barrier": n}
