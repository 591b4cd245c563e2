"""Apply snippets to the calls of each rank: the first of the three levels of dropping (§3.2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scalatrace.errors import FormulaError, TextError
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.lossy.calls import Reason, droppable
from scalatrace.extrap.lossy.snippets.machine import Machine, MachineRun
from scalatrace.extrap.lossy.snippets.tree import ANY, CallPattern, Distance, SnippetPosition, Snippets, Value
from scalatrace.extrap.lossy.state import LossyState
from scalatrace.formula import evaluate
from scalatrace.operations import COLLECTIVES, operation
from scalatrace.trace.query.walk import Call

__all__ = ["Fits", "apply"]


def apply(snippets: Snippets, state: LossyState, run: Run) -> None:
    """Drop what the snippets do not keep, and note what stays together.

    Raises:
        TextError: a test that makes no sense for the calls it is applied to.
    """
    machine, fits = Machine(snippets.snippets), Fits(snippets, state, run)
    gone: list[int] = []
    for rank in range(state.trace.nprocs):
        env = {name: _at(column, rank) for name, column in run.grid.columns.items()} | dict(run.inputs)
        at_work = MachineRun(machine)
        for number in state.calls.of_rank(rank):
            call = state.calls.calls[number]
            if not droppable(call.op) or fits.any(snippets.keep, number, env):
                continue
            if fits.any(snippets.drop, number, env):
                gone.append(number)
            elif snippets.snippets:
                letter = fits.letter(machine.tests, number, env)
                at_work.feed(number, letter, operation(call.op).category in COLLECTIVES)
        at_work.end()
        gone += at_work.dropped
        for accepted in at_work.accepted:
            state.links.together(accepted.calls)
            weight = snippets.snippets[accepted.snippet].weight
            if weight > 1:
                state.weights.update(dict.fromkeys(accepted.calls, weight))
    state.repair.drop(gone, Reason.SNIPPETS)


def _at(column: Any, rank: int) -> int:
    return int(column) if isinstance(column, int) else int(column[rank])


@dataclass
class Fits:
    """Matches between calls of a trace and calls of snippets, computed once per different call of a rank."""

    snippets: Snippets
    state: LossyState
    run: Run
    _known: dict[tuple[int, tuple[int, ...], int], bool] = field(default_factory=dict)

    def letter(self, tests: list[CallPattern], number: int, env: Mapping[str, int]) -> frozenset[int]:
        """Return the indices of the snippet calls that a call of the trace matches."""
        return frozenset(i for i, test in enumerate(tests) if self.one(test, number, env))

    def any(self, tests: tuple[CallPattern, ...], number: int, env: Mapping[str, int]) -> bool:
        """Return whether the call matches one of them."""
        return any(self.one(test, number, env) for test in tests)

    def one(self, test: CallPattern, number: int, env: Mapping[str, int]) -> bool:
        """Return whether a call of the trace matches a call of a snippet."""
        call = self.state.calls.calls[number]
        key = id(call.place), call.values, id(test)
        if key not in self._known:
            self._known[key] = self._fits(test, call, env)
        return self._known[key]

    def _fits(self, test: CallPattern, call: Call, env: Mapping[str, int]) -> bool:
        if test.op not in (ANY, call.op) or test.site not in call.site:
            return False
        for constraint in test.tests:
            if constraint.name not in call:
                if test.op == ANY:
                    return False
                raise self._wrong(f"MPI_{call.op} has no parameter {constraint.name}", constraint.place)
            if isinstance(constraint, Distance):
                if not self._distant(constraint, call):
                    return False
            else:
                low, high = (
                    self._value(value, env, constraint.place) for value in (constraint.low, constraint.high)
                )
                if not low <= call.raw(constraint.name) <= high:
                    return False
        return True

    def _distant(self, test: Distance, call: Call) -> bool:
        if test.name not in operation(call.op).peers:
            raise self._wrong(
                f"{test.name} of MPI_{call.op} is no rank: it is not away from here", test.place
            )
        steps = self.state.places.to(call, test.name)
        if not isinstance(steps, tuple):
            return False  # MPI_PROC_NULL or the like
        if isinstance(test.steps, int):
            return sum(steps) == test.steps
        if len(test.steps) != len(steps):
            grid = self.run.grid
            raise self._wrong(f"{len(test.steps)} distances in a grid of {grid}", test.place)
        return steps == tuple(map(abs, test.steps))

    def _value(self, value: Value, env: Mapping[str, int], place: SnippetPosition) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(evaluate(value, env))
        except FormulaError as error:
            raise self._wrong(str(error), place) from None

    def _wrong(self, reason: str, place: SnippetPosition) -> TextError:
        return TextError(reason, self.snippets.path, place.line, place.column)
