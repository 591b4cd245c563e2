"""Starting programs so that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.forked import CommandServer
from support.mpis import PRELOAD_VARIABLE, Mpi

Argument = str | Path

READING = frozenset({"check", "diff", "info", "matrix", "show", "stats", "verify"})
"""Commands that start no process and have little to do, but to import modules."""


@dataclass(frozen=True)
class Finished:
    """Exit status (negative: ended by that signal) and output of a program."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def warnings(self) -> str:
        """The errors without the lines about a tracer that is built, and about the trace at the end."""
        usual = ("scalatrace: wrote ", "scalatrace: compiling the tracer ")
        return "".join(line for line in self.stderr.splitlines(True) if not line.startswith(usual))

    def check(self) -> Finished:
        """This result; AssertionError with all output unless the status is 0."""
        assert self.returncode == 0, f"status {self.returncode}\n{self.stdout}\n{self.stderr}"
        return self


def run(
    argv: Sequence[Argument],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 120,
) -> Finished:
    """Run a program in a process group of its own; TimeoutError when it had to be ended."""
    process = subprocess.Popen(
        [str(a) for a in argv],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        out, err = _end(process)
        raise TimeoutError(f"{argv} still ran after {timeout} s\n{out}\n{err}") from None
    except BaseException:  # interrupted
        _end(process)
        raise
    return Finished(process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a process group: politely, so that a launcher takes its ranks along, then for good."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=10)
    return "", "(its output stays open)"


def mpirun(
    mpi: Mpi,
    nprocs: int,
    argv: Sequence[Argument],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 120,
) -> Finished:
    """Run a program on `nprocs` ranks; `env` is added to the environment."""
    command = [mpi.mpiexec, "-n", str(nprocs), *argv]
    return run(command, env={**mpi.environment(), **(env or {})}, cwd=cwd, timeout=timeout)


def record(
    mpi: Mpi,
    nprocs: int,
    argv: Sequence[Argument],
    trace: Path,
    *,
    options: Sequence[Argument] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> Finished:
    """Run a program under `scalatrace record`, its trace in `trace`."""
    prefix = [*mpi.recorder(), "-o", trace, *options, "--"]
    return mpirun(mpi, nprocs, [*prefix, *argv], env=env, cwd=trace.parent, timeout=timeout)


def scalatrace(mpi: Mpi, *argv: Argument, cwd: Path | None = None, timeout: float = 120) -> Finished:
    """Run a scalatrace command as a single process, never under a sanitizer: it has a budget of memory."""
    env = {name: value for name, value in mpi.environment().items() if name != "SCALATRACE_CORE"}
    if argv and argv[0] in READING and str(mpi.python) == sys.executable and PRELOAD_VARIABLE not in env:
        return Finished(*_command_server().run(argv, env, cwd, timeout))
    return run([*mpi.scalatrace(), *argv], env=env, cwd=cwd, timeout=timeout)


@cache
def _command_server() -> CommandServer:
    """Return the server of this process, which ends with it."""
    return CommandServer()
