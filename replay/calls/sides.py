"""Arguments of the send and receive sides of a collective; a side may be not significant on this rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.rank import BuiltType, RankReplay
from scalatrace.replay.transport.args import Constant, Count, Counts, Handles, Wides
from scalatrace.trace.model.typetree import TypeTree

NO_TYPE = "MPI_DATATYPE_NULL"
"""The recorded datatype of a side that means nothing on a rank, or in place."""


def in_place(event: AnyCall) -> bool:
    """Say whether the program gave MPI_IN_PLACE for one of the buffers."""
    return bool(event.get("in_place", 0) == 1)


def nothing(rank: RankReplay) -> list[Any]:
    """Return buffer, count and datatype of a side that MPI does not look at."""
    return [Constant.NULL, Count(0), _byte(rank)]


def is_given(event: AnyCall, datatype: str) -> bool:
    """Say whether a side is significant: its datatype is a datatype."""
    return getattr(event.get(datatype), "description", NO_TYPE) != NO_TYPE


def plain(rank: RankReplay, event: AnyCall, side: str, out: bool, pieces: int = 1) -> list[Any]:
    """Return buffer, count, datatype of "send" or "recv"; the buffer holds `pieces` times the count."""
    if not is_given(event, f"{side}type"):
        return nothing(rank)
    built, n = rank.type(event[f"{side}type"]), max(0, event[f"{side}count"])
    make = rank.out if out else rank.room
    return [make(n * pieces, built), Count(n), built.handle]


def vector(rank: RankReplay, event: AnyCall, side: str, out: bool) -> list[Any]:
    """Return buffer, counts, displacements, datatype of a v-collective's side."""
    if not is_given(event, f"{side}type"):
        return [Constant.NULL, Constant.NULL, Constant.NULL, _byte(rank)]
    built, counts = rank.type(event[f"{side}type"]), event[f"{side}counts"]
    displs = displacements(event, side, counts)
    before, nbytes = built.span(*reach(counts, displs))
    if out:
        rank.sends(sum(counts) * built.size)
    buffer = (rank.out_bytes if out else rank.room_bytes)(nbytes, before)
    return [buffer, Counts(counts), Counts(displs), built.handle]


def each_its_type(rank: RankReplay, event: AnyCall, side: str, out: bool, wide: bool = False) -> list[Any]:
    """Return buffer, counts, byte displacements, datatypes of Alltoallw's side."""
    types = rank.types(event[f"{side}types"])
    counts = event[f"{side}counts"]
    displs = event.get("sdispls" if side == "send" else "rdispls")
    before, nbytes = _reach_in_bytes(counts, displs, types)
    buffer = (rank.out_bytes if out else rank.room_bytes)(nbytes, before)
    places = Wides(displs) if wide else Counts(displs)
    return [buffer, Counts(counts), places, Handles([built.handle for built in types])]


def displacements(event: AnyCall, side: str, counts: Sequence[int]) -> Sequence[int]:
    """Return the recorded displacements, or those of pieces without gaps."""
    for name in ("displs", f"{side[0]}displs"):
        displs = event.get(name)
        if isinstance(displs, tuple) and len(displs) == len(counts):
            return displs
    return [0, *accumulate(counts[:-1])]


def reach(counts: Sequence[int], displs: Sequence[int]) -> tuple[int, int]:
    """Return the first element of the pieces and the number of elements up to their end."""
    used = [(d, d + n) for n, d in zip(counts, displs, strict=True) if n > 0]
    low = min((start for start, _ in used), default=0)
    return low, max((stop for _, stop in used), default=0) - low


def _reach_in_bytes(
    counts: Sequence[int], displs: Sequence[int], types: Sequence[BuiltType]
) -> tuple[int, int]:
    """Return (bytes before the address, bytes in all)."""
    low = high = 0
    for n, start, built in zip(counts, displs, types, strict=True):
        before, nbytes = built.span(0, n)
        low, high = min(low, start - before), max(high, start - before + nbytes)
    return -low, high - low


def _byte(rank: RankReplay) -> Any:
    return rank.built(TypeTree("MPI_BYTE")).handle
