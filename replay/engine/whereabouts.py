"""The place of a rank that is replayed in Python, for another thread."""

from __future__ import annotations

from scalatrace.replay.common.position import Position
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.trace.model.callsite import short_frame

__all__ = ["position_of"]


def position_of(rank: RankReplay) -> Position:
    """Return where a rank is. It may go on meanwhile: number and event belong together in any case."""
    number, event = rank.at
    if event is None:
        return Position(0, "", False)
    stack = event.place.trace.stack(event.place.node.signature)
    computes = rank.pace.rests_until_ns > rank.pace.clock()
    return Position(number, event.op, computes, short_frame(stack[0]) if stack else "")
