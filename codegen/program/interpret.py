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
    Computation,
    CountedLoop,
    FunctionPart,
    LocalVariable,
    MpiCall,
    Stmt,
)
from scalatrace.formula import Cond, Value, evaluate
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["EvaluationSetting", "holds", "run", "value"]


@dataclass(frozen=True, slots=True)
class EvaluationSetting:
    """Where an expression is evaluated.

    Attributes:
        variables: values by name, `rank` too.
        communicator: number -> (own rank, number of ranks a peer can be).
    """

    variables: MutableMapping[str, int]
    communicator: Callable[[int], tuple[int, int]]


class _Communicators(Sequence[int]):
    """One of the two numbers of each communicator."""

    def __init__(self, communicator: Callable[[int], tuple[int, int]], which: int) -> None:
        self._communicator, self._which = communicator, which

    def __len__(self) -> int:
        return maxsize

    @overload
    def __getitem__(self, family: int) -> int: ...
    @overload
    def __getitem__(self, family: slice) -> Sequence[int]: ...
    def __getitem__(self, family: int | slice) -> int | Sequence[int]:
        assert isinstance(family, int)
        return self._communicator(family)[self._which]


def value(e: Value, at: EvaluationSetting) -> int:
    """Return the value of an expression. Raises FormulaError when it has none."""
    return int(_evaluate(e, at))


def holds(cond: Cond, at: EvaluationSetting) -> bool:
    """Return whether a condition holds. Raises FormulaError when it has no value."""
    return bool(_evaluate(cond, at))


def _evaluate(part: Value | Cond, at: EvaluationSetting) -> int:
    arrays = {OWN: _Communicators(at.communicator, 0), SIZE: _Communicators(at.communicator, 1)}
    result: int = evaluate(part, at.variables, arrays, SPECIAL)
    return result


def run(
    program: BenchmarkProgram, at: EvaluationSetting
) -> Iterator[tuple[MpiCall | Computation, EvaluationSetting]]:
    """What one process does, one after the other, each with the variables of its moment."""
    return _body(program.body, EvaluationSetting(dict(at.variables), at.communicator))


def _body(
    body: tuple[Stmt, ...], at: EvaluationSetting
) -> Iterator[tuple[MpiCall | Computation, EvaluationSetting]]:
    for stmt in body:
        match stmt:
            case MpiCall() | Computation():
                yield stmt, at
            case Branch(cond, then, otherwise):
                yield from _body(then if holds(cond, at) else otherwise, at)
            case FunctionPart(_, _, inner):
                yield from _body(inner, at)
            case LocalVariable(variable, e):
                if e is not None:
                    at.variables[variable.name] = value(e, at)
            case CountedLoop(variable, count, inner):
                for i in range(value(count, at)):
                    yield from _body(
                        inner, EvaluationSetting({**at.variables, variable.name: i}, at.communicator)
                    )
