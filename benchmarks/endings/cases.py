"""The endings: a program, the way it is started, and the calls that can be recovered."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.mpis import Mpi, installed
from support.running import run

HERE = Path(__file__).parent
NPROCS = 3
EVENTS = 7
"""Of each rank, in ending.c."""
ALL = NPROCS * EVENTS


@dataclass(frozen=True)
class Case:
    """A way to end.

    Attributes:
        name: the row of the table.
        program: key of `Programs`.
        arguments: of the program.
        owed: events that must be in the trace, or in a trace merged from the parts.
        whole: the trace itself must be there.
        options: of `record`.
        disk: state of the folder of the trace: "full", "removed" during the run, "missing" before it, or "".
        silent: all processes may get SIGKILL, so nobody prints a line.
        reports: text that a line of the tracer must contain; "" for no requirement.
    """

    name: str
    program: str = "ending"
    arguments: tuple[str, ...] = ()
    owed: int = ALL
    whole: bool = False
    options: tuple[str, ...] = ()
    disk: str = ""
    silent: bool = False
    reports: str = ""


def cases(mpi: Mpi) -> list[Case]:
    """All endings. MPICH kills the other ranks with SIGKILL, after a fatal error at once."""
    kills = mpi.family == "mpich"
    others = 0 if kills else ALL - EVENTS
    unwritten = "nothing was recorded"
    return [
        Case("MPI_Finalize", arguments=("well",), whole=True, reports="wrote"),
        Case("exit", arguments=("exit",)),
        Case("_exit", arguments=("_exit",)),
        Case("abort", arguments=("abort",)),
        Case("MPI_Abort", arguments=("mpi_abort",)),
        Case("fatal MPI error", arguments=("fatal",), owed=EVENTS if kills else ALL),
        Case("SIGTERM", arguments=("term",)),
        Case("SIGSEGV", arguments=("segv",)),
        Case("SIGKILL", arguments=("kill",), owed=others),
        Case("SIGKILL, checkpoints", arguments=("kill_late",), options=("--checkpoint", "1"), silent=kills),
        Case("full disk", arguments=("well",), disk="full", reports="No space left"),
        Case("file size limit", arguments=("limit",), owed=0, reports="File too large"),
        Case("folder removed", arguments=("remove",), disk="removed", reports="No such file"),
        Case("no such folder", arguments=("well",), owed=0, disk="missing", reports="-o none/a.st"),
        Case("spawn", arguments=("spawn",), whole=True, reports="Spawned processes"),
        Case("fork, child exits", arguments=("fork",), whole=True, reports="wrote"),
        Case("no MPI_Init", program="true", owed=0, reports=unwritten),
        Case("statically linked", program="static", owed=0, reports="statically linked"),
        Case("dlopen of libmpi", program="opens", owed=0, reports=unwritten),
        Case("program of another MPI", program="other", arguments=("well",), owed=0, reports="mpiexec"),
    ]


class Programs:
    """The programs of the cases, compiled in a folder."""

    def __init__(self, mpi: Mpi, folder: Path) -> None:
        self._mpi, self._folder = mpi, folder

    def command(self, case: Case) -> list[str] | None:
        """Return program and arguments; None where it cannot be made here."""
        make = {"true": self._true, "static": self._static, "opens": self._opens, "other": self._other}
        start = make.get(case.program, self._ending)()
        return None if start is None else [*start, *case.arguments]

    def _compiled(
        self, compiler: Sequence[str], source: Path, name: str, env: dict[str, str]
    ) -> list[str] | None:
        program = self._folder / name
        if not program.exists() and run([*compiler, "-o", program, source, "-ldl"], env=env).returncode:
            return None
        return [str(program)]

    def _ending(self) -> list[str] | None:
        return self._compiled([str(self._mpi.mpicc)], HERE / "ending.c", "ending", self._mpi.environment())

    def _true(self) -> list[str]:
        return ["/bin/true"]

    def _static(self) -> list[str] | None:
        source = self._folder / "static.c"
        source.write_text("int main(void) { return 0; }\n")
        return self._compiled(["cc", "-static"], source, "static", self._mpi.environment())

    def _opens(self) -> list[str] | None:
        found = self._compiled(["cc"], HERE / "opens.c", "opens", self._mpi.environment())
        linked = self._ending()
        if found is None or linked is None:
            return None
        listed = run(["ldd", *linked], env=self._mpi.environment()).stdout.split()
        libraries = [word for word in listed if word.startswith("/") and "/libmpi." in word]
        return [*found, libraries[0]] if libraries else None

    def _other(self) -> list[str] | None:
        for other in installed().values():
            if other.family != self._mpi.family:
                return self._compiled([str(other.mpicc)], HERE / "ending.c", "other", other.environment())
        return None


@contextlib.contextmanager
def folder_of(case: Case, folder: Path) -> Iterator[Path | None]:
    """The folder of the trace; None where it cannot be made like that, as for mounts without root."""
    small = folder / "small"
    small.mkdir()
    if case.disk != "full":
        yield small
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        yield None
        return
    try:
        (small / "filler").write_bytes(b"x" * 4096)
        yield small
    finally:
        subprocess.run(["umount", str(small)], check=True)
