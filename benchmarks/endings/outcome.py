"""One recorded run that ends in some way: its messages, its exit status, the calls recovered from it."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.endings.cases import NPROCS, Case
from scalatrace import load
from scalatrace.errors import ScalatraceError
from support.mpis import Mpi
from support.running import Argument, Finished, mpirun, scalatrace

LIMIT_S = 60.0
FOLDERS = re.compile(r"(?<![^\s:])/(?:[^\s:,;/]+/)+")
"""The folders of an absolute path."""


@dataclass
class Outcome:
    """What became of a run.

    Attributes:
        plain, status: exit status of mpiexec without and with the tracer; None: it had to be ended.
        lines: different lines of the tracer, without rank and folder.
        recovered: the trace or the parts, and the events in them.
        problems: differences from what the case requires.
    """

    plain: int | None
    status: int | None
    lines: list[str] = field(default_factory=list)
    recovered: str = ""
    problems: list[str] = field(default_factory=list)


def outcome(mpi: Mpi, case: Case, command: list[str], folder: Path, old: Path | None) -> Outcome:
    """Run the program without and with the tracer.

    Args:
        folder: of the trace.
        old: a trace of an earlier run, which stands in the place of the new one at first.
    """
    trace = folder / "a.st"
    if old is not None and not case.disk:
        shutil.copy(old, trace)
    if case.disk == "removed":
        command = [*command, str(folder)]
    expected = 2 if case.disk == "missing" else _status(mpi, command, folder)
    folder.mkdir(exist_ok=True)
    done = _recorded(mpi, case, command, trace)
    result = Outcome(expected, done.returncode if done else None)
    if done is None:
        result.problems.append(f"still ran after {LIMIT_S:.0f} s")
        return result
    result.lines = _lines(done.stderr, folder)
    _recover(mpi, case, trace, old, result)
    _check(mpi, case, result)
    return result


def _status(mpi: Mpi, command: list[str], folder: Path) -> int | None:
    try:
        return mpirun(mpi, NPROCS, command, cwd=folder.parent, timeout=LIMIT_S).returncode
    except TimeoutError:
        return None


def _recorded(mpi: Mpi, case: Case, command: list[str], trace: Path) -> Finished | None:
    output: Argument = "none/a.st" if case.disk == "missing" else trace
    words: list[Argument] = [*mpi.recorder(), "-o", output, *case.options, "--"]
    try:
        env = {"TMPDIR": str(_elsewhere(trace))}
        return mpirun(mpi, NPROCS, [*words, *command], cwd=trace.parent.parent, env=env, timeout=LIMIT_S)
    except TimeoutError:
        return None


def _elsewhere(trace: Path) -> Path:
    """The folder of temporary files, to which the tracer writes where it must."""
    folder = trace.parent.parent / "tmp"
    folder.mkdir(exist_ok=True)
    return folder


def _lines(stderr: str, folder: Path) -> list[str]:
    """The tracer's lines, each once. Open MPI's own text may end with a zero and without a newline."""
    lines = []
    text = FOLDERS.sub("", stderr.replace(f"{folder}/", "").replace(f"{folder.parent}/", ""))
    for line in (line.lstrip("\0 ") for line in text.splitlines()):
        if line.startswith("scalatrace: "):
            words = line.removeprefix("scalatrace: ").split(": ", 1)
            lines.append(words[1] if words[0].startswith("rank ") and len(words) == 2 else ": ".join(words))
    return sorted(set(lines))


def _recover(mpi: Mpi, case: Case, trace: Path, old: Path | None, result: Outcome) -> None:
    """Load the trace, or merge the parts."""
    parts, merged = trace.with_name("a.st.parts"), trace.parent.parent / "merged.st"
    npart = len(list(parts.glob("rank-*.part"))) if parts.is_dir() else 0
    stale = trace.exists() and old is not None and trace.read_bytes() == old.read_bytes()
    if stale:
        result.problems.append("the trace of an earlier run is still there")
    source, kind = trace, "trace"
    if spared := list(_elsewhere(trace).glob("*-a.st")):
        source, kind = spared[0], "trace in TMPDIR"
    elif stale or not trace.exists():
        if case.whole:
            result.problems.append("no trace")
        if not npart:
            result.recovered = "nothing"
            return
        source, kind = merged, f"parts of {npart} of {NPROCS} ranks"
        done = scalatrace(mpi, "merge", parts, "-o", merged)
        if done.returncode:
            result.problems.append(done.stderr.strip())
            return
    try:
        events = _events(source)
    except ScalatraceError as error:
        result.problems.append(str(error))
        return
    result.recovered = f"{kind}, {events} events"
    if events < case.owed:
        result.problems.append(f"{events} events instead of {case.owed}")


def _events(path: Path) -> int:
    trace = load(path)
    return sum(1 for rank in trace.ranks for _ in trace.walk(rank))


def _same_status(mpi: Mpi, plain: int | None, status: int | None) -> bool:
    """Whether both are equal.

    MPICH's launcher or's the status of all ranks, now with and now without those of ranks that it killed, and
    sometimes without that of the rank that ended first: both differ between runs without the tracer, too.
    """
    if mpi.family != "mpich" or not plain or not status:
        return plain == status
    killed = int(signal.SIGKILL)
    return killed in (plain, status) or plain | killed == status | killed


def _check(mpi: Mpi, case: Case, result: Outcome) -> None:
    if not _same_status(mpi, result.plain, result.status):
        result.problems.append(f"status {result.status} instead of {result.plain}")
    if case.reports and not any(case.reports in line for line in result.lines):
        result.problems.append(f"no line with {case.reports!r}")
    if case.owed and not case.silent and not result.lines:
        result.problems.append("no line")
    if case.owed and result.recovered == "nothing":
        result.problems.append("nothing is recovered")
