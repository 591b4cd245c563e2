"""Run a program on the tasks that this was started with (under mpiexec)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.lowering.lower import DEFAULT_SEED, Lowered
from scalatrace.codegen.conceptual.run.checked import OwnFaultError, bind, local_steps
from scalatrace.codegen.conceptual.run.compiled import BACKEND, TIMER, CompiledProgram
from scalatrace.codegen.conceptual.run.engines import check_once, compiled_library
from scalatrace.codegen.conceptual.run.logfile import LogFile, facts
from scalatrace.codegen.conceptual.run.options import RunOptions, parse_options
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.errors import ScalatraceError

__all__ = ["run"]


@dataclass(frozen=True)
class _Run:
    """A program with its path and command line, as one task runs it."""

    program: t.Program
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
            if isinstance(header, t.Parameter)
        }

    def _value(self, header: t.Parameter) -> int:
        value = self.options.parameters.get(header.name)
        return integer(header.default, Env()) if value is None else value

    def prologue(self, backend: str, timer: str) -> dict[str, str]:
        """Return the lines that log files begin with by key."""
        from mpi4py import MPI

        library = MPI.Get_library_version().split("\n")[0].strip("\0 ,")
        where = (self.path, self.rank, self.tasks, library, self.seed, self.template)
        return facts(*where, self.parameters(), self.options.comments, backend, timer)

    def log(self, prologue: Mapping[str, str]) -> LogFile:
        """Open this task's log file. Raises OSError."""
        return LogFile(self.template.replace("%p", str(self.rank)), prologue, self.program.text)


def run(
    program: t.Program,
    path: str,
    words: Sequence[str],
    seed: int = DEFAULT_SEED,
    engine: str = "auto",
) -> int:
    """Run a checked program with the words of its command line; the exit status.

    Nothing is sent, printed or written before all tasks know that the program can run. A fault that shows
    only later ends all tasks.

    Raises:
        ScalatraceError: `engine` is "compiled", which is not possible; on rank 0.
    """
    from mpi4py import MPI

    options = parse_options(program, words)
    world = MPI.COMM_WORLD
    this = _Run(program, path, options, seed, world.Get_rank(), world.Get_size())
    try:
        execute = _execution(this, engine)
    except ScalatraceError as error:
        if isinstance(error, OwnFaultError):
            _abort(f"scalatrace: {error}")
        # All tasks come to the same conclusion; one prints it.
        if this.rank == 0:
            print(f"scalatrace: {error}", file=sys.stderr)
        return error.exit_status
    try:
        wrote = execute()
    except ScalatraceError as error:
        if isinstance(error, ProgramError):
            error.path = path
        _abort(f"scalatrace: task {this.rank}: {error}")
    except OSError as error:
        _abort(f"scalatrace: task {this.rank}: {error.filename or path}: {error.strerror}")
    except MPI.Exception as error:
        _abort(f"scalatrace: task {this.rank}: {path}: {error}")
    _say_log(this, wrote)
    return 0


def _say_log(this: _Run, wrote: bool) -> None:
    """Say on task 0 which log was written: the others cannot be asked, a recording would contain that."""
    own = this.template.replace("%p", str(this.rank))
    text = f"wrote {own}" if wrote else f"task 0 logs nothing; other tasks log to {this.template}"
    if wrote and this.tasks > 1 and own != this.template:
        text += f"; each task that logs has its own file {this.template}"
    if this.rank == 0:
        print(f"scalatrace: {text}", file=sys.stderr, flush=True)


def _execution(this: _Run, engine: str) -> Callable[[], bool]:
    """Return what runs a checked program, and says whether it wrote a log.

    Raises:
        ScalatraceError, ProgramError: it cannot run.
    """
    given = this.options.parameters
    library = compiled_library(this.program, this.path, engine)
    if library is not None:
        check_once(this.program, given, this.path, this.seed)
        return lambda: _run_compiled(this, library)
    lowered = bind(this.program, this.tasks, this.rank, given, this.path, this.seed)
    return lambda: _interpret(this, lowered)


def _abort(reason: str) -> None:
    from mpi4py import MPI

    print(reason, file=sys.stderr, flush=True)
    MPI.COMM_WORLD.Abort(1)


def _interpret(this: _Run, lowered: Lowered) -> bool:
    from scalatrace.codegen.conceptual.run.execute import Executor

    prologue = this.prologue("interpreter (Python + MPI)", "perf_counter_ns()")
    logs = any(isinstance(event.statement, t.Log) for event in local_steps(lowered.events[this.rank]))
    log = this.log(prologue) if logs else None
    Executor(lowered, this.rank, prologue, log).run()
    if log is not None:
        log.close()
    return log is not None


def _run_compiled(this: _Run, library: Path) -> bool:
    def stop(reason: str, place: SourcePlace) -> None:
        error = ProgramError(reason, place, path=this.path)
        _abort(f"scalatrace: task {this.rank}: {error}")

    prologue = this.prologue(BACKEND, TIMER)
    values = [value for _, value in this.parameters().values()]
    compiled = CompiledProgram(library, this.seed, values, prologue, stop)
    log = this.log(prologue) if compiled.prepare() else None
    compiled.play(log.path if log is not None else None)
    if log is not None:
        log.close()
    return log is not None
