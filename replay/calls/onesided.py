"""One-sided communication. A window exposes memory of the recorded size; its content has no meaning."""

from __future__ import annotations

from typing import Any

from scalatrace.replay.calls.communicators import group_of
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import BuiltType, RankReplay
from scalatrace.replay.engine.windows import Window
from scalatrace.replay.transport.args import Constant, Count, Out, Ref, Wide


def window_of(rank: RankReplay, event: AnyCall) -> Window:
    """Return the window of an event: the n-th made on its communicator.

    Raises:
        ReplayError: nothing in the trace has made it.
    """
    key = (event.comm.family, event["win"])
    if key not in rank.windows:
        raise ReplayError(f"window {key[1]} of communicator {key[0]} is used, but was not made")
    return rank.windows[key]


@handles("Win_create")
def create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_create(base, size, disp_unit, info, comm, win)."""
    size = event["size"]
    memory = rank.mpi.buffer(max(1, size), random=True)
    args = [rank.mpi.at(memory, 0), Wide(size), event["disp_unit"], Constant.INFO_NULL]
    _make(rank, event, memory, *args, rank.comm(event.comm.family))


@handles("Win_allocate", "Win_allocate_shared")
def allocate(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win)."""
    base = rank.mpi.buffer(16)
    args = [Wide(event["size"]), event["disp_unit"], Constant.INFO_NULL, rank.comm(event.comm.family)]
    _make(rank, event, base, *args, rank.mpi.at(base, 0))


def _make(rank: RankReplay, event: AnyCall, memory: Any, *args: Any) -> Window:
    handle = rank.mpi.handle("win")
    rank.issue(event.op, *args, Ref(handle))
    window = rank.windows[event.comm.family, event["win"]] = Window(handle, memory)
    return window


@handles("Win_create_dynamic")
def create_dynamic(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_create_dynamic(info, comm, win), and the attaching of all memory that is accessed."""
    key = event.comm.family, event["win"]
    memory = rank.attached.get(key)
    window = _make(rank, event, memory, Constant.INFO_NULL, rank.comm(event.comm.family))
    window.exposed = rank.exposed.get(key, {})
    if memory is not None:
        rank.mpi.quiet("Win_attach", window.handle, rank.mpi.at(memory, 0), Wide(memory.nbytes))


@handles("Win_free")
def free(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_free(win)."""
    rank.issue("Win_free", Ref(window_of(rank, event).handle))
    _settle(rank, event)
    del rank.windows[event.comm.family, event["win"]]


@handles("Win_fence", "Win_lock_all")
def fence(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_fence(assert, win)."""
    rank.issue(event.op, rank.named_constant(event["assert"]), window_of(rank, event).handle)
    if event.op == "Win_fence":
        _settle(rank, event)


@handles("Win_lock")
def lock(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_lock(lock_type, rank, assert, win)."""
    kind, assertion = rank.named_constant(event["lock_type"]), rank.named_constant(event["assert"])
    rank.issue("Win_lock", kind, rank.mpi.constant(event["rank"]), assertion, window_of(rank, event).handle)


@handles("Win_unlock", "Win_flush", "Win_flush_local")
def unlock(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_unlock(rank, win)."""
    rank.issue(event.op, rank.mpi.constant(event["rank"]), window_of(rank, event).handle)


ENDING = {"Win_unlock_all", "Win_flush_all", "Win_flush_local_all", "Win_complete"}
"""Calls after which all calls of this rank on the window are complete."""


@handles(
    "Win_unlock_all", "Win_flush_all", "Win_flush_local_all", "Win_sync", "Win_complete", "Win_wait",
)  # fmt: skip
def whole(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_complete(win), and other calls with the window as their only argument."""
    rank.issue(event.op, window_of(rank, event).handle)
    if event.op in ENDING:
        _settle(rank, event)


@handles("Win_test")
def test(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_test(win, flag), until the flag is true."""
    flag = Out()
    rank.poll("Win_test", flag, window_of(rank, event).handle, flag)


@handles("Win_post", "Win_start")
def post(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Win_post(group, assert, win)."""
    assertion = rank.named_constant(event["assert"])
    rank.issue(event.op, group_of(rank, event), assertion, window_of(rank, event).handle)


@handles("Put", "Rput")
def put(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Put(origin_addr, origin_count, origin_datatype, target_rank, ..., target_datatype, win)."""
    origin = rank.message(event, True, "origin_count", "origin_datatype")
    rank.start(event, *origin, *_target(rank, event), window_of(rank, event).handle)


@handles("Get", "Rget")
def get(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Get(origin_addr, origin_count, origin_datatype, target_rank, ..., target_datatype, win)."""
    origin = rank.message(event, False, "origin_count", "origin_datatype")
    _keep_room(rank, event)
    rank.start(event, *origin, *_target(rank, event), window_of(rank, event).handle)


@handles("Accumulate", "Raccumulate")
def accumulate(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Accumulate(origin_addr, ..., target_datatype, op, win)."""
    origin = rank.message(event, True, "origin_count", "origin_datatype")
    op = rank.op(event["op"])
    rank.start(event, *origin, *_target(rank, event), op, window_of(rank, event).handle)


@handles("Get_accumulate", "Rget_accumulate")
def get_accumulate(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Get_accumulate(origin_addr, ..., result_addr, ..., target_rank, ..., op, win)."""
    origin = rank.message(event, True, "origin_count", "origin_datatype")
    result = rank.message(event, False, "result_count", "result_datatype")
    _keep_room(rank, event)
    op = rank.op(event["op"])
    rank.start(event, *origin, *result, *_target(rank, event), op, window_of(rank, event).handle)


@handles("Fetch_and_op")
def fetch_and_op(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win)."""
    built = rank.type(event["datatype"])
    buffers = [rank.out(1, built), rank.room(1, built)]
    _keep_room(rank, event)
    target, op = _place(rank, event, built), rank.op(event["op"])
    rank.issue("Fetch_and_op", *buffers, built.handle, *target, op, window_of(rank, event).handle)


@handles("Compare_and_swap")
def compare_and_swap(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, ..., win)."""
    built = rank.type(event["datatype"])
    buffers = [rank.out(1, built), rank.out_bytes(built.true_extent), rank.room(1, built)]
    _keep_room(rank, event)
    target = _place(rank, event, built)
    rank.issue("Compare_and_swap", *buffers, built.handle, *target, window_of(rank, event).handle)


def _target(rank: RankReplay, event: AnyCall) -> list[Any]:
    built, count = rank.type(event["target_datatype"]), event["target_count"]
    return [*_place(rank, event, built, count), Count(count), built.handle]


def _place(rank: RankReplay, event: AnyCall, built: BuiltType, count: int = 1) -> list[Any]:
    """The target and the displacement there, of `count` elements."""
    target, displacement = event["target_rank"], event["target_disp"]
    exposed = window_of(rank, event).exposed
    if exposed is not None and target >= 0:
        before, nbytes = built.span(0, count)
        if nbytes:
            displacement = exposed[event.comm.members[target]][displacement - before] + before
    return [rank.mpi.constant(target), Wide(displacement)]


def _settle(rank: RankReplay, event: AnyCall) -> None:
    """Take back the room of all calls on a window: they are complete."""
    window = window_of(rank, event)
    rank.buffers.give_back(window.results)
    window.results = []


def _keep_room(rank: RankReplay, event: AnyCall) -> None:
    """Let the window have the room: MPI writes there until the epoch ends, which may be any later call."""
    window_of(rank, event).results.extend(rank.take_buffers())
