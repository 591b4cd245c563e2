"""Build the program of a symbolic trace, for any number of ranks (§4.4.5).

The result has loops, conditions and calls, as that of `build.recorded`. But conditions select ranks by their
coordinates in the grid, and numbers are formulas of its sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from scalatrace.codegen.builders.field_values import FieldValues
from scalatrace.codegen.builders.pieces import join_pieces
from scalatrace.codegen.builders.position import BuilderPosition
from scalatrace.codegen.builders.rows import MAX_UNROLLED_CALLS, RowLine, TableRow, align_rows
from scalatrace.codegen.builders.sample import Mask
from scalatrace.codegen.builders.tree_builder import SILENT, Built, TreeBuilder, under
from scalatrace.codegen.errors import GenerateError, wrong_call
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.program.grid_shape import LIMIT, Array, GridShape, shape_of
from scalatrace.codegen.program.peers import WORLD
from scalatrace.codegen.program.tidy import tidy
from scalatrace.codegen.program.tree import BenchmarkProgram, Duration, MpiCall, ProgramArgument, Stmt
from scalatrace.codegen.timing.predecessors import Arrival, Predecessors, choose_context
from scalatrace.codegen.timing.rank_means import MAX_RANK_CLASSES, level
from scalatrace.errors import FormulaError
from scalatrace.formula import (
    TRUE,
    Compare,
    Cond,
    Const,
    Expr,
    Function,
    Value,
    Var,
    all_of,
    either,
    names_in,
    number,
    sub,
)
from scalatrace.formula.domain import Domain
from scalatrace.predefined import known_thread_level
from scalatrace.trace.exchange.buffer_memory import MEMORY
from scalatrace.trace.model.symbolic import Field, Rule, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Family, IntArray, Kind
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["DurationOf", "build_scalable"]

SHORT_NS = 20_000
"""Computations below this length count as equal where a language averages them."""

DurationOf = Callable[[StatRule], Duration | None]
"""How long the computation before a call takes after one predecessor."""


def build_scalable(
    model: SymbolicTrace,
    times: DurationOf,
    functions: Mapping[str, Function],
    exact_times: bool = True,
    sites: bool = True,
) -> BenchmarkProgram:
    """The program of a symbolic trace.

    Args:
        times: the computation of an event after a predecessor.
        functions: what formulas may call: those of plug-ins too.
        exact_times, sites: see `scalatrace.codegen.builders.recorded.build`.

    Raises:
        GenerateError: a formula has no form in a program.
    """
    shape = shape_of(model)
    builder = _SymbolicBuilder(model, shape, times, functions, exact_times, sites)
    values = builder.values
    scope = _SymbolicScope(
        BuilderPosition(values.sample.everyone, values.facts),
        Predecessors.start(RankList.all(values.sample.n)),
    )
    body, _ = builder.nodes(model.nodes, scope)
    arrays = {n: array for array, n in values.tables.arrays.items()}
    shape = replace(
        shape,
        requirements=tuple(values.requirements),
        arrays={n: array for n, array in arrays.items() if isinstance(array, Array)},
    )
    return BenchmarkProgram(
        nprocs=0,
        body=tidy(tuple(body)),
        title=Foreign(model.meta.get("program", "")),
        thread_level=known_thread_level(model.meta),
        comms=tuple(Family(f.kind, f.parent, Vec(1), Vec(0)) for f in model.families),
        types=tuple(values.tables.types),
        strings=tuple(map(Foreign, values.tables.strings)),
        arrays=tuple(
            a if isinstance(a, IntArray) else IntArray(0, Vec(0)) for _, a in sorted(arrays.items())
        ),
        shape=shape,
    )


@dataclass(frozen=True, eq=False)
class _SymbolicScope:
    """The place of a node; its predecessors are by ranks of the sample."""

    position: BuilderPosition
    predecessors: Predecessors

    def after(self, predecessors: Predecessors) -> _SymbolicScope:
        return _SymbolicScope(self.position, predecessors)


@dataclass
class _SymbolicBuilder(TreeBuilder[Rule, Mask, _SymbolicScope]):
    model: SymbolicTrace
    shape: GridShape
    times: DurationOf
    functions: Mapping[str, Function]
    exact_times: bool
    sites: bool
    preds: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.values = FieldValues(self.model, self.shape, self.functions)
        self.stat = self.model.stat_index.get(COMPUTE)
        self._schemas = {op.name: op.params for op in self.model.ops}
        self._lists: dict[bytes, RankList] = {}

    def node(self, rule: Rule, scope: _SymbolicScope) -> Built:
        ranks, stated = self.participants(rule.repeat, scope.position.ranks)
        if not ranks.any() or rule.op in SILENT:
            return [], scope.predecessors
        position = replace(scope.position, ranks=ranks)
        inner = _SymbolicScope(position, scope.predecessors.only(self.listed(ranks)))
        try:
            cond = self.values.places.cond(ranks, scope.position.ranks, stated)
            lines = self.lines(rule, position)
            if lines is not None:
                stmts, predecessors = self.unrolled(rule, lines, inner)
            else:
                quantity = "a trip count" if rule.op is None else f"the number of MPI_{rule.op}"
                times = self.values.value(rule.repeat, position, quantity)
                stmts, predecessors = self.repeated(rule, times, inner)
        except (GenerateError, FormulaError) as error:
            if rule.op is None or str(error).startswith("MPI_"):
                raise
            raise wrong_call(rule.op, tuple(map(Foreign, rule.stack)), error) from None
        if (absent := scope.position.ranks & ~ranks).any():
            predecessors = predecessors.joined(scope.predecessors.only(self.listed(absent)))
        return under(cond, stmts), predecessors

    def participants(self, repeat: Field, ranks: Mask) -> tuple[Mask, Cond]:
        """Who runs a node at all."""
        participants, cond = np.zeros_like(ranks), []
        for share in self.values.shares(repeat, ranks):
            if not (share.part.shape is None and share.part.formulas == (Const(0),)):
                participants = participants | share.ranks
                cond.append(share.cond)

        return participants, either(*cond)

    def once(self, rule: Rule, times: Expr, scope: _SymbolicScope, cond: Cond) -> _SymbolicScope:
        position = scope.position
        inner = replace(position.once(rule.repeat), facts=_within_condition(cond, position.facts))
        return _SymbolicScope(inner, scope.predecessors)

    def iteration(
        self, rule: Rule, times: Expr, scope: _SymbolicScope, variable: Var, predecessors: Predecessors
    ) -> _SymbolicScope:
        facts = scope.position.facts.within(variable, Const(0), sub(times, Const(1)))
        return _SymbolicScope(scope.position.inside(rule.repeat, variable, times, facts), predecessors)

    def limit(self, limits: tuple[int, int] | None) -> int | None:
        return limits[1] if limits and limits[1] < LIMIT else None

    def unless(self, cond: Cond, outside: Predecessors, inside: Predecessors) -> Predecessors:
        by_iteration = names_in(cond).isdisjoint(v.name for v in self.shape.variables().values())
        return outside.unless(cond, inside) if by_iteration else outside.either(inside)

    def ranks(self, scope: _SymbolicScope) -> Mask:
        return scope.position.ranks

    def children(self, rule: Rule) -> Sequence[Rule] | None:
        return rule.children if rule.op is None else None

    def predecessor(self, rule: Rule) -> int | None:
        return None if rule.op is None else self.pred(rule.op, rule.stack)

    def runners(self, rule: Rule, ranks: Mask) -> Mask | None:
        runners, _ = self.participants(rule.repeat, ranks)
        return runners if runners.any() and rule.op not in SILENT else None

    def may_skip(self, rule: Rule) -> bool:
        return not all(_at_least_one(part.formulas) for part in rule.repeat.parts)

    def content(self, rule: Rule, scope: _SymbolicScope) -> Built:
        if rule.op is None:
            return self.nodes(rule.children, scope)
        call = self.call(rule, self.arguments(rule, scope.position))
        predecessors = scope.predecessors.called(
            self.pred(rule.op, rule.stack), self.listed(scope.position.ranks)
        )
        return [*self.computes(rule, scope), call], predecessors

    def lines(self, rule: Rule, position: BuilderPosition) -> list[RowLine] | None:
        """A call for each of a list of neighbours, one after the other; None for any other node."""
        if rule.op is None:
            return None
        rows = []
        for ranks, cond in self.classes(rule, position.ranks):
            mine = replace(position, ranks=ranks)
            times = self.values.value(rule.repeat, mine)
            if not isinstance(times, Const) or not 0 < times.value <= MAX_UNROLLED_CALLS:
                return None
            iterations = [mine.inside(rule.repeat, Const(k), times) for k in range(times.value)]
            calls = [self.arguments(rule, iteration) for iteration in iterations]
            rows.append(TableRow(ranks, cond, tuple(tuple(a.value for a in call) for call in calls)))
        if all(len(set(row.calls)) == 1 for row in rows):
            return None
        lines = align_rows(self.values.places, rows)
        return lines if len(lines) <= MAX_UNROLLED_CALLS else None

    def classes(self, rule: Rule, ranks: Mask) -> list[tuple[Mask, Cond]]:
        """Ranks that have the same part of each field of a node."""

        fields = [rule.repeat, *(param.field for param in rule.params)]
        divided = [self.values.shares(f, ranks) for f in fields if len(f.parts) > 1]
        classes: list[tuple[Mask, Cond]] = [(ranks, TRUE)]
        for shares in divided:
            pairs = product(classes, shares)
            joint_classes = [(mask & s.ranks, all_of(cond, s.cond)) for (mask, cond), s in pairs]
            classes = [(mask, cond) for mask, cond in joint_classes if mask.any()]
        return classes

    def unrolled(self, rule: Rule, lines: Sequence[RowLine], scope: _SymbolicScope) -> Built:
        """The calls one after the other, each for those who make it."""
        body: list[Stmt] = []
        places, ranks = self.values.places, scope.position.ranks
        schema = self._schemas[rule.op or ""]
        predecessors, pred = scope.predecessors, self.pred(rule.op or "", rule.stack)
        for line in lines:
            mine = line.ranks
            arguments = tuple(
                ProgramArgument(name, kind, join_pieces(places, line.parameter(k), mine))
                for k, (name, kind) in enumerate(schema)
                if name != MEMORY
            )
            computes = self.computes(rule, _SymbolicScope(replace(scope.position, ranks=mine), predecessors))
            stmts: list[Stmt] = [*computes, self.call(rule, arguments)]
            body += under(places.cond(mine, ranks, line.cond), stmts)
            predecessors = predecessors.called(pred, self.listed(mine))
        return body, predecessors

    def arguments(self, rule: Rule, position: BuilderPosition) -> tuple[ProgramArgument, ...]:
        """The parameters of a call."""
        comm = next((p for p in rule.params if p.kind is Kind.COMM), None)
        family = number(self.values.parameter(comm, position, WORLD)) if comm else WORLD
        return tuple(
            ProgramArgument(p.name, p.kind, self.values.parameter(p, position, family))
            for p in rule.params
            if p.name != MEMORY
        )

    def call(self, rule: Rule, arguments: tuple[ProgramArgument, ...]) -> MpiCall:
        assert rule.op is not None
        return MpiCall(
            rule.op,
            arguments,
            tuple(map(Foreign, rule.stack)) if self.sites else (),
            self.pred(rule.op, rule.stack),
        )

    def computes(self, rule: Rule, scope: _SymbolicScope) -> list[Stmt]:
        """The computation before a call, by the calls that may have come before."""
        if self.stat is None:
            return []
        durations = {}
        for stat in rule.stats:
            pred = 0 if stat.pred is None else self.pred(*stat.pred)
            if (duration := self.times(stat)) is not None:
                durations[pred] = duration
        predecessors = scope.predecessors.only(self.listed(scope.position.ranks))
        possible = {pred for arrival, _ in predecessors.classes for pred in arrival.any}
        durations = {pred: duration for pred, duration in durations.items() if pred in possible} or durations
        if not self.exact_times and (
            rank_computes := self.own_computes(durations, predecessors, scope.position.ranks)
        ):
            return rank_computes
        compute = choose_context(
            durations, [arrival for arrival, _ in predecessors.classes], self.exact_times
        )
        return [compute] if compute else []

    def own_computes(
        self, durations: dict[int, Duration], predecessors: Predecessors, ranks: Mask
    ) -> list[Stmt]:
        """Those of ranks that came by other ways; nothing where too many differ, or all compute alike."""
        ways: dict[object, tuple[set[int], list[Arrival], Mask]] = {}
        for arrival, arriving in predecessors.classes:
            known_preds = {pred for pred in arrival.any if pred in durations}
            compute = choose_context({pred: durations[pred] for pred in known_preds}, [arrival], exact=False)
            times = tuple(level(max(c.duration.ns, SHORT_NS)) for c in compute.contexts) if compute else ()
            alike = compute and (compute.first if len(set(times)) > 1 else None, tuple(dict.fromkeys(times)))
            preds, arrivals, mask = ways.setdefault(alike, (set(), [], np.zeros_like(ranks)))
            preds |= known_preds
            arrivals.append(arrival)
            mask[list(arriving)] = True
        if not 1 < len(ways) <= MAX_RANK_CLASSES:
            return []
        body: list[Stmt] = []
        for preds, arrivals, mask in ways.values():
            compute = choose_context({pred: durations[pred] for pred in sorted(preds)}, arrivals, exact=False)
            try:
                cond = self.values.places.cond(mask, ranks)
            except GenerateError:  # no condition on a rank's place tells who came which way
                return []
            body += under(cond, [compute] if compute else [])
        return body

    def pred(self, op: str, stack: tuple[str, ...]) -> int:
        """The number of an event as a predecessor; 0 is the start."""
        return self.preds.setdefault((op, tuple(stack)), len(self.preds) + 1)

    def listed(self, ranks: Mask) -> RankList:
        """Ranks of the sample by their numbers."""
        key = np.packbits(ranks).tobytes()
        if key not in self._lists:
            edges = np.flatnonzero(np.diff(np.concatenate([[0], ranks.astype(np.int8), [0]])))
            runs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
            self._lists[key] = RankList.from_runs(runs)
        return self._lists[key]


def _at_least_one(formulas: tuple[Value, ...] | None) -> bool:
    """Whether a repeat of these formulas is never 0, as far as that is plain."""
    return formulas is None or all(isinstance(formula, Const) and formula.value > 0 for formula in formulas)


def _within_condition(cond: Cond, facts: Domain) -> Domain:
    """What is known of a loop's variable where a condition holds."""
    match cond:
        case Compare(">", Var() as variable, Const(least)) if variable in facts.upper:
            return facts.within(variable, Const(least + 1), facts.upper[variable])
        case Compare("<", Var() as variable, above) if variable in facts.upper:
            return facts.within(variable, facts.lower.get(variable, Const(0)), sub(above, Const(1)))
    return facts
