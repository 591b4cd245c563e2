"""Wait for the message of a receive that messages of several lengths can match."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Out, Status
from scalatrace.replay.transport.backoff import Backoff
from scalatrace.trace.values.vec import ANY_SOURCE

MAX_WAIT_S = 3.0
"""How long a receive waits for the planned sender while other messages are there."""


@contextmanager
def directed(rank: RankReplay, event: AnyCall) -> Iterator[tuple[int, int]]:
    """Give the source for the receive or matched probe of an event, and the bytes of its message.

    The source is the planned sender of a receive from any source. If its message does not come while others
    wait, or nothing is planned, it is the sender of any message that matches. The bytes are 0 where any
    message fits. A tracer records the source of the event.
    """
    family, wild = event.family, event["source"] == ANY_SOURCE
    if family not in rank.senders or (not wild and rank.senders.has_plan(family)):
        yield rank.mpi.constant(event["source"]), 0
    elif wild:
        with rank.mpi.recorded_as_any_source():
            yield _arrival(rank, event, rank.senders.next(family))
    else:
        yield _arrival(rank, event, None)


def _arrival(rank: RankReplay, event: AnyCall, planned: int | None) -> tuple[int, int]:
    """Wait for a message: its source and bytes."""
    family = event.family
    envelope = (rank.mpi.constant(event["tag"]), rank.comm(family))
    start, status = rank.pace.wait(), Status()
    rank.mpi.quiet("Probe", rank.mpi.constant(event["source"]), *envelope, status)
    source, nbytes = rank.mpi.matched(status)
    if planned not in (None, source):
        came = _await(rank, planned, envelope)
        if came is None:
            rank.senders.drop(family)
        else:
            source, nbytes = came
    rank.stats.of(event.op, rank.family).ns += rank.pace.called() - start
    return source, nbytes


def _await(rank: RankReplay, source: Any, envelope: tuple[Any, ...]) -> tuple[int, int] | None:
    """Wait for a message of a source: its source and bytes, or None when it has not arrived in time."""
    flag, status, backoff = Out(), Status(), Backoff(rank.mpi.shares_cores)
    start = time.monotonic()
    limit = min(MAX_WAIT_S, rank.senders.left_s)
    while True:
        rank.mpi.quiet("Iprobe", source, *envelope, flag, status)
        waited = time.monotonic() - start
        if flag.value or waited > limit:
            rank.senders.left_s -= waited
            return rank.mpi.matched(status) if flag.value else None
        backoff.pause()
