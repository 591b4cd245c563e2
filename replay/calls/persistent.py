"""Starting and freeing persistent requests."""

from __future__ import annotations

from scalatrace.replay.calls.completion import of_ages
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Handles, Ref


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
