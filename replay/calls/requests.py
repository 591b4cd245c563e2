"""Requests: completion, persistent requests, partitioned communication.

The same requests complete as in the program. Where MPI may choose (any, some) or return false (Test), the
replay waits for the recorded requests. It polls where the program polled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.requests import LiveRequest
from scalatrace.replay.transport.args import Constant, Handles, Ints, Out, Ref, Statuses, Wide
from scalatrace.replay.transport.backoff import Backoff
from scalatrace.trace.values.vec import UNDEFINED


def of_ages(rank: RankReplay, ages: Sequence[int]) -> list[LiveRequest]:
    """Return the requests of these ages; `rank.no_request` for a null request."""
    return [rank.no_request if age == UNDEFINED else rank.requests.at(age) for age in ages]


@handles("Wait")
def wait(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Wait(request, status)."""
    (live,) = of_ages(rank, [event["request"]])
    rank.issue_completing(event, [live], Ref(live.handle), Constant.STATUS)


@handles("Test")
def test(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Test(request, flag, status), until the flag is true."""
    (live,) = of_ages(rank, [event["request"]])
    flag = Out()
    rank.poll("Test", flag, Ref(live.handle), flag, Constant.STATUS)
    rank.complete([live])


@handles("Waitall")
def waitall(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Waitall(count, requests, statuses)."""
    lives = of_ages(rank, event["requests"])
    array = Handles([live.handle for live in lives])
    rank.issue_completing(event, lives, len(lives), array, Statuses(len(lives)))


@handles("Testall")
def testall(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Testall(count, requests, flag, statuses), until the flag is true."""
    lives = of_ages(rank, event["requests"])
    flag = Out()
    rank.poll("Testall", flag, len(lives), Handles([x.handle for x in lives]), flag, Statuses(len(lives)))
    rank.complete(lives)


@handles("Waitany", "Testany")
def any_of(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Waitany(count, requests, index, status): the recorded one must be complete first.

    Others may be complete by then too. MPI takes the first of them, so those before the recorded one are
    kept out of the call, as are all others where it is persistent, which is not awaited. Where an MPI takes
    another one nevertheless, the two change ages.
    """
    lives, wanted = of_ages(rank, event["requests"]), event["index"]
    if wanted != UNDEFINED and lives[wanted].persistent:
        lives = [live if i == wanted else _null(rank) for i, live in enumerate(lives)]
    elif wanted != UNDEFINED:
        await_quietly(rank, event.op, [lives[wanted]])
        lives[:wanted] = [_null(rank) for _ in range(wanted)]
    index, flag = Out(), Out(values=[1])
    args: list[Any] = [len(lives), Handles([live.handle for live in lives]), index]
    if event.op == "Testany":
        rank.poll("Testany", flag, *args, flag, Constant.STATUS)
    else:
        rank.issue("Waitany", *args, Constant.STATUS)
    if wanted == UNDEFINED or not 0 <= index.value < len(lives):
        return
    if index.value != wanted:
        rank.requests.swap(lives[index.value], lives[wanted])
    rank.complete([lives[index.value]])


def _null(rank: RankReplay) -> LiveRequest:
    return LiveRequest(rank.mpi.handle("request"))


@handles("Waitsome", "Testsome")
def some_of(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Waitsome(incount, requests, outcount, indices, statuses), which takes what is complete.

    A tracer makes one event of all that consecutive calls completed, so they are repeated until all is taken.
    """
    lives = of_ages(rank, event["requests"])
    await_quietly(rank, event.op, lives)
    incomplete = n = len(lives)
    count, indices = Out(), Out(n)
    args = [n, Handles([live.handle for live in lives]), count, indices, Statuses(n)]

    def takes_the_last() -> bool:
        nonlocal incomplete
        incomplete -= max(0, count.value)
        # Null and inactive requests do not complete: without any other, MPI_UNDEFINED is the count.
        return incomplete <= 0 or count.value < 0

    # The call before keeps its array until this one has its own: to a tracer, one array is one poll.
    rank.last_some = rank.issue_until(event.op, takes_the_last, *args)
    rank.complete(lives)


@handles("Request_get_status")
def get_status(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Request_get_status(request, flag, status), until the flag is true; the request stays."""
    (live,) = of_ages(rank, [event["request"]])
    flag = Out()
    rank.poll("Request_get_status", flag, live.handle, flag, Constant.STATUS)


def await_quietly(rank: RankReplay, op: str, lives: Sequence[LiveRequest]) -> None:
    """Wait until requests can complete, without completing them. The time counts for the call.

    Persistent ones are not awaited: MPI_Request_get_status of MPICH 5.0 makes them inactive.
    """
    start, flag, backoff = rank.pace.wait(), Out(), Backoff(rank.mpi.shares_cores)
    for live in lives:
        if live.persistent:
            continue
        flag.values = [0]
        while not flag.value:
            rank.mpi.quiet("Request_get_status", live.handle, flag, Constant.STATUS)
            if not flag.value:
                backoff.pause()
    rank.stats.of(op, rank.family).ns += rank.pace.called() - start


@handles("Start")
def start(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Start(request)."""
    rank.issue("Start", Ref(rank.requests.at(event["request"]).handle))


@handles("Startall")
def startall(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Startall(count, requests)."""
    handles_ = [live.handle for live in of_ages(rank, event["requests"])]
    rank.issue("Startall", len(handles_), Handles(handles_))


@handles("Request_free")
def request_free(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Request_free(request); MPI may still use the memory of an active one, so that is not used again."""
    live = rank.requests.at(event["request"])
    rank.issue("Request_free", Ref(live.handle))
    rank.requests.remove([live])


@handles("Cancel")
def cancel(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Cancel(request)."""
    rank.issue("Cancel", Ref(rank.requests.at(event["request"]).handle))


@handles("Psend_init", "Precv_init")
def init(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request)."""
    sends = event.op == "Psend_init"
    built, partitions, count = rank.type(event["datatype"]), event["partitions"], event["count"]
    buffer = rank.out(partitions * count, built) if sends else rank.room(partitions * count, built)
    peer = rank.mpi.constant(event["dest" if sends else "source"])
    tag, comm = rank.mpi.constant(event["tag"]), rank.comm(event.comm.family)
    rank.start(event, buffer, partitions, Wide(count), built.handle, peer, tag, comm)


@handles("Pready")
def pready(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready(partition, request)."""
    rank.issue("Pready", event["partition"], rank.requests.at(event["request"]).handle)


@handles("Pready_range")
def pready_range(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready_range(partition_low, partition_high, request)."""
    low, high = event["partition_low"], event["partition_high"]
    rank.issue("Pready_range", low, high, rank.requests.at(event["request"]).handle)


@handles("Pready_list")
def pready_list(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Pready_list(length, array_of_partitions, request)."""
    partitions = event["array_of_partitions"]
    request = rank.requests.at(event["request"]).handle
    rank.issue("Pready_list", len(partitions), Ints(partitions), request)


@handles("Parrived")
def parrived(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Parrived(request, partition, flag), until the flag is true."""
    flag = Out()
    rank.poll("Parrived", flag, rank.requests.at(event["request"]).handle, event["partition"], flag)
