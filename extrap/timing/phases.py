"""Find the times of a symbolic trace that belong to start-up or shut-down: they do not grow with the ranks.

As `scalatrace.trace.phases` does for a trace, by the order of the rules. Communicators are not looked at: a
call on one of a single rank ends start-up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from scalatrace.operations import communicates
from scalatrace.trace.model.symbolic import Rule, StatRule, SymbolicTrace, events
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.phases import at_one_point
from scalatrace.trace.query.load import COMPUTE

__all__ = ["PhaseRow", "phase_rows"]

PhaseRow = tuple[int, int]
"""id of the histograms of one event after one predecessor, and the number of a statistic."""


def phase_rows(model: SymbolicTrace) -> frozenset[PhaseRow]:
    """Return the times of start-up and shut-down; none where the program communicates at one point only."""
    stats = [at for name, at in model.stat_index.items() if name in TIMES]
    leaves = list(events(model.nodes))
    first, last = (list(_outer(model.nodes, backward)) for backward in (False, True))
    inside = {id(leaf) for leaf in (*first, *last)}
    outside = {_key(leaf) for leaf in leaves if id(leaf) not in {id(one) for one in first}}
    before = {None, *(_key(leaf) for leaf in first)} - outside
    rows = {(id(stat.histograms), at) for leaf in (*first, *last) for stat in leaf.stats for at in stats}
    compute = [at for at in stats if model.stats[at].name == COMPUTE]
    later = (leaf for leaf in leaves if id(leaf) not in inside)
    after = (stat for leaf in later for stat in leaf.stats if stat.pred in before)
    rows |= {(id(stat.histograms), at) for stat in after for at in compute}
    return frozenset() if _communicates_once(model, leaves, rows) else frozenset(rows)


def _key(leaf: Rule) -> tuple[str, tuple[str, ...]]:
    return leaf.op or "", tuple(leaf.stack)


def _outer(nodes: Sequence[Rule], backward: bool) -> Iterator[Rule]:
    """Yield the events before the first (after the last) rule in which calls communicate."""
    for node in reversed(nodes) if backward else nodes:
        below = list(events([node]))
        if any(communicates(leaf.op or "") for leaf in below):
            return
        yield from below


def _communicates_once(model: SymbolicTrace, leaves: Sequence[Rule], rows: set[PhaseRow]) -> bool:
    """Whether the largest trace computes next to nothing between few communicating calls."""
    at = model.stat_index.get(COMPUTE)
    if at is None:
        return False
    whole = inside = calls = 0.0
    for leaf in leaves:
        for stat in leaf.stats:
            total, count = _of_largest(stat, at)
            whole += total
            inside += total if (id(stat.histograms), at) in rows else 0.0
            calls += count if communicates(leaf.op or "") else 0
    return at_one_point(whole - inside, inside, calls / max(1, _ranks(model)))


def _ranks(model: SymbolicTrace) -> int:
    return max((prod(dims) for dims, _ in model.seen), default=1)


def _of_largest(stat: StatRule, at: int) -> tuple[float, int]:
    """Return sum and number of the samples of the last trace that has some."""
    for row in reversed(stat.histograms):
        if at < len(row) and row[at] is not None:
            return row[at].total, row[at].count
    return 0.0, 0
