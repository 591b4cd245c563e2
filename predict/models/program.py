"""The communication time of an extrapolated program, as a formula in the sizes of its grid of ranks.

In: the formulas of a symbolic trace, a platform, a grid. Out: the time that one rank spends in its calls if
it never waits for a late one: overheads, latency and transfer of each message, and the model of each
collective operation. Ranks are distinguished by their place in the grid; the busiest place counts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import sympy  # type: ignore[import-untyped]

from scalatrace.operations import MESSAGES, Category, Flow, operation
from scalatrace.predict.models.closed import ModelPlace, NotClosedError, places
from scalatrace.predict.models.collectives import COSTS, ModelRound
from scalatrace.predict.models.growth import asymptotic
from scalatrace.predict.models.messages import network_of, parameters
from scalatrace.predict.models.symbols import ALPHA, BETA, GAMMA, LOG, PHI, RHO, TAU, P, S, as_sympy
from scalatrace.predict.platform import Network, Platform
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
    """

    op: str
    stack: Stack
    calls: sympy.Expr
    each_ns: sympy.Expr
    value_ns: float

    @property
    def formula(self) -> sympy.Expr:
        """The time of all calls, ns."""
        return self.calls * self.each_ns


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
    def value_ns(self) -> float:
        """The time on this grid."""
        return sum(term.value_ns for term in self.terms)

    @property
    def formula(self) -> sympy.Expr:
        """The time in ns by the sizes of the grid; by P alone where all of them are equal."""
        total = sympy.expand(sum((term.formula for term in self.terms), sympy.Integer(0)))
        ndims = len(self.grid.dims)
        if len(set(self.grid.dims)) > 1:
            return total
        side = P ** sympy.Rational(1, ndims)
        sizes = {symbol: side for symbol in total.free_symbols if symbol.name in self.grid.sizes}
        return total.subs(sizes)

    @property
    def growth(self) -> sympy.Expr | None:
        """Level 1: the growth with P; None where the formula has several sizes, or no powers of P only."""
        smooth = self.formula.replace(sympy.floor, lambda inner: inner)
        if not smooth.free_symbols <= {P, LOG}:
            return None
        growth = asymptotic(smooth)
        return growth if growth.free_symbols <= {P} else None


def program_time(
    model: SymbolicTrace, platform: Platform, grid: Grid, inputs: Mapping[str, int] | None = None
) -> ProgramTime:
    """Return the time in communication of the busiest rank on a grid.

    Args:
        model: formulas of `scalatrace extrapolate --symbolic`.
        inputs: values of the program's parameters; by default those of the first trace.
    """
    inputs_of_size = {**model.seen[0][1], **(inputs or {})}
    candidates = [_at(model, platform, place) for place in places(grid, inputs_of_size)]
    return max(candidates, key=lambda candidate: candidate.value_ns)


def _at(model: SymbolicTrace, platform: Platform, place: ModelPlace) -> ProgramTime:
    terms: list[ModelTerm] = []
    left_out: list[str] = []
    costs = _Costs(model, platform, place)
    for rule, calls, reason in _count_events(model.nodes, place, sympy.Integer(1), []):
        assert rule.op is not None
        try:
            if reason:
                raise NotClosedError(reason)
            ncalls = place.value(calls)
            cost = costs.each(rule) if ncalls else None
            value = 0.0 if cost is None or cost == 0 else ncalls * place.value(cost)
        except NotClosedError as error:
            left_out.append(f"{rule.op}: {error}")
            continue
        if cost is not None and cost != 0:
            terms.append(ModelTerm(rule.op, rule.stack, calls, cost, value))
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
    """Times of calls as formulas; protocol ranges and algorithms are those of the place's grid."""

    def __init__(self, model: SymbolicTrace, platform: Platform, place: ModelPlace) -> None:
        self.model, self.platform, self.place = model, platform, place

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
        network, time = self._network(), sympy.Integer(0)
        if sends is not None:
            size = self._size(rule, sends)
            segment = network.segment(int(self.place.value(size)))
            time += segment.send_overhead_ns + size * segment.send_overhead_per_byte_ns
        if recvs is not None:
            size = self._size(rule, recvs)
            nbytes = int(self.place.value(size))
            segment = network.segment(nbytes)
            time += segment.recv_overhead_ns + size * (
                segment.per_byte_ns + segment.recv_overhead_per_byte_ns
            )
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
        alpha, beta = _means(network, COSTS[name][algorithm].rounds(nbytes, nranks))
        numbers = {ALPHA: alpha, BETA: beta, GAMMA: self.platform.reduce_per_byte_ns}
        for gap, time in ((TAU, _gap), (RHO, _receive_gap), (PHI, _exchange_gap)):
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


def _means(network: Network, rounds: Iterator[ModelRound]) -> tuple[float, float]:
    """Return the mean alpha and beta of the rounds of an algorithm, each in its own protocol range."""
    steps = [
        (step.times, step.nbytes, parameters(network, step.nbytes)) for step in rounds if not step.is_gap
    ]
    nmessages, total = sum(times for times, _, _ in steps), sum(times * size for times, size, _ in steps)
    alpha = sum(times * linear[0] for times, _, linear in steps) / nmessages
    beta = sum(times * size * linear[1] for times, size, linear in steps) / total if total else steps[0][2][1]
    return alpha, beta


def _gap(network: Network, nbytes: sympy.Expr) -> sympy.Expr:
    """Return the time between two messages of a sender as a formula, in the first protocol range."""
    segment = network.segment(0)
    overhead = segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns
    return sympy.Max(segment.gap_ns, overhead, nbytes * segment.per_byte_ns)


def _receive_gap(network: Network, nbytes: sympy.Expr) -> sympy.Expr:
    """Return the time between two messages of a receiver."""
    segment = network.segment(0)
    return segment.recv_overhead_ns + nbytes * segment.recv_overhead_per_byte_ns


def _exchange_gap(network: Network, nbytes: sympy.Expr) -> sympy.Expr:
    """Return the time between two messages of a rank that sends and receives."""
    segment = network.segment(0)
    sending = segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns
    return sympy.Max(_gap(network, nbytes), sending + _receive_gap(network, nbytes))
