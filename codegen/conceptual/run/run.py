"""Run a program on the tasks that this was started with (under mpiexec)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import TooManyError
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import DEFAULT_SEED, Lowered, lower
from scalatrace.codegen.conceptual.run.logfile import LogFile, facts
from scalatrace.codegen.conceptual.run.options import Options, parse_options
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.errors import ScalatraceError

__all__ = ["bind", "run"]

MAX_CHECKED_TASKS = 64
MAX_CHECKED_STEPS = 500_000
"""With more tasks, or more steps for all of them, each looks at its own events: deadlocks are not found."""


def bind(program: t.Program, tasks: int, rank: int, options: Options, path: str, seed: int) -> Lowered:
    """Return what the tasks do, once nothing is known to go wrong; rank 0 warns. Raises ProgramError."""
    try:
        lowered = _lowered(program, tasks, rank, options, seed)
        _check(lowered, rank, path)
        return lowered
    except RecursionError:
        raise ProgramError("the program is nested too deeply", program.place, path=path) from None
    except ProgramError as error:
        error.path = path
        raise


class OwnFaultError(ProgramError):
    """A fault that only this task knows of: it must end the others."""


def _check(lowered: Lowered, rank: int, path: str) -> None:
    try:
        for events in lowered.events.values():
            _executable(events)
        for note in find_faults(lowered):
            if rank == 0:
                print(note.show(path), file=sys.stderr)
    except ProgramError as error:
        if len(lowered.events) == lowered.tasks:
            raise
        raise OwnFaultError(error.reason, error.place) from None


def _lowered(program: t.Program, tasks: int, rank: int, options: Options, seed: int) -> Lowered:
    """All tasks' events if they are not too many, else this task's."""
    if tasks <= MAX_CHECKED_TASKS:
        try:
            return lower(program, tasks, options.parameters, None, seed, MAX_CHECKED_STEPS)
        except TooManyError:
            pass
    return lower(program, tasks, options.parameters, (rank,), seed)


def _locals(events: Sequence[e.Event]) -> Iterator[e.LocalStep]:
    for event in events:
        if isinstance(event, e.LocalStep):
            yield event
        elif isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            yield from _locals(event.body)


def _executable(events: Sequence[e.Event]) -> None:
    """Refuse what only a compiled program can do."""
    for event in _locals(events):
        if isinstance(event.statement, t.BackendExecute) and any(event.statement.items):
            reason = (
                "BACKEND EXECUTE has text in C, which only a compiled program can execute (ncptl compile)"
            )
            raise ProgramError(reason, event.place)


def run(program: t.Program, path: str, words: Sequence[str], seed: int = DEFAULT_SEED) -> int:
    """Run a checked program with the words of its command line; the exit status.

    Nothing is sent, printed or written before all tasks know that the program can run. A fault that shows
    only later ends all tasks.
    """
    from mpi4py import MPI

    options = parse_options(program, words)
    world = MPI.COMM_WORLD
    rank, tasks = world.Get_rank(), world.Get_size()
    try:
        lowered = bind(program, tasks, rank, options, path, seed)
    except ProgramError as error:
        if isinstance(error, OwnFaultError):
            _abort(f"scalatrace: {error}")
        # All tasks come to the same conclusion; one says it.
        if rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    try:
        _execute(program, path, lowered, rank, options)
    except ScalatraceError as error:
        if isinstance(error, ProgramError):
            error.path = path
        _abort(f"scalatrace: task {rank}: {error}")
    except OSError as error:
        _abort(f"scalatrace: task {rank}: {error.filename or path}: {error.strerror}")
    return 0


def _abort(reason: str) -> None:
    from mpi4py import MPI

    print(reason, file=sys.stderr, flush=True)
    MPI.COMM_WORLD.Abort(1)


def _execute(program: t.Program, path: str, lowered: Lowered, rank: int, options: Options) -> None:
    from mpi4py import MPI

    from scalatrace.codegen.conceptual.run.execute import Executor

    template = options.logfile or f"{Path(path).stem}-%p.log"
    library = MPI.Get_library_version().split("\n")[0].strip("\0 ,")
    given = _parameters(program, lowered)
    prologue = facts(path, rank, lowered.tasks, library, lowered.seed, template, given, options.comments)
    log = None
    if any(isinstance(event.statement, t.Log) for event in _locals(lowered.events[rank])):
        log = LogFile(template.replace("%p", str(rank)), prologue, program.text)
    Executor(lowered, rank, prologue, log).run()
    if log is not None:
        log.close()


def _parameters(program: t.Program, lowered: Lowered) -> dict[str, tuple[str, int]]:
    result = {}
    for header in program.headers:
        if isinstance(header, t.Parameter):
            value = lowered.parameters.get(header.name, integer(header.default, Env()))
            result[header.name] = (header.help, value)
    return result
