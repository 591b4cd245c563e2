"""A program bound to the tasks that it is run on, checked before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import TooManyEventsError
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import BoundProgram, lower

__all__ = ["OwnFaultError", "bind", "local_steps"]

MAX_CHECKED_TASKS = 64
MAX_CHECKED_STEPS = 500_000
"""With more tasks, or more steps for all of them, each looks at its own events: deadlocks are not found."""


class OwnFaultError(ProgramError):
    """A fault that only this task knows of: it must end the others."""


def bind(
    program: t.ProgramTree,
    tasks: int,
    rank: int,
    parameters: Mapping[str, int],
    path: str,
    seed: int,
    *,
    interpreted: bool = True,
    alone: bool = False,
) -> BoundProgram:
    """Return what the tasks do, once nothing is known to go wrong; rank 0 warns.

    Args:
        parameters: values from the command line.
        path: of the program, for messages.
        interpreted: text in C is an error.
        alone: look at this task only.

    Raises:
        ProgramError: the program cannot run so.
    """
    try:
        lowered = _lower_tasks(program, tasks, rank, parameters, seed, alone)
        _check(lowered, rank, path, interpreted)
        return lowered
    except RecursionError:
        raise ProgramError("the program is nested too deeply", program.place, path=path) from None
    except ProgramError as error:
        error.path = path
        raise


def _check(lowered: BoundProgram, rank: int, path: str, interpreted: bool) -> None:
    try:
        for events in lowered.events.values() if interpreted else ():
            _executable(events)
        for note in find_faults(lowered):
            if rank == 0:
                print(note.show(path), file=sys.stderr)
    except ProgramError as error:
        if len(lowered.events) == lowered.tasks:
            raise
        raise OwnFaultError(error.reason, error.place) from None


def _lower_tasks(
    program: t.ProgramTree, tasks: int, rank: int, parameters: Mapping[str, int], seed: int, alone: bool
) -> BoundProgram:
    """All tasks' events if they are not too many, else this task's."""
    if tasks <= MAX_CHECKED_TASKS and not alone:
        try:
            return lower(program, tasks, parameters, None, seed, MAX_CHECKED_STEPS)
        except TooManyEventsError:
            pass
    return lower(program, tasks, parameters, (rank,), seed)


def local_steps(events: Sequence[e.Event]) -> Iterator[e.LocalStep]:
    """Yield what a task does by itself, loops once."""
    for event in events:
        if isinstance(event, e.LocalStep):
            yield event
        elif isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            yield from local_steps(event.body)


def _executable(events: Sequence[e.Event]) -> None:
    """Refuse what only a compiled program can do."""
    for event in local_steps(events):
        if isinstance(event.statement, t.BackendExecute) and any(event.statement.items):
            reason = (
                "BACKEND EXECUTE has text in C, which only a compiled program can execute (--engine compiled)"
            )
            raise ProgramError(reason, event.place)
