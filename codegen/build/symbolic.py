"""From a symbolic trace to a program for any number of ranks (§4.4.5).

As `build.recorded` does with a trace, and with the same result: loops, conditions and calls. But ranks are
told by their places in the grid, and numbers are formulas of its sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any

import numpy as np

from scalatrace.codegen.build.algebra import Facts
from scalatrace.codegen.build.field_values import Values
from scalatrace.codegen.build.pieces import joined
from scalatrace.codegen.build.position import Here
from scalatrace.codegen.build.recorded import SILENT
from scalatrace.codegen.build.rows import MOST, Line, Row, aligned
from scalatrace.codegen.build.sample import Mask
from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.expr import (
    TRUE,
    Compare,
    Cond,
    Const,
    Var,
    all_of,
    bounds,
    either,
    is_nonzero,
    names_in,
    sub,
)
from scalatrace.codegen.program.grid_shape import LIMIT, Array, Shape, shape_of
from scalatrace.codegen.program.peers import WORLD
from scalatrace.codegen.program.tidy import tidy
from scalatrace.codegen.program.tree import Argument, Branch, Call, Duration, Loop, Program, Stmt
from scalatrace.codegen.timing.predecessors import Arrival, Before, choose_context
from scalatrace.codegen.timing.rank_means import MOST_CLASSES, level
from scalatrace.trace.model.rules import Field, Model, Rule, StatRule
from scalatrace.trace.model.tables import Family, IntArray, Kind
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["Times", "build_scalable"]

SHORT_NS = 20_000
"""What is shorter is alike, where a language averages."""

Times = Callable[[StatRule], Duration | None]
"""How long the computation before a call takes after one predecessor."""


def build_scalable(
    model: Model,
    times: Times,
    functions: Mapping[str, Callable[..., Any]],
    exact_times: bool = True,
    sites: bool = True,
) -> Program:
    """The program of a symbolic trace.

    Args:
        times: the computation of an event after a predecessor.
        functions: what formulas may call: those of plug-ins too.
        exact_times, sites: see `scalatrace.codegen.build.recorded.build`.

    Raises:
        GenerateError: a formula cannot be said in a program.
    """
    shape = shape_of(model)
    builder = _Builder(model, shape, times, functions, exact_times, sites)
    values = builder.values
    scope = _Scope(Here(values.sample.everyone, values.facts), Before.start(RankList.all(values.sample.n)))
    body, _ = builder.nodes(model.nodes, scope)
    made = {n: array for array, n in values.tables.arrays.items()}
    shape = replace(
        shape,
        requirements=tuple(values.requirements),
        arrays={n: array for n, array in made.items() if isinstance(array, Array)},
    )
    return Program(
        nprocs=0,
        body=tidy(tuple(body)),
        title=model.meta.get("program", ""),
        comms=tuple(Family(f.kind, f.parent, Vec(1), Vec(0)) for f in model.families),
        types=tuple(values.tables.types),
        strings=tuple(values.tables.strings),
        arrays=tuple(a if isinstance(a, IntArray) else IntArray(0, Vec(0)) for _, a in sorted(made.items())),
        shape=shape,
    )


@dataclass(frozen=True, eq=False)
class _Scope:
    """Where a node stands, and what was called last; ranks are numbers of the sample there."""

    here: Here
    before: Before

    def after(self, before: Before) -> _Scope:
        return _Scope(self.here, before)


@dataclass
class _Builder:
    model: Model
    shape: Shape
    times: Times
    functions: Mapping[str, Callable[..., Any]]
    exact_times: bool
    sites: bool
    preds: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = Values(self.model, self.shape, self.functions)
        self.names = (f"i{n}" for n in count(1))
        self.stat = next((i for i, (name, _) in enumerate(self.model.stats) if name == "compute_ns"), None)
        self._lists: dict[bytes, RankList] = {}

    def nodes(self, rules: Sequence[Rule], scope: _Scope) -> tuple[list[Stmt], Before]:
        """Statements of nodes one after the other, and what was called last."""
        found: list[Stmt] = []
        for rule in rules:
            stmts, before = self.node(rule, scope)
            found += stmts
            scope = scope.after(before)
        return found, scope.before

    def node(self, rule: Rule, scope: _Scope) -> tuple[list[Stmt], Before]:
        """Condition and loop of one node."""
        ranks, told = self.participants(rule.repeat, scope.here.ranks)
        if not ranks.any() or rule.op in SILENT:
            return [], scope.before
        cond = self.values.places.cond(ranks, scope.here.ranks, told)
        here = replace(scope.here, ranks=ranks)
        inner = _Scope(here, scope.before.only(self.listed(ranks)))
        try:
            lines = self.lines(rule, here)
            if lines is not None:
                stmts, before = self.unrolled(rule, lines, inner)
            else:
                stmts, before = self.repeated(rule, inner)
        except GenerateError as error:
            if rule.op is None or str(error).startswith("MPI_"):
                raise
            raise GenerateError(f"MPI_{rule.op}{where(rule.stack)}: {error}") from None
        if (rest := scope.here.ranks & ~ranks).any():
            before = before.joined(scope.before.only(self.listed(rest)))
        return _under(cond, stmts), before

    def participants(self, repeat: Field, ranks: Mask) -> tuple[Mask, Cond]:
        """Who runs a node at all."""
        found, cond = np.zeros_like(ranks), []
        for share in self.values.shares(repeat, ranks):
            if not (share.part.shape is None and share.part.formulas == ("0",)):
                found = found | share.ranks
                cond.append(share.cond)

        return found, either(*cond)

    def repeated(self, rule: Rule, scope: _Scope) -> tuple[list[Stmt], Before]:
        """What the participants of a node do each time they meet it."""
        here = scope.here
        what = "a trip count" if rule.op is None else f"the number of MPI_{rule.op}"
        times = self.values.value(rule.repeat, here, what)
        limits = bounds(times)
        if limits == (1, 1):
            return self.content(rule, _Scope(here.once(rule.repeat), scope.before))
        if limits == (0, 1):
            cond = is_nonzero(times)
            once = replace(here.once(rule.repeat), facts=_told(cond, here.facts))
            stmts, before = self.content(rule, _Scope(once, scope.before))
            by_turn = names_in(cond).isdisjoint(v.name for v in self.shape.variables().values())
            after = scope.before.unless(cond, before) if by_turn else scope.before.either(before)
            return _under(cond, stmts), after
        variable = Var(next(self.names), limits[1] if limits and limits[1] < LIMIT else None)
        facts = here.facts.within(variable, Const(0), sub(times, Const(1)))
        end = self.flow(rule, here.ranks, scope.before)
        body = here.inside(rule.repeat, variable, times, facts)
        stmts, before = self.content(rule, _Scope(body, scope.before.looped(end, variable)))
        before = before.left(variable)
        if not limits or limits[0] < 1:
            before = scope.before.either(before)
        return [Loop(variable, times, tuple(stmts))] if stmts else [], before

    def flow(self, rule: Rule, ranks: Mask, before: Before) -> Before:
        """What was called last after the content of a node ran once for these ranks."""
        if rule.op is not None:
            return before.called(self.pred(rule.op, rule.stack), self.listed(ranks))
        for child in rule.children:
            some, _ = self.participants(child.repeat, ranks)
            if not some.any() or child.op in SILENT:
                continue
            here = before.only(self.listed(some))
            after = self.flow(child, some, here)
            if not all(_at_least_one(part.formulas) for part in child.repeat.parts):
                after = here.either(after)
            before = after.joined(before.only(self.listed(ranks & ~some)))
        return before

    def content(self, rule: Rule, scope: _Scope) -> tuple[list[Stmt], Before]:
        if rule.op is None:
            return self.nodes(rule.children, scope)
        call = self.call(rule, self.arguments(rule, scope.here))
        before = scope.before.called(self.pred(rule.op, rule.stack), self.listed(scope.here.ranks))
        return [*self.computes(rule, scope), call], before

    def lines(self, rule: Rule, here: Here) -> list[Line] | None:
        """A call for each of a list of neighbours, one after the other; None for any other node."""
        if rule.op is None:
            return None
        rows = []
        for ranks, cond in self.classes(rule, here.ranks):
            mine = replace(here, ranks=ranks)
            times = self.values.value(rule.repeat, mine)
            if not isinstance(times, Const) or not 0 < times.value <= MOST:
                return None
            turns = [mine.inside(rule.repeat, Const(k), times) for k in range(times.value)]
            calls = [self.arguments(rule, turn) for turn in turns]
            rows.append(Row(ranks, cond, tuple(tuple(a.value for a in call) for call in calls)))
        if all(len(set(row.calls)) == 1 for row in rows):
            return None
        lines = aligned(self.values.places, rows)
        return lines if len(lines) <= MOST else None

    def classes(self, rule: Rule, ranks: Mask) -> list[tuple[Mask, Cond]]:
        """Ranks that have the same part of each field of a node."""

        fields = [rule.repeat, *(param.field for param in rule.params)]
        divided = [self.values.shares(f, ranks) for f in fields if len(f.parts) > 1]
        found: list[tuple[Mask, Cond]] = [(ranks, TRUE)]
        for shares in divided:
            pairs = product(found, shares)
            both = [(mask & s.ranks, all_of(cond, s.cond)) for (mask, cond), s in pairs]
            found = [(mask, cond) for mask, cond in both if mask.any()]
        return found

    def unrolled(self, rule: Rule, lines: Sequence[Line], scope: _Scope) -> tuple[list[Stmt], Before]:
        """The calls one after the other, each for those who make it."""
        found: list[Stmt] = []
        places, ranks = self.values.places, scope.here.ranks
        schema = self.model.ops[rule.op or ""]
        before, pred = scope.before, self.pred(rule.op or "", rule.stack)
        for line in lines:
            mine = line.ranks
            arguments = tuple(
                Argument(name, kind, joined(places, line.parameter(k), mine))
                for k, (name, kind) in enumerate(schema)
            )
            computes = self.computes(rule, _Scope(replace(scope.here, ranks=mine), before))
            stmts: list[Stmt] = [*computes, self.call(rule, arguments)]
            found += _under(places.cond(mine, ranks, line.cond), stmts)
            before = before.called(pred, self.listed(mine))
        return found, before

    def arguments(self, rule: Rule, here: Here) -> tuple[Argument, ...]:
        """The parameters of a call."""
        comm = next((p for p in rule.params if p.kind is Kind.COMM), None)
        family = self.values.parameter(comm, here, WORLD) if comm else WORLD
        return tuple(Argument(p.name, p.kind, self.values.parameter(p, here, family)) for p in rule.params)

    def call(self, rule: Rule, arguments: tuple[Argument, ...]) -> Call:
        assert rule.op is not None
        return Call(rule.op, arguments, rule.stack if self.sites else (), self.pred(rule.op, rule.stack))

    def computes(self, rule: Rule, scope: _Scope) -> list[Stmt]:
        """The computation before a call, by the calls that may have come before."""
        if self.stat is None:
            return []
        known = {}
        for stat in rule.stats:
            pred = 0 if stat.pred is None else self.pred(*stat.pred)
            if (duration := self.times(stat)) is not None:
                known[pred] = duration
        before = scope.before.only(self.listed(scope.here.ranks))
        possible = {pred for arrival, _ in before.classes for pred in arrival.any}
        known = {pred: duration for pred, duration in known.items() if pred in possible} or known
        if not self.exact_times and (own := self.own_computes(known, before, scope.here.ranks)):
            return own
        compute = choose_context(known, [arrival for arrival, _ in before.classes], self.exact_times)
        return [compute] if compute else []

    def own_computes(self, known: dict[int, Duration], before: Before, ranks: Mask) -> list[Stmt]:
        """Those of ranks that came by other ways; nothing where too many differ, or all compute alike."""
        ways: dict[object, tuple[set[int], list[Arrival], Mask]] = {}
        for arrival, some in before.classes:
            own = {pred for pred in arrival.any if pred in known}
            compute = choose_context({pred: known[pred] for pred in own}, [arrival], exact=False)
            times = tuple(level(max(c.duration.ns, SHORT_NS)) for c in compute.contexts) if compute else ()
            alike = compute and (compute.first if len(set(times)) > 1 else None, tuple(dict.fromkeys(times)))
            preds, arrivals, mask = ways.setdefault(alike, (set(), [], np.zeros_like(ranks)))
            preds |= own
            arrivals.append(arrival)
            mask[list(some)] = True
        if not 1 < len(ways) <= MOST_CLASSES:
            return []
        found: list[Stmt] = []
        for preds, arrivals, mask in ways.values():
            compute = choose_context({pred: known[pred] for pred in sorted(preds)}, arrivals, exact=False)
            try:
                cond = self.values.places.cond(mask, ranks)
            except GenerateError:  # no condition on a rank's place tells who came which way
                return []
            found += _under(cond, [compute] if compute else [])
        return found

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


def _at_least_one(formulas: tuple[str, ...] | None) -> bool:
    """Whether a repeat of these formulas is never 0, as far as that is plain."""
    return formulas is None or all(text.isdigit() and int(text) > 0 for text in formulas)


def _told(cond: Cond, facts: Facts) -> Facts:
    """What is known of a loop's variable where a condition holds."""
    match cond:
        case Compare(">", Var() as variable, Const(least)) if variable in facts.upper:
            return facts.within(variable, Const(least + 1), facts.upper[variable])
        case Compare("<", Var() as variable, above) if variable in facts.upper:
            return facts.within(variable, facts.lower.get(variable, Const(0)), sub(above, Const(1)))
    return facts


def _under(cond: Cond, stmts: list[Stmt]) -> list[Stmt]:
    return stmts if cond == TRUE or not stmts else [Branch(cond, tuple(stmts))]
