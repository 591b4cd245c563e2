"""Start-up and shut-down of a program: the times before its first and after its last communicating call.

    Init  Cart_create  [imports, input]  Bcast  { loop }  Gather  [output]  Comm_free  Finalize
    <---------- start-up ------------->                          <-------- shut-down -------->

Start-up ends where a rank enters its first call that communicates on a communicator of more than one rank, or
of all ranks of the run. Calls that make communicators, windows, files, datatypes or persistent requests are
none. Shut-down begins at the end of the last such call.

Histograms are kept per call site and predecessor, over all ranks. The computation after a call that belongs
to start-up does so, too; so the time before the first communicating call has a histogram of its own. What
shares a histogram with calls between the phases stays there.

A trace stores the total of each rank between the phases as a power of 2^(1/16) over the mean. What a rank has
in a phase follows from histograms over all ranks. Older files store totals of the whole run. The time in a
phase cannot be subtracted from these, since their rounding hides what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as AnySequence
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.trace.model.nodes import Event, Node, PredStats, Sequence, events
from scalatrace.trace.model.phases import Phase, Phases, Taken
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.phases.scan import PhasePartners, Scan
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.rounding import COARSE, pack, unpack
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["at_one_point", "find_phases", "leave_out_phases", "run_load"]

MAX_SINGLE_POINT_CALLS = 64
"""Communicating calls of a rank up to which a program may communicate at one point only."""

MIN_SHARE_BETWEEN = 1e-3
"""Computation between the phases over that in them; with less, a program communicates at one point only."""

MAX_RANKS = 1 << 22
"""Ranks up to which totals are computed."""

MAX_STEP = 1023
"""Largest step of a load in a file, and the negative of the smallest."""

MAX_SHARE = 2 ** (0.5 / LOAD_STEPS) - 1
"""Share of the phases below which totals of the whole run serve as totals between them."""

RankHistograms = AnySequence[tuple[Histogram, RankList]]
"""Histograms of a statistic, each with the ranks that have samples in it."""


def find_phases(trace: Trace) -> Phases:
    """Return the phases of a trace, in time proportional to its nodes.

    They are empty where a program communicates at one point only: a rank makes at most
    MAX_SINGLE_POINT_CALLS communicating calls and computes next to nothing between the first and the last.
    So they are where the trace has no times, or too many sets of ranks to examine.

    Raises:
        FormatError: the trace contradicts itself.
    """
    stats = [i for i, stat in enumerate(trace.stats) if stat.name in TIMES]
    if not stats:
        return Phases()
    try:
        partners = PhasePartners(trace)
        first, last = (Scan(trace, partners, backward).inside for backward in (False, True))
        last = {number: node for number, node in last.items() if number not in first}
        start_up = list(_start_up(trace, first, set(last), stats))
        ends = (_list_histograms(event, ranks, event.stats, stats) for event, ranks in last.values())
        shut_down = [histogram for taken in ends for histogram in taken]
        if _at_one_point(trace, partners, [*start_up, *shut_down]):
            return Phases()
    except UsageError:
        return Phases()
    parts = tuple(start_up), tuple(shut_down)
    return Phases(_phase(trace, parts[0]), _phase(trace, parts[1]), parts)


def leave_out_phases(trace: Trace, phases: Phases) -> Trace:
    """Return the trace without the times of its phases: their histograms are None, as if not measured.

    The ranks' loads become those of the time that is left, or None where they were not stored.
    """
    if not phases:
        return trace
    without: dict[int, set[tuple[int, int]]] = {}
    for entry in (entry for part in phases.taken for entry in part):
        without.setdefault(id(entry.event), set()).add((entry.pred, entry.stat))
    load = [load_between(trace, i, _of_stat(phases, i)) for i in range(len(trace.load))]
    nodes = [_without(node, without) for node in trace.nodes]
    return replace(trace, nodes=nodes, load=load, load_between=False)


def run_load(trace: Trace, phases: Phases, stat: int) -> Vec | None:
    """Return the load of a statistic over the whole run; None: not known, as of unknown phases."""
    if not trace.load_between:
        return trace.load[stat]
    return load_of_run(trace, stat, _of_stat(phases, stat)) if phases else None


def _of_stat(phases: Phases, stat: int) -> list[tuple[Histogram, RankList]]:
    return [(entry.histogram, entry.ranks) for part in phases.taken for entry in part if entry.stat == stat]


def _start_up(
    trace: Trace, inside: dict[int, tuple[Event, RankList]], last: set[int], stats: list[int]
) -> Iterator[Taken]:
    """Yield the histograms of calls in start-up, and of the computation after these calls.

    Args:
        last: ids of the event nodes in shut-down.
    """
    for event, ranks in inside.values():
        yield from _list_histograms(event, ranks, event.stats, stats)
    outside = {(leaf.op, leaf.signature) for leaf in trace.leaves() if id(leaf) not in inside}
    keys = {(event.op, event.signature) for event, _ in inside.values()} - outside
    before = {0} | {trace.pred_index[key] for key in keys if key in trace.pred_index}
    compute = [i for i in stats if trace.stats[i].name == COMPUTE]
    for leaf in events(trace.stream(0)):
        first = [row for row in leaf.stats if row.pred in before]
        if first and id(leaf) not in inside and id(leaf) not in last:
            yield from _list_histograms(leaf, trace.participants(leaf), first, compute)


def _list_histograms(
    event: Event, ranks: RankList, rows: Iterable[PredStats], stats: list[int]
) -> Iterator[Taken]:
    """Yield the histograms of some statistics."""
    for row in rows:
        for i in stats:
            if (histogram := row.histogram(i)) is not None:
                yield Taken(event, row.pred, i, histogram, ranks)


def _phase(trace: Trace, taken: tuple[Taken, ...]) -> Phase:
    total, most = 0.0, dict[int, float]()
    for entry in taken:
        unit = trace.stats[entry.stat].resolution
        total += entry.histogram.total * unit
        per_rank = -(-entry.histogram.count // max(len(entry.ranks), 1)) * _largest(entry.histogram) * unit
        for start, stop in entry.ranks.runs:
            most[start] = most.get(start, 0.0) + per_rank
            most[stop] = most.get(stop, 0.0) - per_rank
    level = largest = 0.0
    for _, change in sorted(most.items()):
        level += change
        largest = max(largest, level)
    return Phase(total / len(trace.ranks), largest)


def _largest(histogram: Histogram) -> float:
    """Return the largest sample as a file has it, so that a trace in memory has the same phases."""
    if histogram.std == 0:
        return histogram.mean
    return unpack(pack(histogram.max, COARSE), COARSE)


def _at_one_point(trace: Trace, partners: PhasePartners, taken: list[Taken]) -> bool:
    """Return whether a program computes next to nothing between few communicating calls."""
    index = trace.stat_index.get(COMPUTE)
    if index is None:
        return False
    inside = sum(entry.histogram.total for entry in taken if entry.stat == index)
    total = _total(trace, index)
    if not at_one_point(total - inside, inside, 0.0):
        return False
    runs = ((event, (ranks, n)) for event, classes in executions(trace) for ranks, n in classes)
    calls = sum(rank[1] * len(partners.of(event, [rank])) for event, rank in runs)
    return at_one_point(total - inside, inside, calls / len(trace.ranks))


def at_one_point(between: float, inside: float, calls: float) -> bool:
    """Return whether a program communicates at one point only, so that it has no phases.

    Args:
        between, inside: computation between the phases, and in them.
        calls: communicating calls of a rank, on average.
    """
    return between < MIN_SHARE_BETWEEN * inside and calls <= MAX_SINGLE_POINT_CALLS


def _without(node: Node, taken: dict[int, set[tuple[int, int]]]) -> Node:
    """Return a node without some histograms; the same one where it has none of them.

    Args:
        taken: id of an event node -> predecessor and number of the statistic of these histograms.
    """
    if isinstance(node, Sequence):
        nodes = tuple([_without(child, taken) for child in node.nodes])
        is_unchanged = all(map(is_, nodes, node.nodes))
        return node if is_unchanged else replace(node, nodes=nodes)
    if (keys := taken.get(id(node))) is None:
        return node
    rows = [
        PredStats(row.pred, tuple(None if (row.pred, i) in keys else h for i, h in enumerate(row.histograms)))
        for row in node.stats
    ]
    return replace(node, stats=tuple(rows))


def load_of_run(trace: Trace, stat: int, taken: RankHistograms) -> Vec | None:
    """Return the load of a statistic over the whole run, from that between the phases; None: not known.

    Args:
        stat: number of the statistic.
        taken: its histograms in the phases.
    """
    load, n = trace.load[stat], len(trace.ranks)
    if load is None or not taken:
        return load
    if n > MAX_RANKS:
        return None
    inside = _per_rank(trace.ranks, taken)
    relative = np.exp2(first_values(load, n) / LOAD_STEPS)
    between = max(0.0, _total(trace, stat) - float(inside.sum()))
    totals = relative * (between / float(relative.sum())) + inside
    mean = float(totals.mean())
    if mean <= 0:
        return load
    steps = LOAD_STEPS * np.log2(np.maximum(totals / mean, 2.0 ** (-MAX_STEP / LOAD_STEPS)))
    return vec_of(np.clip(np.rint(steps), -MAX_STEP, MAX_STEP).astype(int).tolist())


def load_between(trace: Trace, stat: int, taken: RankHistograms) -> Vec | None:
    """Return the load of a statistic between the phases; None: only that of the whole run was stored."""
    if trace.load_between:
        return trace.load[stat]
    inside = sum(histogram.total for histogram, _ in taken)
    if inside <= 0:
        return trace.load[stat]
    return trace.load[stat] if inside <= MAX_SHARE * _total(trace, stat) else None


def _total(trace: Trace, stat: int) -> float:
    return sum((kept.total for leaf in trace.leaves() for _, kept in leaf.histograms_by_pred(stat)), 0.0)


def _per_rank(ranks: RankList, taken: RankHistograms) -> Floats:
    """Return what each rank has in some histograms, on average."""
    sums = np.zeros(len(ranks))
    for histogram, ranks_of_histogram in taken:
        for start, stop in ranks_of_histogram.runs:
            first = ranks.index(start)
            sums[first : first + stop - start] += histogram.total / len(ranks_of_histogram)
    return sums
