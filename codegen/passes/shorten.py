"""Name parts of long expressions, each once, in local variables of a program in C or Python.

A value of a deeply nested loop is an expression of its index, which holds the index of the loop around it,
and so on: written out, such an expression has the product of their lengths. As objects the parts are shared.
A part that is always evaluated becomes a variable before its statement, where it is used twice or is long
itself. Long alternatives of a choice become statements under a condition, since each is only valid where it
is chosen. Short expressions, and so small programs, stay as they are. Equal parts are one object
(hash-consing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from scalatrace.codegen.passes.names import P, PartNames, is_set
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
    count_uses,
    length,
    with_children,
)
from scalatrace.trace.model.tables import Kind

__all__ = ["with_short_expressions"]

MAX_LENGTH = 24
"""Variables and numbers of an expression that stays as it is."""

MAX_PART_LENGTH = 16
"""Variables and numbers of a part without a name."""

MAX_CHOICE_LENGTH = 48
"""Variables and numbers of a choice, or of a condition of several parts, that is written as an expression."""

MIN_NAMED_LENGTH = 5
"""Variables and numbers of a part that is worth a name."""


def with_short_expressions(program: BenchmarkProgram) -> BenchmarkProgram:
    """The program with names for parts of its long expressions; the same object if it has none."""
    if all(length(part) <= MAX_LENGTH for stmt in statements(program.body) for part in needed_by(stmt)):
        return program
    return program.with_body(_Shortening(program).block(program.body))


class _Shortening:
    """The walk over the statements."""

    def __init__(self, program: BenchmarkProgram) -> None:
        self.names = PartNames(program)
        self.intern = self.names.intern
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
        out: list[Stmt] = []
        with self.names.scope():
            fill(out)
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
                    with self.names.scope(function=True):
                        self.functions[name] = self.block(stmt.body)
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
        if not is_long and (not self.names.variables or length(part) < MIN_NAMED_LENGTH):
            return part
        result = self.intern(part)
        self.uses = count_uses([result]) if is_long else Counter()
        return result

    # -- values --------------------------------------------------------------------------------------------

    def lowered(self, e: Expr, out: list[Stmt]) -> Expr:
        """A short form of an interned expression that is evaluated here in any case."""
        if (variable := self.names.variables.get(id(e))) is not None:
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
        variable = self.names.new_variable(e, bounds(e))
        self.names.assign({id(e): variable})
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
        return self.names.replaced(part) if length(part) >= MIN_NAMED_LENGTH else part

    # -- conditions ----------------------------------------------------------------------------------------

    def condition(self, cond: Cond, out: list[Stmt]) -> Cond:
        """A short form of an interned condition that is evaluated here in any case."""
        if (variable := self.names.variables.get(id(cond))) is not None:
            return is_set(variable)
        if isinstance(cond, AllOf | AnyOf):
            first = self.condition(cond.parts[0], out)
            operands = [
                self.replaced(part) for part in cond.parts[1:]
            ]  # evaluated only where the first says so
            if length(*operands) > MAX_CHOICE_LENGTH:
                return is_set(self.assigned(cond, out))
            return type(cond)((first, *operands))
        return with_children(cond, [self.lowered(child, out) for child in children(cond)])  # type: ignore[arg-type]

    # -- variables -----------------------------------------------------------------------------------------

    def assigned(self, part: Expr | Cond, out: list[Stmt]) -> Var:
        """A variable that statements under conditions set to a value; of a condition to 1 or 0."""
        limits = bounds(part) if isinstance(part, Expr) else (0, 1)
        variable = self.names.new_variable(part, limits)
        out.append(LetStatement(variable, None))
        self.assign(variable, part, out)
        self.names.assign({id(part): variable})
        return variable

    def assign(self, variable: Var, part: Expr | Cond, out: list[Stmt]) -> None:
        """Append the statements that set a variable."""
        if id(part) not in self.names.variables:
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
