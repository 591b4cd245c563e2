"""The ranks of a time line: a neighbourhood, one rank of each other class, and the ends of computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError
from scalatrace.report.costs.efficiency import MIN_EQUAL_SHARE, Efficiency, TraceTimes
from scalatrace.report.page.grid import group_numbers
from scalatrace.report.style import number
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.exchange.rank_sets import check_size
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["DEFAULT_RANKS", "ChosenRanks", "choose_ranks"]

DEFAULT_RANKS = 16
MAX_NEIGHBOURS = 8
"""Ranks of the neighbourhood, whose messages are drawn."""

MAX_AWAITED = 2
"""Ranks that others wait for, which have rows."""


@dataclass(frozen=True)
class ChosenRanks:
    """Ranks of a time line.

    Attributes:
        alike: of each rank, how many have equal numbers of calls and equal partners; () where not counted.
        text: how they were chosen; "": all are.
    """

    ranks: tuple[int, ...]
    alike: tuple[int, ...] = ()
    text: str = ""


def choose_ranks(
    trace: Trace,
    messages: Sequence[Messages],
    grid: Grid,
    times: Callable[[], TraceTimes],
    awaited: Sequence[int] = (),
) -> ChosenRanks:
    """Choose up to DEFAULT_RANKS ranks: all, or some that stand for the others.

    Args:
        times: gives those of the trace; asked only where ranks are left out.
        awaited: ranks that others wait for most.
    """
    if len(trace.ranks) <= DEFAULT_RANKS:
        return ChosenRanks(tuple(trace.ranks))
    middle = grid.rank([side // 2 for side in grid.dims])
    chosen = _neighbourhood(trace, messages, middle if middle in trace.ranks else trace.ranks.first)
    text = f"Shown: rank {number(chosen[0])}{' (middle of the grid)' if chosen[0] == middle else ''}"
    text += ", its nearest partners" if len(chosen) > 1 else ""
    by_rank = times().by_rank
    awaited = [rank for rank in awaited[:MAX_AWAITED] if rank not in chosen]
    ends = [] if by_rank is None else _ends(by_rank, [*chosen, *awaited])
    numbers = _numbers(trace)
    if numbers is not None:
        names, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        is_missing = ~np.isin(names, numbers[[*chosen, *awaited, *ends]])
        missing = names[is_missing][np.argsort(-counts[is_missing], kind="stable")]
        room = DEFAULT_RANKS - len(chosen) - len(awaited) - len(ends)
        for name in missing[:room].tolist():
            members = np.flatnonzero(numbers == name)
            chosen.append(int(members[len(members) // 2]))
        if 0 < len(missing) <= room:
            text += ", one rank of each other class of ranks with equal calls"
        elif len(missing):
            text += f", one rank of {room} of the {len(missing)} other classes of ranks with equal calls"
    chosen += [*awaited, *ends]
    text += ", the ranks that others wait for most" if awaited else ""
    text += ", those that compute most and least" if ends else ""
    filled = len(chosen) < MAX_NEIGHBOURS
    remaining = (rank for rank in trace.ranks if rank not in chosen)
    while len(chosen) < MAX_NEIGHBOURS:
        chosen.append(next(remaining))
    chosen.sort()
    alike = () if numbers is None else tuple(int((numbers == numbers[rank]).sum()) for rank in chosen)
    return ChosenRanks(tuple(chosen), alike, f"{text}{', the first ranks' if filled else ''}.")


def _neighbourhood(trace: Trace, messages: Sequence[Messages], middle: int) -> list[int]:
    """Return a rank, its partners and partners of these, up to MAX_NEIGHBOURS."""
    chosen = [middle]
    for rank in chosen:
        if len(chosen) >= MAX_NEIGHBOURS:
            break
        near = {partner for sent in messages for partner in sent.receivers[sent.senders == rank].tolist()}
        chosen += [partner for partner in sorted(near) if partner in trace.ranks and partner not in chosen]
    return chosen[:MAX_NEIGHBOURS]


def _ends(times: Efficiency, chosen: Sequence[int]) -> list[int]:
    """Return a rank with most and one with least computation, where ranks differ."""
    compute_ns = times.compute_ns
    if compute_ns.min() >= MIN_EQUAL_SHARE * compute_ns.max():
        return []
    ends = times.ranks[int(compute_ns.argmax())], times.ranks[int(compute_ns.argmin())]
    return [rank for rank in dict.fromkeys(ends) if rank not in chosen]


def _numbers(trace: Trace) -> Ints | None:
    """Return the number of the class of each rank; None where there are too many ranks or partners."""
    try:
        check_size(trace)
    except LimitError:
        return None
    numbers, exact = group_numbers(trace)
    return numbers if exact else None
