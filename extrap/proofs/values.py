"""Fields of a model as expressions: of a rank's place, and of the iterations around an event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scalatrace.extrap.proofs.scenario import OTHER, Scenario
from scalatrace.formula import (
    FALSE,
    TRUE,
    Binary,
    Cond,
    Const,
    Expr,
    Value,
    Var,
    add,
    all_of,
    choose,
    compare,
    either,
    mul,
    names_in,
    negate,
    number,
    sub,
)
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.symbolic import Rule
from scalatrace.trace.symbolic.counters import NAMED
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Field, Part, levels_of, runs_once

__all__ = ["ITERATION", "TRIPS", "Loops", "NumberedPeer", "Unprovable", "loops_of", "rename_variables"]

TRIPS, ITERATION = "trips#", "k#"
"""First letters of variables: the number of iterations of a loop, the same on all ranks; the iteration."""

OWN = 0
"""Depth of an event's own repeat; loops around it count from 1, the outermost."""


class Unprovable(Exception):  # noqa: N818 - the call is checked on sizes instead
    """Error: a call cannot be proved; says why."""


@dataclass(frozen=True, eq=False)
class Loop:
    """A repeat around an event, or the event's own.

    Attributes:
        rule: whose repeat it is; those of one rule are one loop for all ranks.
        trips: how often it runs on a rank; 0 on ranks that do not get there.
        index: the iteration.
        is_condition: whether it runs once or not at all.
    """

    rule: int
    trips: Expr
    index: Expr
    is_condition: bool = False

    def runs(self) -> Cond:
        """Return the condition that such an iteration exists."""
        return compare("<", self.index, self.trips)


@dataclass(frozen=True, eq=False)
class NumberedPeer:
    """One peer of a loop over all peers of a rank, which runs as a whole in each iteration around it.

    Attributes:
        number, of: which one of how many.
        is_elsewhere: raises Unprovable unless a condition holds on none of the ranks with this loop.
    """

    number: int
    of: int
    is_elsewhere: Callable[[Cond], None]


@dataclass(frozen=True, eq=False)
class Loops:
    """The repeats around an event and its own, the outermost first; those that all ranks run once left out.

    Attributes:
        own: whether the last is the event's own.
    """

    scenario: Scenario
    rows: tuple[Loop, ...]
    own: bool

    @property
    def scope(self) -> tuple[int, ...]:
        """The loops around the event, without its own."""
        return tuple(row.rule for row in self.around if not row.is_condition)

    @property
    def around(self) -> tuple[Loop, ...]:
        """The repeats around the event, without its own."""
        return self.rows[:-1] if self.own else self.rows

    def repeat(self) -> Expr:
        """Return the number of executions of the event per iteration of the surrounding loops."""
        return self.rows[-1].trips if self.own else Const(1)

    def without_innermost(self) -> Loops:
        """Return the loops for one call of the row that the innermost loop makes in each iteration."""
        return Loops(self.scenario, self.rows[:-1], own=False)

    def times(self) -> Expr:
        """Return the number of executions of the event in the whole run.

        Raises:
            Unprovable: some iterations run it more often than others, and ranks make different ones.
        """
        result: Expr = Const(1)
        for row in self.rows:
            result = mul(row.trips, result) if isinstance(result, Const) else mul(result, row.trips)
        names = names_in(result)
        if names & set(self.scenario.grid.coords) and any(name.startswith(TRIPS) for name in names):
            raise Unprovable("the number of iterations changes from one to the next, and from rank to rank")
        return result

    def active(self) -> Cond:
        """Return the condition that the event is executed in an iteration of each loop."""
        return all_of(*(row.runs() for row in self.rows))

    @property
    def counters(self) -> frozenset[str]:
        """The variables that stand for iterations of the loops around the event."""
        return frozenset(row.index.name for row in self.around if isinstance(row.index, Var))

    def is_uniform(self) -> bool:
        """Return whether all ranks that execute the event do so equally often in each iteration."""
        trips = (row.trips for row in self.rows if not row.is_condition)
        return not names_in(*trips) & set(self.scenario.grid.coords)

    def replaced(self, by: Substitution) -> Loops:
        """Return the loops with other variables."""
        rows = (replace(row, trips=by.number(row.trips), index=by.number(row.index)) for row in self.rows)
        return Loops(self.scenario, tuple(rows), self.own)

    def cases(self, field: Field) -> Iterator[tuple[Cond, Part]]:
        """Yield the parts of a field with their ranks, at a rank's own place."""
        before: Cond = FALSE
        for part in field.parts:
            own = self.scenario.here.condition(part.condition)
            if part.formulas is not None:
                yield all_of(own, negate(before)), part
            before = either(before, own)

    def value(self, part: Part) -> tuple[Value, bool]:
        """Return the value of a part, and whether it depends on iterations.

        Raises:
            Unprovable: it follows no formula.
        """
        assert part.formulas is not None
        if part.shape is None:
            return self._read(part.formulas[0], 0)
        if part.shape == LOOPED:
            return self._read(part.formulas[1], levels_of(part))
        if part.shape == INDEXED:
            return self._read(part.formulas[1], 0)
        if part.shape == CYCLE:
            turn = Var("i")
            values = [self._read(formula, 0)[0] for formula in part.formulas]
            result = number(values[0])
            for n, value in enumerate(values[1:], 1):
                at = compare("==", Binary("%", turn, Const(len(values))), Const(n))
                result = choose(at, number(value), result)
            return result, True
        raise Unprovable("it changes from call to call in a way that no formula describes")

    def slots(self, part: Part) -> tuple[Value, ...]:
        """Return the values that a part takes in turn; () if it is not such a row."""
        formulas = part.formulas or ()
        if part.shape != CYCLE:
            match part.shape:
                case ((None, None, *row),) if formulas[1] == Const(0) and not any(row):
                    formulas = formulas[2:]  # behind the number of rounds and their difference
                case _:
                    return ()
        return tuple(self._read(formula, 0)[0] for formula in formulas)

    def number(self, field: Field, numbered: NumberedPeer | None = None) -> tuple[Expr, bool]:
        """Return the value of a field wherever it has one, and whether it depends on iterations.

        Args:
            numbered: in a loop over peers, which one.
        """
        result: Expr | None = None
        varies = False
        for cond, part in reversed(list(self.cases(field))):
            row = self.slots(part) if numbered else ()
            if numbered and len(row) > 1 and len(row) != numbered.of:
                numbered.is_elsewhere(cond)
                continue
            value, changes = (row[numbered.number], False) if numbered and len(row) > 1 else self.value(part)
            if numbered and changes:
                value, changes = self._at_peer(value, numbered)
            varies |= changes
            result = number(value) if result is None else choose(cond, number(value), result)
        if result is None:
            raise Unprovable("it has no value")
        return result, varies

    def _at_peer(self, value: Value, numbered: NumberedPeer) -> tuple[Value, bool]:
        """Return a value at that iteration of the innermost loop, and whether it depends on other loops."""
        if "i" in names_in(value):
            raise Unprovable("it changes within a row of neighbours, by the number of the call")
        names = {row.index.name for row in self.rows if isinstance(row.index, Var)}
        innermost = self.rows[-1].index
        if isinstance(innermost, Var):
            value = Substitution({innermost.name: Const(numbered.number)}).value(value)
        return value, bool(names_in(value) & names)

    def _read(self, formula: Value, levels: int) -> tuple[Value, bool]:
        value = self.scenario.here.value(formula)
        counters: dict[str, Expr] = {}
        for n, row in enumerate(self.rows[::-1][: min(levels, NAMED)], 1):
            counters[f"i{n}"] = row.index
            counters[f"l{n}"] = sub(sub(row.trips, Const(1)), row.index)
        varies = bool(names_in(value) & {*counters, "i"})
        return Substitution(counters).value(value) if varies else value, varies


def loops_of(scenario: Scenario, path: Sequence[Rule]) -> Loops:
    """Return the loops of an event, the last of a path of nodes.

    Raises:
        Unprovable: the repeat of one follows no formula of the rank's place.
    """
    rows: list[Loop] = []
    for depth, rule in enumerate(path, 1):
        if runs_once(rule.repeat):
            continue
        is_event = rule.op is not None
        if all(part.formulas in (None, (Const(1),)) and part.shape is None for part in rule.repeat.parts):
            rows.append(Loop(id(rule), _trips(scenario, rule), Const(0), is_condition=True))
        else:
            rows.append(
                Loop(id(rule), _trips(scenario, rule), Var(f"{ITERATION}{OWN if is_event else depth}"))
            )
    return Loops(scenario, tuple(rows), bool(path) and not runs_once(path[-1].repeat))


def _trips(scenario: Scenario, rule: Rule) -> Expr:
    """Return how often a rank runs a node at a time."""
    here, parts = scenario.here, rule.repeat.parts
    formulas = [_formula(part) for part in parts]
    if all(formula is not None for formula in formulas):
        result: Expr = Const(0)
        for part, formula in reversed(list(zip(parts, formulas, strict=True))):
            assert formula is not None
            result = choose(here.condition(part.condition), here.number(formula), result)
        return result
    if all(same_for_all(scenario, part.condition, *(part.formulas or ())) for part in parts):
        return Var(f"{TRIPS}{id(rule)}")
    raise Unprovable("the number of iterations changes from one to the next, and from rank to rank")


def _formula(part: Part) -> Expr | None:
    """Return the trip count of a part that is one for all entries; None when there are several."""
    if part.formulas is None:
        return Const(0)
    if part.shape is None:
        return number(part.formulas[0])
    return number(part.formulas[1]) if part.shape == LOOPED and not levels_of(part) else None


def same_for_all(scenario: Scenario, *parts: Value | Cond) -> bool:
    """Return whether formulas have the same values on all ranks."""
    return not names_in(*parts) & {"r", *scenario.grid.coords}


def rename_variables(names: Iterable[str], keep: Collection[str] = ()) -> Substitution:
    """Return the substitution that renames iteration counters among some names, except those to keep."""
    ours = {name for name in names if name == "i" or name.startswith((TRIPS, ITERATION))}
    return Substitution({name: Var(name + OTHER) for name in ours - set(keep)})


def positive(e: Expr) -> Cond:
    """Return the condition that a trip count is not 0."""
    return TRUE if isinstance(e, Const) and e.value else compare(">", e, Const(0))


def total(parts: Sequence[tuple[Cond, Expr]]) -> Expr:
    """Return the sum of numbers where their conditions hold."""
    result: Expr = Const(0)
    for cond, e in parts:
        result = add(result, choose(cond, e, Const(0)))
    return result
