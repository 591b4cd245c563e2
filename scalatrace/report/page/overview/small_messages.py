"""Small messages that follow each other without computation: their number costs time, not their bytes.

A unit is the largest part of the program in which no computation between two calls is longer than the latency
of a message: joining its messages delays no rank. They count as many small ones where

    a rank sends several of them to the same partner in each execution of the unit, and
    the bytes of one would take a small part of its time.

Their cost is the time in the calls of the unit without the waiting for computation of other ranks, which the
run on a network that takes no time has, and the usual time between these calls. Where the unit is executed
once, its calls may be those of a whole run: then each must be as quick as messages are.

Where ranks shared cores, that time contains waiting for cores. The cost is then estimated as an interval,
from the median times of the calls to their mean times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.executor.ideal_run import IdealRun
from scalatrace.operations import COLLECTIVES, Category, operation
from scalatrace.report.page.grid import pairs
from scalatrace.report.page.overview.waits import TimeBasis
from scalatrace.report.page.tree import TreeNode
from scalatrace.report.style import coarse_duration, nbytes, number, share_interval
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.model.callsite import callers, split_frame
from scalatrace.trace.model.nodes import Event, Node, events
from scalatrace.trace.model.nodes import Sequence as Loop
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import entries, participants
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.values.quantiles import pooled_quantile
from scalatrace.trace.values.ranklist import RankList

__all__ = ["SmallMessages", "small_messages_of"]

LATENCY_NS = 20_000.0
"""Time of a short message on common networks, Ethernet included: what is computed in less needs no message of
its own."""

MAX_LATENCIES = 50
"""Usual time of a small message, over LATENCY_NS, from which on it is waiting."""

MIN_REPEATS = 8
"""Messages to the same partner in an execution of a unit: joined, these save most of their time."""

BYTE_NS, MAX_PART_OF_BYTES = 1.0, 0.25
"""Time of a byte on a slow network, and the part of a message's time that its bytes take at most."""

MIN_GAPS_PER_EXECUTION = 1.5
"""Computations before a call over executions of its unit, from which on they are within the unit."""

MAX_PART_ONCE = 0.25
"""Computations within an iteration, each once, over the time in its calls: up to this, they are short."""

MAX_PAIRS = 1 << 16
"""Pairs of ranks of which the different ones are counted."""

MAX_UNITS = 256
"""Units that are examined, those with most messages."""

RECEIVING = (Category.RECV, Category.SENDRECV, Category.COMPLETION)


@dataclass(frozen=True)
class SmallMessages:
    """Many small messages of one call site, or calls of a collective operation.

    Attributes:
        share: of the run time, between 0 and 1, that they cost.
        cost_ns: of all ranks.
        low_share, low_cost_ns: lower estimates, from median times; `share` and `cost_ns` unless ranks shared
            cores.
        repeats: messages to the same partner in an execution of the unit.
        each_ns: usual time of one, of a rank.
        nbytes: mean size.
        total: their number.
        text: number and size, by rank and iteration, and place.
        node: number in the tree of the call that sends most.
        nodes: numbers of all calls of the unit.
        inside_ns, between_ns: time in these, and the usual one between them, of all ranks.
        is_collective: they are calls of a collective operation.
        sentence: their part of the time.
    """

    share: float
    cost_ns: float
    low_share: float
    low_cost_ns: float
    repeats: float
    each_ns: float
    nbytes: float
    total: int
    text: str
    node: int
    nodes: tuple[int, ...]
    inside_ns: float
    between_ns: float
    is_collective: bool
    sentence: str

    @property
    def each(self) -> str:
        """The usual time of one, as text."""
        return coarse_duration(self.each_ns)


@dataclass
class _MessageUnit:
    """A node without long computation between the calls in it.

    Attributes:
        executions: of all ranks.
        long_gaps: computations of all ranks between its calls that last longer than a message.
        sent: each call that sends, with its number of messages and different pairs of ranks.
    """

    ranks: RankList
    executions: int
    events: list[Event]
    long_gaps: float = 0.0
    sent: list[tuple[Event, float, int]] = field(default_factory=list)

    @property
    def is_once(self) -> bool:
        """Each rank executes it once: it may be the whole run."""
        return self.executions <= len(self.ranks)

    @property
    def total(self) -> float:
        """Messages of all ranks."""
        return sum(count for _, count, _ in self.sent)

    @property
    def most(self) -> Event:
        """The call that sends most."""
        return max(self.sent, key=lambda sent: sent[1])[0]

    @property
    def is_repeated(self) -> bool:
        """Ranks do something else between the executions, or compute: then its messages are of one step."""
        return max(self.executions, self.long_gaps) >= 2 * len(self.ranks)

    def repeats(self) -> float:
        """Return the messages to the same partner between two computations."""
        npairs = sum(of_call for _, _, of_call in self.sent)
        steps = self.long_gaps if self.is_once else self.executions
        between = max(1.0, steps / len(self.ranks))
        return self.total / npairs / between if npairs else 0.0


def small_messages_of(
    trace: Trace,
    calls: Collection[TreeNode],
    messages: Sequence[Messages],
    numbers: Mapping[int, int],
    basis: TimeBasis,
    ideal: IdealRun | None = None,
) -> SmallMessages | None:
    """Return the small messages that cost most; None: there are none, or no times.

    Args:
        calls: of the tree, whose times count.
        messages: between ranks.
        numbers: id of a node -> number in the tree.
        ideal: the run on a network that takes no time; None: not simulated. Then usual times count.
    """
    if not basis.whole_ns or COMM not in trace.stat_index:
        return None
    search = _SmallMessageSearch(
        trace, {leaf.number: leaf for leaf in calls}, messages, numbers, basis, ideal
    )
    candidates = sorted(search.units(trace.nodes), key=lambda unit: -unit.total)[:MAX_UNITS]
    by_site: dict[int, list[_MessageUnit]] = {}
    for unit in candidates:
        if search.is_small(unit) and search.partners_take_part(unit):
            by_site.setdefault(unit.most.signature, []).append(unit)
    results = [search.result(units) for units in by_site.values()]
    return max(results, key=lambda result: result.cost_ns, default=None)


class _SmallMessageSearch:
    def __init__(
        self,
        trace: Trace,
        calls: Mapping[int, TreeNode],
        messages: Sequence[Messages],
        numbers: Mapping[int, int],
        basis: TimeBasis,
        ideal: IdealRun | None,
    ) -> None:
        self._trace, self._calls, self._numbers = trace, calls, numbers
        self._basis, self._ideal = basis, ideal
        self._ranks = participants(trace)
        self._entered = {id(node): classes for node, classes in entries(trace)}
        self._sent: dict[int, list[Messages]] = {}
        for flow in messages:
            self._sent.setdefault(id(flow.event), []).append(flow)
        self._comm, self._compute = (trace.stat_index.get(name) for name in (COMM, COMPUTE))
        self._typical: dict[int, tuple[float, float]] = {}
        self._units: list[_MessageUnit] = []

    def units(self, nodes: Sequence[Node]) -> Iterator[_MessageUnit]:
        """Yield the largest units; of one executed once, those in it with most of its small messages."""
        for node in nodes:
            unit = self._unit(node)
            if unit is None and isinstance(node, Loop):
                unit = self._unit_of_iteration(node)
            inner: list[_MessageUnit] = []
            if isinstance(node, Loop) and (unit is None or unit.is_once):
                inner = [each for each in self.units(node.nodes) if self.is_small(each)]
            if unit is None or sum(each.total for each in inner) > unit.total / 2:
                yield from inner
            elif unit.sent:
                yield unit
            if unit is not None:
                self._units.append(unit)

    def _unit(self, node: Node) -> _MessageUnit | None:
        """Return a node as a unit; None: ranks compute in it, or nobody executes it."""
        ranks, below = self._ranks[id(node)], list(events([node]))
        executions = self._count_entries(node, ranks)
        if not executions or not all(self._is_short(event, executions) for event in below):
            return None
        return self._of_events(ranks, executions, below)

    def _unit_of_iteration(self, loop: Loop) -> _MessageUnit | None:
        """Return an iteration of a loop as a unit; None: ranks compute after its first call."""
        first, below = loop.nodes[0], list(events(loop.nodes))
        ranks = self._ranks[id(first)]
        executions = self._count_entries(first, ranks)
        if not executions or not self._is_short(below[0], executions):
            return None
        if not all(self._is_short(event, executions) for event in below[1:]):
            return None
        unit = self._of_events(ranks, executions, below)
        once_ns = sum(self._gaps_once_ns(event, executions) for event in below[1:])
        return unit if once_ns <= MAX_PART_ONCE * self._usual_call_ns(unit) else None

    def _gaps_once_ns(self, event: Event, executions: int) -> float:
        """Return the usual time of the computations before a call that come once in each execution."""
        gaps = [gap for _, gap in event.histograms_by_pred(self._compute)]
        rare = [gap for gap in gaps if gap.count <= MIN_GAPS_PER_EXECUTION * executions]
        resolution = 0.0 if self._compute is None else self._trace.stats[self._compute].resolution
        return sum(gap.count * pooled_quantile([gap], 0.5) * resolution for gap in rare)

    def _of_events(self, ranks: RankList, executions: int, below: list[Event]) -> _MessageUnit:
        unit = _MessageUnit(ranks, executions, below, sum(map(self._long_gaps, below)))
        for event in below:
            category = operation(self._trace.ops[event.op].name).category
            if flows := self._sent.get(id(event)):
                unit.sent.append((event, float(sum(f.npairs * f.count for f in flows)), _different(flows)))
            elif category in COLLECTIVES or category is Category.ONE_SIDED:
                leaf = self._calls.get(self._numbers[id(event)])
                if leaf is not None and leaf.calls and leaf.size is not None:
                    unit.sent.append((event, float(leaf.calls), leaf.nranks))
        return unit

    def _count_entries(self, node: Node, taking_part: RankList) -> int:
        """Return how often the ranks that take part in a node enter it, in all."""
        classes = self._entered.get(id(node), [])
        if sum(len(ranks) for ranks, _ in classes) != len(taking_part):
            classes = [(ranks & taking_part, count) for ranks, count in classes]
        return sum(len(ranks) * count for ranks, count in classes)

    def _long_gaps(self, event: Event) -> float:
        """Return how many computations before a call take longer than the latency."""
        resolution = 0.0 if self._compute is None else self._trace.stats[self._compute].resolution
        bins = (gap_bin for _, gap in event.histograms_by_pred(self._compute) for gap_bin in gap.drawn_bins)
        return sum(gap_bin.count for gap_bin in bins if gap_bin.mean * resolution > LATENCY_NS)

    def _is_short(self, event: Event, executions: int) -> bool:
        """Return whether no computation before a call, but for that before the unit, lasts long."""
        for _, gap in event.histograms_by_pred(self._compute):
            if gap.count > MIN_GAPS_PER_EXECUTION * executions:
                unit = self._trace.stats[self._compute or 0].resolution
                if pooled_quantile([gap], 0.5) * unit > LATENCY_NS:
                    return False
        return True

    def is_small(self, unit: _MessageUnit) -> bool:
        """Return whether a unit has many small messages, which are as quick as messages are.

        Where ranks shared cores, only those of units that are executed once must be quick.
        """
        if not unit.sent or unit.repeats() < MIN_REPEATS:
            return False
        each_ns, size = self._each_ns(unit), self._nbytes(unit)
        if size is None or size * BYTE_NS > MAX_PART_OF_BYTES * each_ns:
            return False
        if unit.is_once:
            return each_ns <= LATENCY_NS
        return self._basis.contains_core_waits or each_ns <= MAX_LATENCIES * LATENCY_NS

    def partners_take_part(self, unit: _MessageUnit) -> bool:
        """Return whether the ranks that receive compute no longer between two messages."""
        flows = [flow for event, _, _ in unit.sent for flow in self._sent.get(id(event), ())]
        if not flows or len(unit.ranks) == self._trace.nprocs:
            return True
        receivers: Ints = np.unique(np.concatenate([flow.receivers for flow in flows]))
        quick = np.zeros(self._trace.nprocs, dtype=bool)
        for each in (unit, *self._units):
            if any(self._repeats_receives(event, each) for event in each.events):
                quick[np.fromiter(each.ranks, dtype=np.int64, count=len(each.ranks))] = True
        return bool(quick[receivers].all())

    def _repeats_receives(self, event: Event, unit: _MessageUnit) -> bool:
        if operation(self._trace.ops[event.op].name).category not in RECEIVING:
            return False
        leaf = self._calls.get(self._numbers[id(event)])
        return leaf is not None and leaf.calls >= MIN_REPEATS * unit.executions

    def _only_receives(self, unit: _MessageUnit) -> bool:
        return not unit.sent and any(self._repeats_receives(event, unit) for event in unit.events)

    def _usual_ns(self, event: Event) -> tuple[float, float]:
        """Return the medians of the time in a call, and of the computation before it."""
        if id(event) not in self._typical:
            medians = []
            for index in (self._comm, self._compute):
                histograms = [histogram for _, histogram in event.histograms_by_pred(index)]
                unit = self._trace.stats[index].resolution if index is not None else 0.0
                medians.append(pooled_quantile(histograms, 0.5) * unit if histograms else 0.0)
            self._typical[id(event)] = medians[0], medians[1]
        return self._typical[id(event)]

    def _leaves(self, unit: _MessageUnit) -> Iterator[tuple[Event, TreeNode]]:
        for event in unit.events:
            if (leaf := self._calls.get(self._numbers[id(event)])) is not None:
                yield event, leaf

    def _usual_call_ns(self, unit: _MessageUnit) -> float:
        """Return the sum of the usual times in all calls of a unit."""
        return sum(leaf.calls * self._usual_ns(event)[0] for event, leaf in self._leaves(unit))

    def _usual_gap_ns(self, unit: _MessageUnit) -> float:
        """Return the sum of the usual times before all calls of a unit."""
        return sum(leaf.calls * self._usual_ns(event)[1] for event, leaf in self._leaves(unit))

    def _each_ns(self, unit: _MessageUnit) -> float:
        return (self._usual_call_ns(unit) + self._usual_gap_ns(unit)) / max(unit.total, 1.0)

    def _nbytes(self, unit: _MessageUnit) -> float | None:
        """Return the mean size of the messages; None: not known."""
        total = 0.0
        for event, count, _ in unit.sent:
            leaf = self._calls.get(self._numbers[id(event)])
            if flows := self._sent.get(id(event)):
                total += sum(float(flow.npairs * flow.count) * flow.nbytes for flow in flows)
            elif leaf is None or leaf.size is None:
                return None
            else:
                total += count * leaf.size.nbytes
        return total / max(unit.total, 1.0)

    def _cost_ns(self, units: Sequence[_MessageUnit]) -> float:
        """Return the time in the calls of units without waiting for other computation, and between them."""
        calls = [leaf for unit in units for _, leaf in self._leaves(unit)]
        between = self._between_ns(units)
        if self._basis.simulated:
            return between + sum(max(leaf.comm_ns - (leaf.waiting_ns or 0.0), 0.0) for leaf in calls)
        if self._ideal is None or not all(unit.is_repeated for unit in units):
            return between + sum(map(self._usual_call_ns, units))
        inside, numbers = sum(leaf.comm_ns for leaf in calls), {leaf.number for leaf in calls}
        own = sum(
            cause.waiting_ns for cause in self._ideal.causes if {cause.after, cause.node} <= numbers
        )  # for the time between the calls, which has no other reason than they
        if any(len(unit.ranks) == len(self._trace.ranks) for unit in units):
            waits = sum(self._ideal.waiting_ns)
        else:
            waiting = dict(zip(self._trace.ranks, self._ideal.waiting_ns, strict=False))
            waits = sum(waiting.get(rank, 0.0) for rank in {rank for unit in units for rank in unit.ranks})
        return between + max(inside - max(waits - own, 0.0), 0.0)

    def _between_ns(self, units: Sequence[_MessageUnit]) -> float:
        """Return the usual time between the calls of units, on the basis of the page."""
        return sum(map(self._usual_gap_ns, units)) * self._basis.compute_factor

    def result(self, units: Sequence[_MessageUnit]) -> SmallMessages:
        """Return the small messages of some units, which send most at the same call site."""
        largest = max(units, key=lambda unit: unit.total)
        everyone = any(len(unit.ranks) == len(self._trace.ranks) for unit in units)
        quiet = [] if everyone else [unit for unit in self._units if self._only_receives(unit)]
        costs = self._cost_ns([*units, *quiet])
        size = sum((self._nbytes(unit) or 0.0) * unit.total for unit in units)
        total = sum(unit.total for unit in units)
        involved = [*units, *quiet]
        share, size = min(costs / self._basis.whole_ns, 1.0), size / max(total, 1.0)
        low_costs = costs
        if self._basis.contains_core_waits:
            medians = self._between_ns(involved) + sum(map(self._usual_call_ns, involved))
            low_costs = min(medians, costs)
        low_share = min(low_costs / self._basis.whole_ns, share)
        text = self._text(largest, size)
        return SmallMessages(
            share,
            costs,
            low_share,
            low_costs,
            largest.repeats(),
            self._each_ns(largest),
            size,
            round(total),
            text,
            self._numbers[id(largest.most)],
            tuple(sorted(self._numbers[id(event)] for unit in involved for event in unit.events)),
            sum(leaf.comm_ns for unit in involved for _, leaf in self._leaves(unit)),
            sum(map(self._usual_gap_ns, involved)),
            operation(self._trace.ops[largest.most.op].name).category in COLLECTIVES,
            f"{share_interval(low_share, share)} of the time goes to {text}.",
        )

    def _text(self, unit: _MessageUnit, size: float) -> str:
        """Return number, size and place of the messages of a unit."""
        event = unit.most
        op = self._trace.ops[event.op].name
        sends = self._ranks[id(event)]
        each = unit.total / (len(sends) if unit.is_once else unit.executions * len(sends) / len(unit.ranks))
        count = number(round(each)) if abs(each - round(each)) < 0.01 else f"about {number(round(each))}"
        noun = "small messages" if id(event) in self._sent else f"small {op} calls"
        by = f"from rank {number(sends.first)}" if len(sends) == 1 < self._trace.nprocs else "per rank"
        if not unit.is_once:
            repeats, is_uneven = divmod(unit.executions, len(unit.ranks))
            by += " in each iteration" if is_uneven else f" in each of {number(repeats)} iterations"
        text = f"{count} {noun} of {nbytes(size)} {by}"
        frame = next(iter(callers(self._trace.stack(event.signature))), "")
        if frame and (place := split_frame(frame).place):
            text += f" at {place}"
            stacks = {sent.signature: self._trace.stack(sent.signature) for sent, _, _ in unit.sent}
            frames = {next(iter(callers(stack)), "") for stack in stacks.values()} - {frame}
            others = [other for one in frames if (other := split_frame(one).place) != place]
            if len(others) == 1:
                text += f" and {others[0] or '1 more place'}"
            elif others:
                text += f" and {number(len(others))} more places"
        return text


def _different(flows: Sequence[Messages]) -> int:
    """Return the number of different pairs of ranks; of many, an upper bound."""
    npairs = sum(flow.npairs for flow in flows)
    if npairs > MAX_PAIRS or len(flows) == 1:
        return npairs
    senders, receivers = pairs(flows, MAX_PAIRS)
    return len(np.unique(senders * (1 + int(receivers.max())) + receivers)) if len(senders) else 0
