"""What a late rank computes more than the rank that waits for it, since both last came from one point.

    rank 0   | a |      smooth      |wait|
    rank 1   |   a    |    smooth   ......|
             ^ barrier                    ^ barrier

Rank 0 waits for rank 1. The newest computation of rank 1, `smooth`, is as long as that of rank 0: the cause
is `a`. Boehme et al. (2016), "Identifying the Root Causes of Wait States in Large-Scale Parallel
Applications", section 3, compare the computation of both in the same way, and call what is more the delay.

Both ways back, from the end of the wait and from its beginning, lead through computation alone. So the wait
is as long as the first has more computation than the second, however far both are followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import NamedTuple

__all__ = ["Computation", "WayPiece", "delays", "since_common_point"]

Computation = tuple[int, int, int]
"""Rank, and the nodes of the calls after and before which it computes; -1: the start of the rank."""

Place = tuple[Hashable, Hashable]
"""The calls after and before which a rank computes; the same for all ranks and iterations."""


class WayPiece(NamedTuple):
    """Computation on a way back, in ps."""

    begin: int
    end: int
    computation: Computation

    @property
    def rank(self) -> int:
        """The rank that computes."""
        return self.computation[0]


def since_common_point(
    late: Iterator[WayPiece], own: Iterator[WayPiece], max_pieces: int
) -> tuple[list[WayPiece], list[WayPiece]]:
    """Return the pieces of two ways back, the newest first, down to the point where they come together.

    That is at the latest where the first one enters the rank that waits. Pieces may be empty.

    Args:
        late: way back from the end of a wait.
        own: way back of the rank that waits, from the beginning of the wait.
        max_pieces: of both; then both end at the same time.
    """
    late_pieces, own_pieces = [next(late)], [next(own)]
    waiter = own_pieces[0].rank
    since = 0
    for _ in range(max_pieces):
        a, b = late_pieces[-1], own_pieces[-1]
        if a.rank == waiter:
            late_pieces.pop()
            since = a.end
            break
        if a.rank == b.rank and a.begin < b.end and b.begin < a.end:
            since = min(a.end, b.end)
            break
        pieces, way = (late_pieces, late) if a.begin >= b.begin else (own_pieces, own)
        piece = next(way, None)
        if piece is None:  # the start of the run
            break
        pieces.append(piece)
    else:
        since = max(late_pieces[-1].begin, own_pieces[-1].begin)
    own_pieces += _until(own, own_pieces[-1].begin, since)
    return _clip(late_pieces, since), _clip(own_pieces, since)


def _until(way: Iterator[WayPiece], begin: int, since: int) -> Iterator[WayPiece]:
    """Yield further pieces until one begins at a time."""
    while begin > since and (piece := next(way, None)) is not None:
        begin = piece.begin
        yield piece


def _clip(pieces: Iterable[WayPiece], since: int) -> list[WayPiece]:
    """Return the pieces as far as they lie after a time."""
    return [piece._replace(begin=max(piece.begin, since)) for piece in pieces if piece.end > since]


def delays(
    late: Sequence[WayPiece],
    own: Sequence[WayPiece],
    place_of: Callable[[Computation], Place],
) -> dict[Computation, float]:
    """Divide a wait between the computations of which the late way has more, in ps.

    Executions of one computation are compared one by one, the newest first. What a way has more of is
    compared, too, where only the call before it is the same, or only the one after it: ranks may go different
    ways from one piece of code.

    Args:
        late, own: pieces of both ways, the newest first; the wait is the difference of their lengths.
    """
    wait = sum(p.end - p.begin for p in late) - sum(p.end - p.begin for p in own)
    more = _longer(_by_place(late, place_of), _by_place(own, place_of))
    total = sum(more.values())
    return {computation: ps * wait / total for computation, ps in more.items() if ps > 0} if total else {}


_Lengths = dict[Place, list[tuple[Computation, int]]]
"""Executions of the computations at each place, and their lengths, the newest first."""


def _longer(late: _Lengths, own: _Lengths) -> dict[Computation, float]:
    """Return what each computation of the late way has more."""
    more: dict[Computation, float] = defaultdict(float)
    less: dict[Place, float] = {}
    places: dict[Computation, Place] = {}
    for place in {**late, **own}:
        late_there, own_there = late.get(place, []), own.get(place, [])
        difference = sum(ps for _, ps in late_there) - sum(ps for _, ps in own_there)
        if difference <= 0:
            less[place] = -difference
            continue
        own_lengths = chain((ps for _, ps in own_there), repeat(0))
        longer = [
            (computation, ps - own_ps)
            for (computation, ps), own_ps in zip(late_there, own_lengths, strict=False)
            if ps > own_ps
        ]
        factor = difference / sum(excess for _, excess in longer)
        for computation, excess in longer:
            more[computation] += excess * factor
            places[computation] = place
    for call in (0, 1):
        _cancel(more, less, places, call)
    return more


def _by_place(pieces: Iterable[WayPiece], place_of: Callable[[Computation], Place]) -> _Lengths:
    result: _Lengths = defaultdict(list)
    for begin, end, computation in pieces:
        if end > begin:
            result[place_of(computation)].append((computation, end - begin))
    return result


def _cancel(
    more: dict[Computation, float], less: dict[Place, float], places: dict[Computation, Place], call: int
) -> None:
    """Take from both what they have at places with the same call before (0) or after (1) the computation."""
    more_of: dict[Hashable, float] = defaultdict(float)
    less_of: dict[Hashable, float] = defaultdict(float)
    for computation, ps in more.items():
        more_of[places[computation][call]] += ps
    for place, ps in less.items():
        less_of[place[call]] += ps
    for computation in more:
        key = places[computation][call]
        if more_of[key]:
            more[computation] *= 1 - min(1.0, less_of.get(key, 0.0) / more_of[key])
    for place in less:
        if less_of[place[call]]:
            less[place] *= 1 - min(1.0, more_of.get(place[call], 0.0) / less_of[place[call]])
