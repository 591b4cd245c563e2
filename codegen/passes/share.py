"""Name parts of long expressions, each once, in local variables of a program in C or Python.

A value of a deeply nested loop is an expression of its index, which holds the index of the loop around it,
and so on: written out, such an expression has the product of their lengths. As objects the parts are shared.
A part that is always evaluated becomes a variable before its statement, where it is used twice or is long
itself. Long alternatives of a choice become statements under a condition, since each is only valid where it
is chosen. Short expressions, and so small programs, stay as they are. Equal parts are one object
(hash-consing).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from operator import attrgetter
from typing import Any, TypeVar

from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramPart,
    Stmt,
    needed_by,
    statements,
)
from scalatrace.formula import (
    AllOf,
    AnyOf,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Select,
    Special,
    Symbolic,
    Truth,
    Value,
    Var,
    bounds,
    children,
    length,
    names_in,
    nodes,
)
from scalatrace.trace.model.tables import Kind

__all__ = ["Interner", "named_parts", "part_stem", "uses", "with_children"]

_Part = nodes.Value | nodes.Cond
_P = TypeVar("_P", bound=_Part)

_LEAVES = (nodes.Const, nodes.Var, nodes.Special, nodes.Truth)


def with_children(part: _P, parts: Sequence[_Part]) -> _P:
    """The expression or condition with other parts, ordered as `children`; itself if they are the same."""
    if all(a is b for a, b in zip(children(part), parts, strict=True)):
        return part
    result: _P = _REBUILT[type(part)](part, *parts)
    return result


_WITH_TABLE = (nodes.Item, nodes.Lookup, nodes.Search)
_REBUILT: dict[type, Callable[..., Any]] = {
    **{kind: lambda part, index, kind=kind: kind(part.table, index) for kind in _WITH_TABLE},
    nodes.Element: lambda part, index: nodes.Element(part.array, index),
    nodes.Member: lambda part, e: nodes.Member(e, part.values, part.outside),
    **{kind: lambda part, a, b, kind=kind: kind(part.op, a, b) for kind in (nodes.Binary, nodes.Compare)},
    **{kind: lambda _, *parts, kind=kind: kind(*parts) for kind in (nodes.Choose, nodes.Select)},
    nodes.Called: lambda part, *parts: nodes.Called(part.name, parts),
    **{kind: lambda _, *parts, kind=kind: kind(parts) for kind in (nodes.AllOf, nodes.AnyOf)},
}
_RESTS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_WITH_TABLE, attrgetter("table")),
    nodes.Element: attrgetter("array"),
    nodes.Member: attrgetter("values", "outside"),
    **dict.fromkeys((nodes.Binary, nodes.Compare), attrgetter("op")),
    nodes.Called: attrgetter("name"),
}
"""What a node holds besides its parts; of other kinds nothing."""


class Interner:
    """Gives equal expressions and conditions the same object, so that they are compared by identity.

    Takes time linear in distinct objects, not in the length of the text. Keeps all objects.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[_Part, _Part]] = {}
        self._first: dict[tuple[object, ...], _Part] = {}

    def __call__(self, part: _P) -> _P:
        """The object for an expression or condition; its parts are such objects, too."""
        entry = self._known.get(id(part))
        if entry is None:
            if isinstance(part, _LEAVES):
                interned: _Part = part
                key: tuple[object, ...] = (part,)
            else:
                interned = with_children(part, [self(child) for child in children(part)])
                extra_key = _RESTS.get(type(interned))
                key = (type(interned), extra_key and extra_key(interned), *map(id, children(interned)))
            result = self._first.setdefault(key, interned)
            entry = self._known[id(part)] = (part, result)
            self._known[id(result)] = (result, result)
        return entry[1]  # type: ignore[return-value]


def uses(parts: Iterable[_Part]) -> Counter[int]:
    """How often each interned part, by id, stands in these or in a part of them; shared ones count once."""
    counts: Counter[int] = Counter()
    left = list(parts)
    while left:
        part = left.pop()
        counts[id(part)] += 1
        if counts[id(part)] == 1:
            left += children(part)
    return counts


_LOOP = re.compile(r"(i|iteration)\d+")


def part_stem(part: _Part) -> str:
    """The name, before a number, of a variable for an expression: what it depends on."""
    names, left, seen = set[str](), [part], set[int]()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, nodes.Element):
            return "peer"
        if isinstance(part, nodes.Var):
            names.add(part.name)
        left += children(part)
    if any(map(_LOOP.fullmatch, names)):
        return "iteration"
    return "of_rank" if names == {"rank"} else "value"


MAX_LENGTH = 24
"""Variables and numbers of an expression that stays as it is."""

MAX_PART_LENGTH = 16
"""Variables and numbers of a part without a name."""

MAX_CHOICE_LENGTH = 48
"""Variables and numbers of a choice, or of a condition of several parts, that is written as an expression."""

MIN_NAMED_LENGTH = 5
"""Variables and numbers of a part that is worth a name."""

P = TypeVar("P", bound=Value | Cond)


def named_parts(program: BenchmarkProgram) -> BenchmarkProgram:
    """The program with names for parts of its long expressions; the same object if it has none."""
    if all(length(part) <= MAX_LENGTH for stmt in statements(program.body) for part in needed_by(stmt)):
        return program
    return program.with_body(_PartSharing(program).block(program.body))


class _PartSharing:
    """The walk over the statements, and the names that can be used where it is."""

    def __init__(self, program: BenchmarkProgram) -> None:
        parts = [part for stmt in statements(program.body) for part in needed_by(stmt)]
        loops = {stmt.variable.name for stmt in statements(program.body) if isinstance(stmt, LoopStatement)}
        taken = names_in(*parts) | loops
        self.taken = taken | {
            stmt.variable.name for stmt in statements(program.body) if isinstance(stmt, LetStatement)
        }
        self.intern = Interner()
        self.named: dict[int, Var] = {}  # by id of an interned part
        self.uses: Counter[int] = Counter()
        self.functions: dict[str, tuple[Stmt, ...]] = {}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with what is named before them; names end with the block."""

        def fill(out: list[Stmt]) -> None:
            for stmt in body:
                out.append(self.statement(stmt, out))

        return self.scope(fill)

    def scope(self, fill: Callable[[list[Stmt]], None]) -> tuple[Stmt, ...]:
        """The statements that a function appends, with names of their own."""
        before, out = dict(self.named), list[Stmt]()
        fill(out)
        self.named = before
        return tuple(out)

    def statement(self, stmt: Stmt, out: list[Stmt]) -> Stmt:
        """A statement with short expressions; what it needs is appended."""
        match stmt:
            case LoopStatement(variable, times, body):
                times = self.expression(times, out)
                return LoopStatement(variable, times, self.block(body))
            case Branch(cond, then, otherwise):
                interned = self.counted(cond)
                if length(cond) > MAX_LENGTH:
                    cond = self.condition(interned, out)
                else:
                    cond = self.replaced(interned)
                return Branch(cond, self.block(then), self.block(otherwise))
            case MpiCall():
                arguments = tuple(self.argument(argument, out) for argument in stmt.arguments)
                return replace(stmt, arguments=arguments)
            case ProgramPart(name):
                if name not in self.functions:
                    before, self.named = self.named, {}
                    self.functions[name] = self.block(stmt.body)
                    self.named = before
                return replace(stmt, body=self.functions[name])
        return stmt

    def argument(self, argument: ProgramArgument, out: list[Stmt]) -> ProgramArgument:
        """An argument; indices into tables keep their alternatives, by which emitters know the entries."""
        e = argument.value
        if isinstance(e, Const | Var):
            return argument
        value: Value
        if argument.kind in (Kind.INT, Kind.PEER) and not isinstance(e, Symbolic):
            value = self.expression(e, out)
        else:
            value = self.kept(self.counted(e), out) if length(e) > MAX_LENGTH else e
        return argument if value is e else replace(argument, value=value)

    def expression(self, e: Expr, out: list[Stmt]) -> Expr:
        """A short form of an expression."""
        interned = self.counted(e)
        return self.lowered(interned, out) if length(e) > MAX_LENGTH else self.replaced(interned)

    def counted(self, part: P) -> P:
        """A part interned, and how often it uses its parts."""
        is_long = length(part) > MAX_LENGTH
        if not is_long and (not self.named or length(part) < MIN_NAMED_LENGTH):
            return part
        result = self.intern(part)
        self.uses = uses([result]) if is_long else Counter()
        return result

    # -- values --------------------------------------------------------------------------------------------

    def lowered(self, e: Expr, out: list[Stmt]) -> Expr:
        """A short form of an interned expression that is evaluated here in any case."""
        if (variable := self.named.get(id(e))) is not None:
            return variable
        if length(e) < MIN_NAMED_LENGTH:
            return e
        if isinstance(e, Choose):
            cond = self.condition(e.cond, out)
            then, otherwise = self.replaced(e.then), self.replaced(e.otherwise)
            if length(then, otherwise) > MAX_CHOICE_LENGTH:
                return self.assigned(e, out)
            result: Expr = Choose(cond, then, otherwise)
        else:
            result = with_children(e, [self.lowered(child, out) for child in children(e)])  # type: ignore[arg-type]
        if self.uses[id(e)] < 2 and length(result) <= MAX_PART_LENGTH:
            return result
        variable = self.named[id(e)] = self.variable(e, bounds(e))
        out.append(LetStatement(variable, result))
        return variable

    def kept(self, value: Value, out: list[Stmt]) -> Value:
        """A value with the same alternatives and tables, and short forms of the rest."""
        match value:
            case Const() | Var() | Special():
                return value
            case Choose(cond, a, b) | Select(cond, a, b):
                return with_children(value, (self.condition(cond, out), self.replaced(a), self.replaced(b)))
        return with_children(value, [self.lowered(child, out) for child in children(value)])  # type: ignore[arg-type]

    def replaced(self, part: P) -> P:
        """An interned part in which parts with names are replaced by them; nothing is named."""
        return self.replacing(part, {}) if self.named and length(part) >= MIN_NAMED_LENGTH else part

    def replacing(self, part: P, done: dict[int, Value | Cond]) -> P:
        """As `replaced`; `done` holds what was replaced before."""
        if isinstance(part, Const | Var | Special | Truth):
            return part
        if id(part) not in done:
            variable = self.named.get(id(part))
            if variable is None:
                result = with_children(part, [self.replacing(child, done) for child in children(part)])
            else:
                result = variable if isinstance(part, Expr) else _is_set(variable)  # type: ignore[assignment]
            done[id(part)] = result
        return done[id(part)]  # type: ignore[return-value]

    # -- conditions ----------------------------------------------------------------------------------------

    def condition(self, cond: Cond, out: list[Stmt]) -> Cond:
        """A short form of an interned condition that is evaluated here in any case."""
        if (variable := self.named.get(id(cond))) is not None:
            return _is_set(variable)
        if isinstance(cond, AllOf | AnyOf):
            first = self.condition(cond.parts[0], out)
            operands = [
                self.replaced(part) for part in cond.parts[1:]
            ]  # evaluated only where the first says so
            if length(*operands) > MAX_CHOICE_LENGTH:
                return _is_set(self.assigned(cond, out))
            return type(cond)((first, *operands))
        return with_children(cond, [self.lowered(child, out) for child in children(cond)])  # type: ignore[arg-type]

    # -- variables -----------------------------------------------------------------------------------------

    def variable(self, part: Expr | Cond, limits: tuple[int, int] | None) -> Var:
        """A new variable for a part, between limits if they are known."""
        stem = part_stem(part)
        name = next(name for n in count(1) if (name := f"{stem}{n}") not in self.taken)
        self.taken.add(name)
        return Var(name, limits[1] + 1, limits[0]) if limits else Var(name)

    def assigned(self, part: Expr | Cond, out: list[Stmt]) -> Var:
        """A variable that statements under conditions set to a value; of a condition to 1 or 0."""
        variable = self.variable(part, bounds(part) if isinstance(part, Expr) else (0, 1))
        out.append(LetStatement(variable, None))
        self.assign(variable, part, out)
        self.named[id(part)] = variable
        return variable

    def assign(self, variable: Var, part: Expr | Cond, out: list[Stmt]) -> None:
        """Append the statements that set a variable."""
        if id(part) not in self.named:
            match part:
                case Choose(cond, a, b):
                    if length(self.replaced(a), self.replaced(b)) > MAX_CHOICE_LENGTH:
                        self.either(variable, self.condition(cond, out), a, b, out)
                        return
                case AllOf((first, *others)):
                    remaining = others[0] if len(others) == 1 else AllOf(tuple(others))
                    self.either(variable, self.condition(first, out), self.intern(remaining), Const(0), out)
                    return
                case AnyOf((first, *others)):
                    remaining = others[0] if len(others) == 1 else AnyOf(tuple(others))
                    self.either(variable, self.condition(first, out), Const(1), self.intern(remaining), out)
                    return
        if isinstance(part, Cond):
            value: Expr = Choose(self.condition(part, out), Const(1), Const(0))
        else:
            value = self.lowered(part, out)
        out.append(LetStatement(variable, value, declares=False))

    def either(
        self, variable: Var, cond: Cond, then: Expr | Cond, otherwise: Expr | Cond, out: list[Stmt]
    ) -> None:
        """Append a branch that sets a variable to one of two values."""
        if isinstance(cond, Truth):
            self.assign(variable, then if cond.value else otherwise, out)
            return
        blocks = [self.scope(partial(self.assign, variable, part)) for part in (then, otherwise)]
        out.append(Branch(cond, *blocks))


def _is_set(variable: Var) -> Cond:
    return Compare("!=", variable, Const(0))
