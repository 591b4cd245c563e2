"""The communication time of an extrapolated program, as a formula in the sizes of its grid of ranks.

In: the formulas of a symbolic trace, a platform, a grid. Out: the time that one rank spends in its calls if
it never waits for a late one: overheads, latency and transfer of each message, and the model of each
collective operation, at the four levels of Hoefler (2010). Ranks are distinguished by their place in the
grid; the busiest place counts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import sympy  # type: ignore[import-untyped]

from scalatrace.operations import MESSAGES, Category, Flow, operation
from scalatrace.predict.models.closed import ModelPlace, NotClosedError, places
from scalatrace.predict.models.collectives import COSTS, ModelRound
from scalatrace.predict.models.congestion import worst_case
from scalatrace.predict.models.growth import Dominant, asymptotic, dominant
from scalatrace.predict.models.messages import NO_DELAYS, Delays, network_of, parameters
from scalatrace.predict.models.symbols import (
    ALPHA,
    BETA,
    CONGESTION,
    GAMMA,
    PHI,
    RHO,
    TAU,
    P,
    S,
    as_sympy,
)
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.exchange.type_sizes import filled_template, symbolic_size
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["ModelTerm", "ProgramTime", "program_time"]

FREE = (Category.DATATYPE, Category.ENVIRONMENT, Category.OTHER, Category.PROBE)
"""Calls that communicate nothing, or whose messages others receive."""


@dataclass(frozen=True)
class ModelTerm:
    """The calls of one event node.

    Attributes:
        calls: number of calls of the rank, in the names of the grid's sizes and the parameters.
        each_ns: time of one call.
        value_ns: of all of them, on the grid.
        upper_each_ns: bound of the time of one call, with congestion C.
        upper_ns: of all of them, on the grid.
    """

    op: str
    stack: Stack
    calls: sympy.Expr
    each_ns: sympy.Expr
    value_ns: float
    upper_each_ns: sympy.Expr
    upper_ns: float


@dataclass(frozen=True)
class ProgramTime:
    """Time in communication of the busiest rank, without waiting for late ranks.

    `P` stands for the product of the sizes.

    Attributes:
        grid: for which values, protocol ranges and algorithms are taken.
        place: of the rank per dimension: first, middle, last.
        terms: by event node, the largest value first.
        left_out: calls without a closed formula, with the reason.
    """

    grid: Grid
    place: tuple[str, ...]
    terms: tuple[ModelTerm, ...]
    left_out: tuple[str, ...]

    @property
    def upper_ns(self) -> float:
        """The upper bound of the time on this grid."""
        return sum(term.upper_ns for term in self.terms)

    @property
    def value_ns(self) -> float:
        """The time on this grid."""
        return sum(term.value_ns for term in self.terms)

    @cached_property
    def formula(self) -> sympy.Expr:
        """Level 4: the time in ns by the sizes of the grid; by P alone where all of them are equal."""
        return self._sum([term.calls * term.each_ns for term in self.terms])

    @property
    def upper(self) -> sympy.Expr:
        """Level 3: the upper bound in ns, with C messages that share a link."""
        return self._sum([term.calls * term.upper_each_ns for term in self.terms])

    def _sum(self, formulas: Sequence[sympy.Expr]) -> sympy.Expr:
        total = sympy.expand(sum(formulas, sympy.Integer(0)))
        ndims = len(self.grid.dims)
        if len(set(self.grid.dims)) > 1:
            return total
        side = P ** sympy.Rational(1, ndims)
        sizes = {symbol: side for symbol in total.free_symbols if symbol.name in self.grid.sizes}
        return total.subs(sizes)

    @cached_property
    def growth(self) -> sympy.Expr | None:
        """Level 1: the growth with P, parameters fixed; None where there are other sizes, or other terms."""
        smooth = self._smooth
        growth = None if smooth is None else asymptotic(smooth)
        return growth if growth is not None and growth.free_symbols <= {P} else None

    @cached_property
    def dominant(self) -> Dominant | None:
        """Level 2: the terms that grow most with P; None where level 1 has no formula."""
        return dominant(self._smooth) if self.growth is not None else None

    @cached_property
    def _smooth(self) -> sympy.Expr | None:
        """The formula in P and parameters without rounding; None: there are other sizes in it."""
        smooth = sympy.expand(self.formula.replace(sympy.floor, lambda inner: inner))
        return smooth if {str(symbol) for symbol in smooth.free_symbols}.isdisjoint(self.grid.sizes) else None


def program_time(
    model: SymbolicTrace,
    platform: Platform,
    grid: Grid,
    inputs: Mapping[str, int] | None = None,
    queue: int = 0,
    strided: bool = False,
) -> ProgramTime:
    """Return the time in communication of the busiest rank on a grid.

    Args:
        model: formulas of `scalatrace extrapolate --symbolic`.
        inputs: values of the program's parameters; by default those of the first trace.
        queue, strided: delays of the upper bound, as in `levels`.
    """
    inputs_of_size = {**model.seen[0][1], **(inputs or {})}
    delays = Delays(
        per_message_ns=queue * platform.matching.per_entry_ns,
        per_byte_ns=platform.strided.per_byte_ns if strided else 0.0,
        shares_receiver=True,
    )
    candidates = [_at(model, platform, place, delays) for place in places(grid, inputs_of_size)]
    return max(candidates, key=lambda candidate: candidate.value_ns)


def _at(model: SymbolicTrace, platform: Platform, place: ModelPlace, delays: Delays) -> ProgramTime:
    terms: list[ModelTerm] = []
    left_out: list[str] = []
    nranks, congestion = place.grid.nprocs, worst_case(platform)
    messages = max(float(congestion.subs(P, nranks)), 1.0)
    alone = sympy.Integer(1)
    costs = _Costs(model, platform, place, NO_DELAYS, alone)
    bounds = _Costs(model, platform, place, delays, CONGESTION if congestion != 1 else alone)
    for rule, calls, reason in _count_events(model.nodes, place, sympy.Integer(1), []):
        assert rule.op is not None
        try:
            if reason:
                raise NotClosedError(reason)
            ncalls = place.value(calls)
            cost = costs.each(rule) if ncalls else None
            if cost is None or cost == 0:
                continue
            bound = sympy.sympify(bounds.each(rule))
            values = place.value(cost), place.value(bound.subs(CONGESTION, messages))
        except NotClosedError as error:
            left_out.append(f"{rule.op}: {error}")
            continue
        exact_ns, upper_ns = (ncalls * value for value in values)
        terms.append(ModelTerm(rule.op, rule.stack, calls, cost, exact_ns, bound, upper_ns))
    terms.sort(key=lambda term: -term.value_ns)
    return ProgramTime(place.grid, place.where, tuple(terms), tuple(dict.fromkeys(left_out)))


def _count_events(
    rules: Sequence[Rule], place: ModelPlace, total: sympy.Expr, trips: list[sympy.Expr], reason: str = ""
) -> Iterator[tuple[Rule, sympy.Expr, str]]:
    """Yield each event with how often it runs, or why that has no formula."""
    for rule in rules:
        runs, why = total, reason
        try:
            runs = place.runs(rule.repeat, total, trips, "the number of its executions")
        except NotClosedError as error:
            why = why or str(error)
        if rule.op is not None:
            yield rule, runs, why
        else:
            yield from _count_events(
                rule.children, place, runs, [*trips, runs / total if total != 0 else runs], why
            )


class _Costs:
    """Times of calls as formulas; protocol ranges and algorithms are those of the place's grid.

    Args:
        delays: of an upper bound, per message and per byte on each side.
        congestion: messages that share a link.
    """

    def __init__(
        self,
        model: SymbolicTrace,
        platform: Platform,
        place: ModelPlace,
        delays: Delays,
        congestion: sympy.Expr,
    ) -> None:
        self.model, self.platform, self.place = model, platform, place
        self.gaps = _Gaps(delays, congestion)

    def each(self, rule: Rule) -> sympy.Expr:
        """Return the time of one call in ns. Raises NotClosedError."""
        assert rule.op is not None
        row = operation(rule.op)
        if row.category is Category.COMPLETION:
            return self._latency() if rule.op.startswith(("Wait", "Test")) else sympy.Integer(0)
        if row.category in FREE:
            return sympy.Integer(0)
        # An array of counts has no closed formula of its size.
        if row.collective and not row.has_unequal_blocks and not row.flow_later:
            return self._collective(rule, row.collective, row.sends or row.recvs)
        if row.category in MESSAGES and not row.flow_later:
            return self._message(rule, row.sends, row.recvs, row.nonblocking)
        if row.category is Category.COMMUNICATOR:
            return self._model("allreduce", sympy.Integer(4), self._comm_size(rule))
        raise NotClosedError(f"there is no model of {rule.op}")

    def _network(self) -> Network:
        return network_of(self.platform, self.place.grid.nprocs)

    def _latency(self) -> sympy.Expr:
        """Return the latency of what completes; messages that complete together share it."""
        return sympy.Float(self._network().segment(0).latency_ns)

    def _message(self, rule: Rule, sends: Flow | None, recvs: Flow | None, later: bool) -> sympy.Expr:
        """Return overheads of both sides and transfer; the latency is the receive's, or its completion's."""
        network, time, gaps = self._network(), sympy.Integer(0), self.gaps
        if sends is not None:
            size = self._size(rule, sends)
            time += gaps.sending(network.segment(int(self.place.value(size))), size)
        if recvs is not None:
            size = self._size(rule, recvs)
            nbytes = int(self.place.value(size))
            segment = network.segment(nbytes)
            time += gaps.receiving(segment, size) + size * segment.per_byte_ns * gaps.congestion
            if not later:
                time += segment.latency_ns
            if not network.is_eager(nbytes):
                time += network.rendezvous_latency_ns
        return time

    def _collective(self, rule: Rule, name: str, flow: Flow | None) -> sympy.Expr:
        size = self._size(rule, flow) if flow is not None else sympy.Integer(0)
        return self._model(name, size, self._comm_size(rule))

    def _model(self, name: str, size: sympy.Expr, ranks: sympy.Expr) -> sympy.Expr:
        """Return the formula of a collective operation by the platform's algorithm."""
        nbytes, nranks = self.place.value(size), round(self.place.value(ranks))
        if nranks < 2:
            return sympy.Integer(0)
        algorithm = self.platform.algorithm(name, int(nbytes), nranks)
        network = network_of(self.platform, nranks)
        formula = COSTS[name][algorithm].formula
        gaps = self.gaps
        alpha, beta, transfer = _means(network, COSTS[name][algorithm].rounds(nbytes, nranks))
        numbers = {
            ALPHA: alpha + gaps.delays.per_message_ns,
            BETA: beta + 2 * gaps.delays.per_byte_ns + (gaps.congestion - 1) * transfer,
            GAMMA: self.platform.reduce_per_byte_ns,
        }
        for gap, time in ((TAU, gaps.of_sender), (RHO, gaps.of_receiver), (PHI, gaps.of_both)):
            formula = formula.replace(gap, lambda argument, time=time: time(network, argument))
        formula = formula.subs(numbers)
        if ranks != P:
            formula = as_sympy(formula).subs(P, ranks)
        return formula.subs(S, size)

    def _size(self, rule: Rule, flow: Flow) -> sympy.Expr:
        """Return the bytes that a rule of a collective operation counts, or of a message."""
        params = {param.name: param for param in rule.params}
        if flow.datatype not in params or flow.count not in params:
            raise NotClosedError("its datatype or count was not recorded")
        count = params[flow.count]
        if count.kind is not Kind.INT:
            raise NotClosedError(f"its {flow.count} is an array")
        elements = self.place.closed(count.field, f"its {flow.count}")
        return elements * self._type_size(params[flow.datatype])

    def _type_size(self, param: ParamRule) -> sympy.Expr:
        """Return the size of the only datatype; its integers are which one it is, then size and extent."""
        shape, formulas = self.place.slots(param.field) or (None, ())
        quantity = "the size of its datatype"
        pieces = filled_template(shape, formulas, lambda formula: self.place.sympy(formula, quantity))
        if pieces is not None:
            size = symbolic_size(pieces, sympy.Integer, operator.mul, operator.add)
            if size is None:
                raise NotClosedError(f"{quantity} is not known")
            return size
        if len(formulas) < 3 or not isinstance(shape, tuple) or len(shape[1]) != 1:
            raise NotClosedError("it uses several datatypes")
        return self.place.sympy(formulas[1], quantity)

    def _comm_size(self, rule: Rule) -> sympy.Expr:
        """Return the number of ranks of the communicator."""
        comm = next((param for param in rule.params if param.kind is Kind.COMM), None)
        if comm is None:
            raise NotClosedError("its communicator was not recorded")
        number = round(self.place.value(self.place.closed(comm.field, "its communicator")))
        if not 0 <= number < len(self.model.families):
            raise NotClosedError("its communicator is no single family")
        family = self.model.families[number]
        sizes = [self.place.symbols[name] for name in self.place.grid.sizes]
        if family.slices is not None:
            is_known = len(family.slices) == len(sizes)
            return P if is_known else prod((sizes[axis] for axis in family.slices), start=sympy.Integer(1))
        if family.kind == "self":
            return sympy.Integer(1)
        first = family.vecs[0] if family.vecs else None
        if first is not None and first[0] is None and len(first[1]) == 1:
            return self.place.sympy(first[1][0], "the size of its communicator")
        raise NotClosedError("the size of its communicator has no single formula")


@dataclass(frozen=True)
class _Gaps:
    """Overheads and times between messages as formulas, in the first protocol range."""

    delays: Delays
    congestion: sympy.Expr

    def sending(self, segment: Segment, nbytes: sympy.Expr) -> sympy.Expr:
        """Return the time of a sender's processor."""
        return segment.send_overhead_ns + nbytes * (
            segment.send_overhead_per_byte_ns + self.delays.per_byte_ns
        )

    def receiving(self, segment: Segment, nbytes: sympy.Expr) -> sympy.Expr:
        """Return the time of a receiver's processor, with its search in the matching queue."""
        overhead_ns = segment.recv_overhead_ns + self.delays.per_message_ns
        return overhead_ns + nbytes * (segment.recv_overhead_per_byte_ns + self.delays.per_byte_ns)

    def of_sender(self, network: Network, nbytes: sympy.Expr) -> sympy.Expr:
        """Return the time between two messages of a sender."""
        segment = network.segment(0)
        transfer_ns = nbytes * segment.per_byte_ns * self.congestion
        return sympy.Max(segment.gap_ns, self.sending(segment, nbytes), transfer_ns)

    def of_receiver(self, network: Network, nbytes: sympy.Expr) -> sympy.Expr:
        """Return the time between two messages of a receiver: that of its link if messages share it."""
        if self.delays.shares_receiver:
            return self.of_sender(network, nbytes)
        return self.receiving(network.segment(0), nbytes)

    def of_both(self, network: Network, nbytes: sympy.Expr) -> sympy.Expr:
        """Return the time between two messages of a rank that sends and receives."""
        segment = network.segment(0)
        processor_ns = self.sending(segment, nbytes) + self.receiving(segment, nbytes)
        return sympy.Max(self.of_sender(network, nbytes), processor_ns)


def _means(network: Network, rounds: Iterator[ModelRound]) -> tuple[float, float, float]:
    """Return the mean alpha, beta and transfer per byte of an algorithm's rounds, each in its own range."""
    steps = [step for step in rounds if not step.is_gap]
    weights = np.array([(step.times, step.times * step.nbytes) for step in steps])
    values = np.array(
        [(*parameters(network, step.nbytes), network.segment(int(step.nbytes)).per_byte_ns) for step in steps]
    )
    alpha = np.average(values[:, 0], weights=weights[:, 0])
    if not weights[:, 1].sum():
        return float(alpha), float(values[0, 1]), float(values[0, 2])
    beta, transfer = np.average(values[:, 1:], axis=0, weights=weights[:, 1])
    return float(alpha), float(beta), float(transfer)
