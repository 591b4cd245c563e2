"""Run a program on the tasks that this was started with (under mpiexec).

Its engine is a C program where a compiler for the MPI in use is present, else the interpreter. The ranks
agree on it by messages that no tracer records.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi4py import MPI

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.compile import compile_program
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.lowering.lower import DEFAULT_SEED, BoundProgram
from scalatrace.codegen.conceptual.run.checked import OwnFaultError, bind, local_steps
from scalatrace.codegen.conceptual.run.compiled import BACKEND, PROGRAM, TIMER, CompiledProgram
from scalatrace.codegen.conceptual.run.execute import Executor
from scalatrace.codegen.conceptual.run.logfile import LogFile, facts
from scalatrace.codegen.conceptual.run.options import RunOptions, parse_options
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.generated import shared_library
from scalatrace.errors import ScalatraceError
from scalatrace.launched import launched_rank

__all__ = ["run"]

_HANDLES = {4: ctypes.c_int, 8: ctypes.c_void_p}
"""C types of handles by their size."""


class RankAgreement:
    """Broadcasts and a reduction on MPI_COMM_WORLD by the names of the profiling interface."""

    def __init__(self, library: Path) -> None:
        """`library`: the libmpi of this process."""
        self.rank, self.size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        self._code = ctypes.CDLL(str(library))
        handle = _HANDLES[MPI._sizeof(MPI.COMM_WORLD)]
        self._world = handle(MPI._handleof(MPI.COMM_WORLD))
        self._byte, self._int = handle(MPI._handleof(MPI.BYTE)), handle(MPI._handleof(MPI.INT))
        self._min = handle(MPI._handleof(MPI.MIN))

    def broadcast(self, data: bytes, root: int = 0) -> bytes:
        """Return on all ranks the data of a rank."""
        length = ctypes.c_int(len(data))
        self._code.PMPI_Bcast(ctypes.byref(length), 1, self._int, root, self._world)
        room = ctypes.create_string_buffer(data, max(1, length.value)) if self.rank == root else None
        room = room or ctypes.create_string_buffer(max(1, length.value))
        self._code.PMPI_Bcast(room, length, self._byte, root, self._world)
        return room.raw[: length.value]

    def first(self, reason: str) -> str:
        """Return on all ranks the reason of the first rank that has one; "" when none has."""
        mine, first = ctypes.c_int(self.rank if reason else self.size), ctypes.c_int()
        self._code.PMPI_Allreduce(
            ctypes.byref(mine), ctypes.byref(first), 1, self._int, self._min, self._world
        )
        return "" if first.value == self.size else self.broadcast(reason.encode(), first.value).decode()


_ENGINES = ("auto", "compiled", "python")

_MAX_LINES = 10_000
"""Lines of C that `auto` compiles: 1,000 take the compiler some 0.6 s."""


def _compiled_library(program: t.ProgramTree, path: str, engine: str) -> Path | None:
    """Return the library of a program, on all ranks; None: interpret it.

    Args:
        path: of the program, for messages.
        engine: one of `_ENGINES`.

    Raises:
        ScalatraceError: `compiled` was asked for and is not possible; on all ranks.
    """
    if engine == "python":
        return None
    reason, library = "the MPI library that this process has loaded is not known", None
    if agreement := _agreement():
        library, reason = _agreed_library(program, path, engine, agreement)
    if not reason:
        return library
    if engine == "compiled":
        raise ScalatraceError(f"--engine compiled: {reason}; use --engine python")
    if not launched_rank():
        print(f"scalatrace: interpreting the program in Python: {reason}", file=sys.stderr)
    return None


def _agreement() -> RankAgreement | None:
    """Return the way to agree; None: the MPI is not known, which holds on all ranks."""
    return RankAgreement(library) if (library := loaded_mpi()) else None


def _agreed_library(
    program: t.ProgramTree, path: str, engine: str, agreement: RankAgreement
) -> tuple[Path | None, str]:
    """Return the library, or why there is none; the same on all ranks."""
    source, reason = _source(program, path, engine) if agreement.rank == 0 else ("", "")
    if reason := agreement.first(reason):
        return None, reason
    source = agreement.broadcast(source.encode()).decode()
    library = None
    try:
        library = shared_library(PROGRAM, source, speaks=agreement.rank == 0)
    except ScalatraceError as error:
        reason = str(error)
    return library, agreement.first(reason)


def _source(program: t.ProgramTree, path: str, engine: str) -> tuple[str, str]:
    """Return the C text of a program, or why there is none."""
    try:
        source = compile_program(program, path, hosted=True)
    except ProgramError as error:
        return "", str(error)
    if engine == "auto" and (count := source.count("\n")) > _MAX_LINES:
        return "", f"it has {count:,} lines in C (limit {_MAX_LINES:,}); --engine compiled compiles it"
    return source, ""


def _check_once(program: t.ProgramTree, parameters: Mapping[str, int], path: str, seed: int) -> None:
    """Check what all tasks do, on rank 0; each task checks its own part where all parts are too many.

    Raises:
        ProgramError: the program cannot run so; on all ranks, unless it is an OwnFaultError.
    """
    agreement = _agreement()
    assert agreement is not None
    outcome = ["", 0, 0, True]
    if agreement.rank == 0:
        try:
            bound = bind(program, agreement.size, 0, parameters, path, seed, interpreted=False)
            outcome[3] = len(bound.events) == agreement.size
        except OwnFaultError:
            raise
        except ProgramError as error:
            outcome[:3] = error.reason, *error.place
    reason, line, column, checks_all = json.loads(agreement.broadcast(json.dumps(outcome).encode()))
    if reason:
        raise ProgramError(reason, SourcePlace(line, column), path=path)
    if not checks_all and agreement.rank:
        where = (agreement.size, agreement.rank)
        bind(program, *where, parameters, path, seed, interpreted=False, alone=True)


@dataclass(frozen=True)
class _ProgramRun:
    """A program with its path and command line, as one task runs it."""

    program: t.ProgramTree
    path: str
    options: RunOptions
    seed: int
    rank: int
    tasks: int

    @property
    def template(self) -> str:
        """The name of log files."""
        return self.options.logfile or f"{Path(self.path).stem}-%p.log"

    def parameters(self) -> dict[str, tuple[str, int]]:
        """Return help text and value of each parameter by name."""
        return {
            header.name: (header.help, self._value(header))
            for header in self.program.headers
            if isinstance(header, t.ProgramParameter)
        }

    def _value(self, header: t.ProgramParameter) -> int:
        value = self.options.parameters.get(header.name)
        return integer(header.default, Env()) if value is None else value

    def prologue(self, backend: str, timer: str) -> dict[str, str]:
        """Return the lines that log files begin with by key."""
        library = MPI.Get_library_version().split("\n")[0].strip("\0 ,")
        where = (self.path, self.rank, self.tasks, library, self.seed, self.template)
        return facts(*where, self.parameters(), self.options.comments, backend, timer)

    def log(self, prologue: Mapping[str, str]) -> LogFile:
        """Open this task's log file. Raises OSError."""
        return LogFile(self.template.replace("%p", str(self.rank)), prologue, self.program.text)


def run(
    program: t.ProgramTree,
    path: str,
    words: Sequence[str],
    seed: int = DEFAULT_SEED,
    engine: str = "auto",
    *,
    as_json: bool = False,
) -> int:
    """Run a checked program with the words of its command line; the exit status.

    At the end, task 0 says on standard error which log it wrote, or with `as_json` what ran.

    Nothing is sent, printed or written before all tasks know that the program can run. A fault that shows
    only later ends all tasks.

    Raises:
        ScalatraceError: `engine` is "compiled", which is not possible; on rank 0.
    """
    options = parse_options(program, words)
    world = MPI.COMM_WORLD
    task_run = _ProgramRun(program, path, options, seed, world.Get_rank(), world.Get_size())
    try:
        name, execute = _execution(task_run, engine)
    except ScalatraceError as error:
        if isinstance(error, OwnFaultError):
            _abort(f"scalatrace: {error}")
        # All tasks come to the same conclusion; one prints it.
        if task_run.rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    start_ns = time.perf_counter_ns()
    try:
        wrote = execute()
    except ScalatraceError as error:
        if isinstance(error, ProgramError):
            error.path = path
        _abort(f"scalatrace: task {task_run.rank}: {error}")
    except OSError as error:
        _abort(f"scalatrace: task {task_run.rank}: {error.filename or path}: {error.strerror}")
    except MPI.Exception as error:
        _abort(f"scalatrace: task {task_run.rank}: {path}: {error}")
    seconds = (time.perf_counter_ns() - start_ns) / 1e9
    if not as_json:
        _say_log(task_run, wrote)
    elif task_run.rank == 0:
        print(json.dumps(_run_facts(task_run, wrote, name, seconds)), file=sys.stderr, flush=True)
    return 0


def _run_facts(task_run: _ProgramRun, wrote: bool, engine: str, seconds: float) -> dict[str, Any]:
    """Return what task 0 knows of its run; `log` is its log, `logs` the name of those of all tasks."""
    return {
        "file": task_run.path,
        "nprocs": task_run.tasks,
        "engine": engine,
        "seed": task_run.seed,
        "parameters": {name: value for name, (_, value) in task_run.parameters().items()},
        "seconds": seconds,
        "log": task_run.template.replace("%p", "0") if wrote else None,
        "logs": task_run.template,
    }


def _say_log(task_run: _ProgramRun, wrote: bool) -> None:
    """Say on task 0 which log was written: the others cannot be asked, a recording would contain that."""
    path = task_run.template.replace("%p", str(task_run.rank))
    text = f"wrote {path}" if wrote else f"task 0 logs nothing; other tasks log to {task_run.template}"
    if wrote and task_run.tasks > 1 and path != task_run.template:
        text += f"; each task that logs has its own file {task_run.template}"
    if task_run.rank == 0:
        print(f"scalatrace: {text}", file=sys.stderr, flush=True)


def _execution(task_run: _ProgramRun, engine: str) -> tuple[str, Callable[[], bool]]:
    """Return the engine, and what runs a checked program with it and says whether it wrote a log.

    Raises:
        ScalatraceError, ProgramError: it cannot run.
    """
    parameters = task_run.options.parameters
    library = _compiled_library(task_run.program, task_run.path, engine)
    if library is not None:
        _check_once(task_run.program, parameters, task_run.path, task_run.seed)
        return "compiled", lambda: _run_compiled(task_run, library)
    lowered = bind(
        task_run.program,
        task_run.tasks,
        task_run.rank,
        parameters,
        task_run.path,
        task_run.seed,
    )
    return "python", lambda: _interpret(task_run, lowered)


def _abort(reason: str) -> None:
    print(reason, file=sys.stderr, flush=True)
    MPI.COMM_WORLD.Abort(1)


def _interpret(task_run: _ProgramRun, lowered: BoundProgram) -> bool:
    prologue = task_run.prologue("interpreter (Python + MPI)", "perf_counter_ns()")
    logs = any(isinstance(event.statement, t.Log) for event in local_steps(lowered.events[task_run.rank]))
    log = task_run.log(prologue) if logs else None
    Executor(lowered, task_run.rank, prologue, log).run()
    if log is not None:
        log.close()
    return log is not None


def _run_compiled(task_run: _ProgramRun, library: Path) -> bool:
    def stop(reason: str, place: SourcePlace) -> None:
        error = ProgramError(reason, place, path=task_run.path)
        _abort(f"scalatrace: task {task_run.rank}: {error}")

    prologue = task_run.prologue(BACKEND, TIMER)
    values = [value for _, value in task_run.parameters().values()]
    compiled = CompiledProgram(library, task_run.seed, values, prologue, stop)
    log = task_run.log(prologue) if compiled.prepare() else None
    compiled.play(log.path if log is not None else None)
    if log is not None:
        log.close()
    return log is not None
