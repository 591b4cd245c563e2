"""The meaning of programs: an interpreter that the tests compare all emitters with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from sys import maxsize
from typing import overload

from scalatrace.codegen.program.communicators import OWN, SIZE
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramPart,
    Stmt,
)
from scalatrace.formula import Cond, Value, evaluate
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["InterpretSetting", "holds", "run", "value"]


@dataclass(frozen=True, slots=True)
class InterpretSetting:
    """Where an expression is evaluated.

    Attributes:
        variables: values by name, `rank` too.
        communicator: number -> (own rank, number of ranks a peer can be).
    """

    variables: MutableMapping[str, int]
    communicator: Callable[[int], tuple[int, int]]


class _Communicators(Sequence[int]):
    """One of the two numbers of each communicator."""

    def __init__(self, communicator: Callable[[int], tuple[int, int]], part: int) -> None:
        self._communicator, self._which = communicator, part

    def __len__(self) -> int:
        return maxsize

    @overload
    def __getitem__(self, family: int) -> int: ...
    @overload
    def __getitem__(self, family: slice) -> Sequence[int]: ...
    def __getitem__(self, family: int | slice) -> int | Sequence[int]:
        assert isinstance(family, int)
        return self._communicator(family)[self._which]


def value(e: Value, at: InterpretSetting) -> int:
    """Return the value of an expression. Raises FormulaError when it has none."""
    return int(_evaluate(e, at))


def holds(cond: Cond, at: InterpretSetting) -> bool:
    """Return whether a condition holds. Raises FormulaError when it has no value."""
    return bool(_evaluate(cond, at))


def _evaluate(part: Value | Cond, at: InterpretSetting) -> int:
    arrays = {OWN: _Communicators(at.communicator, 0), SIZE: _Communicators(at.communicator, 1)}
    result: int = evaluate(part, at.variables, arrays, SPECIAL)
    return result


def run(
    program: BenchmarkProgram, at: InterpretSetting
) -> Iterator[tuple[MpiCall | ComputeStatement, InterpretSetting]]:
    """What one process does, one after the other, each with the variables of its moment."""
    return _body(program.body, InterpretSetting(dict(at.variables), at.communicator))


def _body(
    body: tuple[Stmt, ...], at: InterpretSetting
) -> Iterator[tuple[MpiCall | ComputeStatement, InterpretSetting]]:
    for stmt in body:
        match stmt:
            case MpiCall() | ComputeStatement():
                yield stmt, at
            case Branch(cond, then, otherwise):
                yield from _body(then if holds(cond, at) else otherwise, at)
            case ProgramPart(_, _, inner):
                yield from _body(inner, at)
            case LetStatement(variable, e):
                if e is not None:
                    at.variables[variable.name] = value(e, at)
            case LoopStatement(variable, count, inner):
                for i in range(value(count, at)):
                    yield from _body(
                        inner, InterpretSetting({**at.variables, variable.name: i}, at.communicator)
                    )
