"""All aggregates of one trace, for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from scalatrace.errors import LimitError, UsageError
from scalatrace.executor.ideal_run import IdealRun
from scalatrace.report.costs.efficiency import times_of
from scalatrace.report.costs.rows import CostRow, rows_of
from scalatrace.report.page.blocks import Blocks, blocks_of
from scalatrace.report.page.extrapolated import ModelFacts, Provenance, provenance_of
from scalatrace.report.page.grid import RankGrid, find_grid, rank_grid
from scalatrace.report.page.histograms import Deltas, MessageSizeBins, deltas_of, sizes_of
from scalatrace.report.page.layout import RankLayout, layout_of
from scalatrace.report.page.overview.advice import Advice, advice_of, longest_computation
from scalatrace.report.page.overview.causes import WaitCauses, causes_of, result_sentence
from scalatrace.report.page.overview.computing import Computing, computing_of
from scalatrace.report.page.overview.main_loops import main_loops_of, main_pattern_of
from scalatrace.report.page.overview.partners import message_partners
from scalatrace.report.page.overview.repeating import repeats_by_source
from scalatrace.report.page.overview.small_messages import SmallMessages, small_messages_of
from scalatrace.report.page.overview.summary import PageSummary, summary_of
from scalatrace.report.page.overview.verdict import verdict_of
from scalatrace.report.page.overview.waits import TimeBasis, WaitRow, basis_of, waiting_shares, waits_of
from scalatrace.report.page.patterns import LoopPattern
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.report.page.sources import SourceReader
from scalatrace.report.page.timeline.lines import SimulateLines, time_line
from scalatrace.report.page.timeline.ranks import ChosenRanks, choose_ranks
from scalatrace.report.page.timeline.rows import TimeLine, TimelineWindow
from scalatrace.report.page.tree import PageTree, SimulatedTimes, leaves, tree_of
from scalatrace.report.trees.grid_notation import GridNotation, notation_grid
from scalatrace.trace.exchange.collectives import Exchange, exchanges_of
from scalatrace.trace.exchange.messages import Messages, messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.nodes import node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.origin import EXTRAPOLATED

__all__ = ["PageOptions", "TraceAggregates", "gather", "rows_by_node"]

MAX_COMPUTING = 6
"""Pieces of computation that a page lists."""

MIN_RESULT = 0.1
"""Part of the run time from which on small messages are the result of a page."""

MAX_WITH_PARTNERS = 256
"""Calls of which a page names the partners."""


@dataclass(frozen=True)
class PageOptions:
    """What to show.

    Attributes:
        ranks: of the time line; empty: some are chosen.
        window: of the time line.
        source: read source lines.
        model: facts of the symbolic trace; None: it is not given.
        prediction: of a simulation, if there was one.
        simulate_lines: gives the times of calls in it; None: the time line has recorded ones only.
        ideal: the run on a network that takes no time; None: not simulated.
        ideal_lines: gives the times of calls in it; None: not simulated call by call.
        notes: on what could not be simulated.
    """

    ranks: tuple[int, ...] = ()
    window: TimelineWindow = field(default_factory=TimelineWindow)
    source: bool = True
    model: ModelFacts | None = None
    prediction: PagePrediction | None = None
    simulate_lines: SimulateLines | None = None
    ideal: IdealRun | None = None
    ideal_lines: SimulateLines | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceAggregates:
    """The parts of a page that belong to one trace.

    Attributes:
        kind: "recorded" or "extrapolated".
        verdict: the largest problem in a sentence; "": not known.
        result: run time and its parts in a sentence; "": no time was measured.
        small: small messages that are the result; None: they are not.
        longest_computation: place of the longest computation, how often it runs, and how long; "": not known.
        main_loops: iterations and places of the loops with most of the time; "": none.
        main_pattern: pattern of the loops with most of the time in their calls; None: none has one.
        notes: parts that could not be computed, and why.
    """

    name: str
    kind: str
    summary: PageSummary
    verdict: str
    result: str
    basis: TimeBasis
    advice: tuple[Advice, ...]
    causes: WaitCauses | None
    small: SmallMessages | None
    waits: tuple[WaitRow, ...]
    computing: tuple[Computing, ...]
    tree: PageTree
    longest_computation: str
    main_loops: str
    main_pattern: LoopPattern | None
    blocks: Blocks
    grid: RankGrid
    layout: RankLayout
    sizes: MessageSizeBins
    deltas: tuple[Deltas, ...]
    timeline: TimeLine
    provenance: Provenance | None
    prediction: PagePrediction | None
    notes: tuple[str, ...]


def gather(
    trace: Trace, name: str, file_bytes: int = 0, options: PageOptions | None = None
) -> TraceAggregates:
    """Compute all aggregates from the compressed form.

    Args:
        name: of the trace, for titles.
        file_bytes: size of its file; 0: there is none.
        options: what to show; None: the defaults.

    Raises:
        UsageError: a rank of the time line is not in the trace.
        FormatError: the trace contradicts itself.
    """
    options, trace = options or PageOptions(), trace.without_phases
    budget, notes = Budget(), list(options.notes)
    messages = _messages(trace, budget, notes)
    exchanges = _exchanges(trace, budget, notes)
    numbers = node_numbers(trace.nodes)
    grid, source = find_grid(trace, messages)
    layout = layout_of(messages, grid)
    times = times_of(trace)
    summary = summary_of(trace, file_bytes, times)
    sources = SourceReader(trace.meta.get("date", ""), options.source)
    prediction = options.prediction
    nodes = {} if prediction is None else prediction.nodes
    basis = basis_of(summary, len(trace.ranks), prediction)
    rows = rows_by_node(trace, numbers, notes)
    tree = tree_of(trace, rows, messages, grid, sources, SimulatedTimes(nodes, basis.simulated))
    _add_partners(trace, tree, numbers, grid)
    waits = waits_of(trace, tree, numbers, basis)
    sizes = sizes_of(messages, budget.exact)
    repeats = repeats_by_source(sources)
    computing = computing_of(trace, numbers, repeats)
    causes = causes_of(trace, options.ideal, summary, times.by_rank, repeats)
    is_extrapolated = EXTRAPOLATED in trace.meta
    awaited = [] if causes is None else [late.rank for late in causes.late]
    chosen = (
        ChosenRanks(tuple(options.ranks))
        if options.ranks
        else choose_ranks(trace, messages, grid, lambda: times, awaited)
    )
    late_ns = {} if causes is None else {start.rank: start.late_ns for start in causes.starts}
    small = small_messages_of(trace, list(leaves(tree.root)), messages, numbers, basis, options.ideal)
    headline_messages = small if small is not None and small.share >= MIN_RESULT else None
    advice = advice_of(summary, tree, basis, computing, prediction, causes, small)
    shared_cores, shares = bool(summary.shared_cores), waiting_shares(tree, basis)
    verdict = verdict_of(causes, headline_messages, advice, basis, shares, shared_cores=shared_cores)
    # A simulated run without time for messages does not have this problem.
    tells_simulated = causes is not None and not (headline_messages is not None and shared_cores)
    result = (
        causes.sentence
        if causes is not None and tells_simulated
        else result_sentence(summary, len(trace.ranks), is_extrapolated)
    )
    # The run on a network that takes no time lacks late starts, serial barriers, and time for messages.
    at_barriers = causes is not None and causes.serial is not None and causes.serial.is_between_barriers
    lacks = bool(late_ns) or at_barriers or headline_messages is not None
    draws_ideal_run = shared_cores and not lacks and options.simulate_lines is None
    simulate_lines = options.ideal_lines if draws_ideal_run else options.simulate_lines
    blocks = blocks_of(trace, messages, budget.exact, exchanges=exchanges)
    return TraceAggregates(
        name,
        "extrapolated" if is_extrapolated else "recorded",
        summary,
        verdict,
        result,
        basis,
        advice,
        causes,
        headline_messages,
        waits,
        computing[:MAX_COMPUTING],
        tree,
        longest_computation(computing, basis),
        main_loops_of(trace, tree),
        main_pattern_of(tree),
        blocks,
        rank_grid(trace, grid, layout.text or source),
        layout,
        sizes,
        deltas_of(trace),
        time_line(trace, chosen, options.window, simulate_lines, late_ns, draws_ideal_run),
        provenance_of(trace, numbers, options.model),
        prediction,
        tuple(notes),
    )


def _add_partners(trace: Trace, tree: PageTree, numbers: dict[int, int], grid: Grid) -> None:
    """Set the partners of the calls with most time, or else most calls."""
    calls = sorted(leaves(tree.root), key=lambda leaf: (-leaf.comm_ns, -leaf.calls))[:MAX_WITH_PARTNERS]
    notation = GridNotation(trace, *notation_grid(trace, grid))
    partners = message_partners(trace, {leaf.number for leaf in calls}, numbers, notation)
    for leaf in calls:
        leaf.partners = partners.get(leaf.number, "")


def _messages(trace: Trace, budget: Budget, notes: list[str]) -> Sequence[Messages]:
    try:
        return messages_of(trace, budget)
    except (LimitError, UsageError) as error:
        notes.append(f"no messages between ranks: {error}")
        return []


def _exchanges(trace: Trace, budget: Budget, notes: list[str]) -> Sequence[Exchange]:
    try:
        return list(exchanges_of(trace, budget))
    except (LimitError, UsageError) as error:
        notes.append(f"no collectives between ranks: {error}")
        return []


def rows_by_node(trace: Trace, numbers: dict[int, int], notes: list[str]) -> dict[int, CostRow]:
    """Return calls, bytes and times of each event node, by its number.

    Args:
        numbers: of the nodes, as `node_numbers`.
        notes: gets the reason where calls and bytes are not known.
    """
    key = partial(_key, numbers)
    try:
        rows = rows_of(trace, key)
    except (LimitError, UsageError) as error:
        notes.append(f"no calls and bytes of call sites: {error}")
        rows = rows_of(trace, key, bytes_too=False)
    return {int(where[0]): row for where, row in rows.items()}


def _key(numbers: dict[int, int], trace: Trace, event: object) -> tuple[str, ...]:
    return (str(numbers[id(event)]),)
