"""A time line of a few ranks in a window: reconstructed from mean times of the trace, and of a simulated run.

A trace has no time stamps. Each call starts after the mean computation at its place after its predecessor,
and takes the mean time in it, both times the rank's load: the times that exports begin with, before they
delay calls that would end before the messages that they need. So the order of a rank's calls and its total
are exact. Single times, and the order between ranks, are not.

A rank that makes its first call late has a row that begins later: start-up, which is left out, has that time.

A simulated run has the time of each call. The rows of a run on a platform stand below those of the same
ranks. Those of the run on a network that takes no time stand alone: recorded times contain waiting for cores.

Each thread of a rank has a row, which begins with its first call: the time before that is not recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from scalatrace.errors import UsageError
from scalatrace.operations import operation
from scalatrace.report.costs.durations import CallTimes, Durations, Line, SimulatedDurations
from scalatrace.report.page.timeline.outline import outline_of_calls, outline_of_tree
from scalatrace.report.page.timeline.ranks import DEFAULT_RANKS, ChosenRanks
from scalatrace.report.page.timeline.rows import (
    TimeLine,
    TimelineOutline,
    TimelinePlace,
    TimelineRow,
    TimelineWindow,
)
from scalatrace.report.page.timeline.walk import RowLimits, RowWalk, SharedTables, match_any_source
from scalatrace.trace.model.callsite import call_site
from scalatrace.trace.model.nodes import Event, events, thread_of
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of, least_and_most, runs
from scalatrace.trace.threads import thread_count

__all__ = ["SimulateLines", "time_line"]

OVERLAPPING = "no time line: threads of a rank call MPI, and the trace does not know which one made a call"

THREADS = (
    "A row is a thread of a rank, and begins with its first call: when that was is not recorded. Messages on "
    "channels that several threads use are not drawn."
)

PREDICTED_NOTE = (
    "Simulated rows are those of the run in the section Prediction: each call has its own time. Gaps are "
    "computation, long calls wait for others."
)

IDEAL_NOTE = (
    "Simulated with the recorded computation, a core for each rank and messages that take no time: gaps are "
    "computation, and the length of a call is its waiting for other ranks. Recorded calls contain waiting "
    "for cores."
)

MAX_BARS = 6000
"""Calls of all ranks that are drawn."""

MAX_IDEAL_BARS = 24_000
"""Likewise, of simulated rows that stand alone: each call has a time of its own, so they have no loops."""

MAX_WALKED = 1 << 22
"""Calls that are walked to reach a window, of all ranks: about half a minute."""

MAX_SIMULATED = 1 << 18
"""Calls of a row whose simulated times are kept."""

MAX_RANKS = 64

NO_DELAYS: Mapping[int, float] = MappingProxyType({})


SimulateLines = Callable[[Sequence[Line], int], Mapping[Line, CallTimes] | None]
"""Gives the times of at most so many calls of each line in a simulated run; None: they are too many."""


def time_line(
    trace: Trace,
    chosen: ChosenRanks,
    window: TimelineWindow,
    simulate_lines: SimulateLines | None = None,
    late_ns: Mapping[int, float] = NO_DELAYS,
    is_ideal: bool = False,
) -> TimeLine:
    """Reconstruct the calls of some ranks in a window, without the times of start-up and shut-down.

    A rank with more calls than the page draws keeps loops of equal iterations as loops, so that any part of
    a long run can be looked at.

    Args:
        simulate_lines: gives the times of lines in a simulated run, whose rows then stand below the others,
            or alone where the trace has no times; None: there is no such run.
        late_ns: how much later than the others ranks begin, which start-up leaves out.
        is_ideal: the simulated run is that on a network that takes no time, whose rows stand alone if all
            calls fit into the page.

    Raises:
        UsageError: a rank is not in the trace, or there are more than MAX_RANKS.
    """
    if len(chosen.ranks) > MAX_RANKS:
        raise UsageError(
            f"a time line of {len(chosen.ranks)} ranks: the limit is {MAX_RANKS}; give fewer ranks"
        )
    trace = trace.without_phases
    if thread_count(trace.meta) > 1 and not trace.has_streams:
        return TimeLine((), (), True, chosen.text, note=OVERLAPPING)
    recorded = Durations(trace)
    rows = [(rank, thread) for rank in chosen.ranks for thread in _threads(trace, rank)]
    if is_ideal and least_and_most(trace)[1] > MAX_IDEAL_BARS // min(trace.nprocs, DEFAULT_RANKS):
        simulate_lines = None  # also where fewer ranks are asked for: their times are those of the whole page
    simulated = None if simulate_lines is None else simulate_lines(rows, MAX_SIMULATED)
    is_recorded_drawn = simulated is None or (recorded.timed and not is_ideal)
    kinds: list[Durations] = [recorded] if is_recorded_drawn else []
    kinds += [] if simulated is None else [SimulatedDurations(simulated)]
    share = max(1, len(rows) * len(kinds))
    limits = RowLimits((MAX_BARS if is_recorded_drawn else MAX_IDEAL_BARS) // share, MAX_WALKED // share)
    is_long = {rank: trace.nevents(rank) > limits.bars for rank in chosen.ranks}
    tables, by_kind = SharedTables(), []
    for durations in kinds:
        is_simulated = isinstance(durations, SimulatedDurations)
        walks = [
            RowWalk(
                trace,
                *line,
                tables,
                durations.of_line(*line),
                limits,
                window,
                is_long[line[0]] and not is_simulated,
                0.0 if is_simulated else late_ns.get(line[0], 0.0),
            )
            for line in rows
        ]
        users = Counter(end for walk in walks for end in walk.used)
        unordered = {end for end, count in users.items() if count > 1}
        if window.first_s <= 0:  # which messages receives before the window took is not known
            match_any_source(walks, unordered, tables)
        drawn = [replace(walk.row(unordered), simulated=is_simulated) for walk in walks]
        by_kind.append(
            [
                replace(row, outline=_outline(trace, row, durations, simulated, late_ns))
                if row.cut or window != TimelineWindow()
                else row
                for row in drawn
            ]
        )
    alike = dict(zip(chosen.ranks, chosen.alike, strict=bool(chosen.alike)))
    lines = [
        replace(row, alike=alike.get(row.rank, 0)) for pair in zip(*by_kind, strict=True) for row in pair
    ]
    main = _main_loop(trace, lines[0], tables.places, recorded) if lines and recorded.timed else _MainLoop()
    return TimeLine(
        tuple(tables.places),
        tuple(lines),
        kinds[0].timed,
        chosen.text,
        "" if simulated is None else IDEAL_NOTE if is_ideal else PREDICTED_NOTE,
        threads=THREADS if trace.has_streams else "",
        window=_shown_first(window, lines),
        iteration_ns=main.iteration_ns,
        iteration_ends=main.ends,
    )


def _outline(
    trace: Trace,
    row: TimelineRow,
    durations: Durations,
    simulated: Mapping[Line, CallTimes] | None,
    late_ns: Mapping[int, float],
) -> TimelineOutline | None:
    line = row.rank, row.thread
    if row.simulated and simulated is not None:
        return outline_of_calls(trace, line, simulated[line])
    return outline_of_tree(trace, line, durations.of_nodes(row.rank), late_ns.get(row.rank, 0.0))


def _shown_first(window: TimelineWindow, lines: Sequence[TimelineRow]) -> tuple[float, ...]:
    """Return the window in ns, as far as there are calls; (): all of them."""
    if window == TimelineWindow():
        return ()
    end_ns = max((line.end_ns for line in lines), default=0)
    return window.first_s * 1e9, min(window.last_s * 1e9, end_ns)


class _MainLoop(NamedTuple):
    """The outermost loop of a rank that takes most time.

    Attributes:
        iteration_ns: mean length of an iteration.
        ends: its first and last call, as numbers in `TimeLine.places`; (): not drawn.
    """

    iteration_ns: float = 0.0
    ends: tuple[int, ...] = ()


def _main_loop(
    trace: Trace, line: TimelineRow, places: Mapping[TimelinePlace, int], durations: Durations
) -> _MainLoop:
    """Return the main loop of a row, as far as it has one, with the row's share of its recorded time."""
    mean_times = durations.of_nodes(line.rank)
    total_ns = {id(event): n * sum(mean_times(event)) for event, n in executions_of(trace, line.rank)}
    scale = 1.0
    if line.simulated:  # so it has few calls; else their number may exceed a float
        recorded_ns = sum(total_ns.values())
        scale = line.end_ns / recorded_ns if recorded_ns else 1.0
    main, longest_ns = _MainLoop(), 0.0
    waiting = list(trace.stream(line.thread))
    while waiting:
        node = waiting.pop()
        times = runs(node.repeat, line.rank, 1)
        if isinstance(node, Event) or times < 1:
            continue
        if times == 1:
            waiting += node.nodes
            continue
        own = [leaf for leaf in events(node.nodes) if id(leaf) in total_ns]
        ns = sum(total_ns[id(leaf)] for leaf in own)
        if ns > longest_ns:
            ends = [places.get(_place(trace, leaf), -1) for leaf in (own[0], own[-1])]
            longest_ns, main = ns, _MainLoop(scale * ns / times, tuple(ends) if min(ends) >= 0 else ())
    return main


def _place(trace: Trace, leaf: Event) -> TimelinePlace:
    op = trace.ops[leaf.op].name
    return TimelinePlace(op, operation(op).category.value, call_site(trace.stack(leaf.signature)))


def _threads(trace: Trace, rank: int) -> list[int]:
    """Return the threads of a rank that make calls, the first one always."""
    later = {thread_of(node) for node in trace.nodes if thread_of(node) and rank in trace.participants(node)}
    return [0, *sorted(later)]
