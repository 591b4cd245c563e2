"""Kill a random rank at a random time, repeatedly: count recovered calls and remaining processes."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.study import Study, choose, find_mpi
from benchmarks.table import ResultTable, Row, verdict
from scalatrace import load
from scalatrace.errors import ScalatraceError
from scalatrace.launched import launched_rank
from scalatrace.trace.query.verify import verify
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import scalatrace

MARK = "SCALATRACE_KILLS_RUN"


def processes(mark: str) -> dict[int, dict[str, str]]:
    """The environments, by pid, of all living processes of the run that was started with MARK=mark."""
    result = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone, or somebody else's
            words = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            environment = dict(word.split("=", 1) for word in words if "=" in word)
            if environment.get(MARK) == mark:
                result[int(folder.name)] = environment
    return result


def rank_pid(mark: str, rank: int) -> int | None:
    """The process that is a rank of the run: the oldest, should it have started others. None: it is gone."""
    mine = [pid for pid, environment in processes(mark).items() if launched_rank(environment) == rank]
    return min(mine, default=None)


def wait_until_gone(mark: str, limit_s: float) -> float:
    """Seconds until no process of the run was left; inf when some were after `limit_s`, and were killed."""
    start = time.monotonic()
    while left := processes(mark):
        if time.monotonic() - start > limit_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - start


NPROCS = 4
ALL = frozenset(range(NPROCS))
LAUNCHER_LIMIT_S = 60.0
GONE_LIMIT_S = 10.0
CHECKPOINT_S = 1
LATE_S = 4.0
"""Who has no checkpoint so long after the start has missed it."""


@dataclass(frozen=True)
class KillPlan:
    """How a run is ended: which rank, by what, how long after all ranks were up."""

    rank: int
    sign: signal.Signals
    moment_s: float
    checkpoint: bool

    def __str__(self) -> str:
        more = ", checkpoints" if self.checkpoint else ""
        return f"rank {self.rank}, {self.sign.name} after {self.moment_s:.2f} s{more}"


@dataclass
class Ending:
    """What became of a run.

    Attributes:
        hit: the rank was killed before there was a trace.
        ended_s: from the kill until the launcher returned; inf when it had to be ended.
        gone_s: from then until no process was left; inf when some had to be ended.
        owed: ranks whose parts must be there.
        missing: ranks of which there is none.
        recovered: all that is owed is there, `merge` and `info` work.
        exact: every walk is how that rank's plain log begins.
        problems: what was wrong.
    """

    hit: bool = False
    ended_s: float = 0.0
    gone_s: float = 0.0
    owed: frozenset[int] = ALL
    missing: frozenset[int] = frozenset()
    recovered: bool = False
    exact: bool = False
    problems: list[str] = field(default_factory=list)


class KilledRun:
    """A program under the tracer, with plain logs, in a folder of its own."""

    def __init__(self, mpi: Mpi, program: list[str], folder: Path, *, checkpoint: bool) -> None:
        self.mpi = mpi
        self.trace, self.logs, self.parts = folder / "a.st", folder / "logs", folder / "a.st.parts"
        self.output, self.mark = folder / "output.txt", uuid.uuid4().hex
        options = ["--flat-log", str(self.logs), *(["--checkpoint", str(CHECKPOINT_S)] if checkpoint else [])]
        command = [str(mpi.mpiexec), "-n", str(NPROCS), *mpi.scalatrace(), "record", "-o", str(self.trace)]
        with self.output.open("wb") as output:
            self.launcher = subprocess.Popen(
                [*command, *options, "--", *program],
                env={**mpi.environment(), MARK: self.mark},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until_up(self) -> None:
        """Wait for the end of every MPI_Init, where logs are opened. AssertionError when it never comes."""
        start = time.monotonic()
        while not all((self.logs / f"rank-{rank}.log").exists() for rank in ALL):
            if self.launcher.poll() is not None or time.monotonic() - start > LAUNCHER_LIMIT_S:
                self.clear()
                raise AssertionError(f"the program did not start:\n{self.output.read_text(errors='replace')}")
            time.sleep(0.02)

    def saved(self) -> frozenset[int]:
        """The ranks that have a part now."""
        return frozenset(rank for rank in ALL if (self.parts / f"rank-{rank}.part").exists())

    def clear(self) -> float:
        """Wait for the last process, or end it; the seconds that took, inf when some had to be ended."""
        if self.launcher.poll() is None:
            self.launcher.kill()
            self.launcher.wait()
        return wait_until_gone(self.mark, GONE_LIMIT_S)


def undisturbed_s(mpi: Mpi, program: list[str], folder: Path) -> float:
    """How long the program takes when all ranks are up. AssertionError when it fails."""
    run = KilledRun(mpi, program, folder, checkpoint=False)
    run.wait_until_up()
    took_s = _wait(run)
    run.clear()
    assert run.launcher.returncode == 0, run.output.read_text(errors="replace")
    return took_s


def end(mpi: Mpi, program: list[str], folder: Path, plan: KillPlan) -> Ending:
    """Run the program, kill a rank of it as planned, and recover what there is."""
    ending = Ending()
    run = KilledRun(mpi, program, folder, checkpoint=plan.checkpoint)
    run.wait_until_up()
    time.sleep(plan.moment_s)
    before = run.saved()
    ending.hit = _kill(run, plan)
    if ending.hit:
        ending.owed = _owed(mpi, plan, before)
        if plan.checkpoint and plan.moment_s > LATE_S and before != ALL and not run.trace.exists():
            ending.problems.append(f"no checkpoint of {_listed(ALL - before)} until then")
    ending.ended_s = _wait(run)
    ending.gone_s = run.clear()
    if ending.ended_s > LAUNCHER_LIMIT_S:
        ending.problems.append("the launcher had to be ended")
    if ending.gone_s > GONE_LIMIT_S:
        ending.problems.append("processes were left and had to be ended")
    _recover(run, ending)
    return ending


def _kill(run: KilledRun, plan: KillPlan) -> bool:
    """Whether the rank was still there to be killed."""
    pid = rank_pid(run.mark, plan.rank)
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, plan.sign)
    return True


def _owed(mpi: Mpi, plan: KillPlan, before: frozenset[int]) -> frozenset[int]:
    """Who can have saved: all but a rank that SIGKILL hit; under MPICH it hits the others then, too."""
    if plan.sign is not signal.SIGKILL:
        return ALL
    return before | (ALL - {plan.rank} if mpi.family == "openmpi" else frozenset())


def _wait(run: KilledRun) -> float:
    start = time.monotonic()
    try:
        run.launcher.wait(timeout=LAUNCHER_LIMIT_S)
    except subprocess.TimeoutExpired:
        return float("inf")
    return time.monotonic() - start


def _recover(run: KilledRun, ending: Ending) -> None:
    """Make a trace of what there is, unless the run could end, and hold it against the logs."""
    whole = run.trace.exists()
    ending.hit &= not whole
    if not whole and not run.saved():
        ending.missing, ending.recovered, ending.exact = ALL, not ending.owed, True
    else:
        if not whole:
            done = scalatrace(run.mpi, "merge", run.parts, "-o", run.trace)
            ending.problems += [done.stderr.strip()] if done.returncode else []
        shown = scalatrace(run.mpi, "info", run.trace)
        ending.problems += [shown.stderr.strip()] if shown.returncode else []
        try:
            trace = load(run.trace)
            found = verify(trace, run.logs, prefix=not whole)
        except ScalatraceError as error:
            ending.problems.append(str(error))
            return
        ending.problems += map(str, found.problems)
        ending.missing, ending.exact = ALL - set(trace.ranks), found.ok
        ending.recovered = not shown.returncode and not ending.owed & ending.missing
    if lost := ending.owed & ending.missing:
        ending.problems.append(f"no part of rank {_listed(lost)}")


def _listed(ranks: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ranks)))


COLUMNS = (
    "program",
    "runs",
    "too late",
    "recovered",
    "killed one missing",
    "begin as logs",
    "launcher, s",
    "gone, s",
)
NOTES = (
    "SIGKILL, SIGTERM, SIGSEGV in turn, without and with `--checkpoint 1`.",
    "Recovered: parts of all ranks but those that SIGKILL hit before a checkpoint, merged into a trace.",
    "Too late: the rank had ended, and the whole trace is there.",
    "Longest time from the kill until the launcher returned, and from then until the last process was gone.",
)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)

#: Name -> file and arguments: two to four seconds from MPI_Init to the end on 4 ranks.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "bt": ("npb/bt.py", "--steps", "50", "--sleep-us", "2000"),
    "sp": ("npb/sp.py", "--steps", "50", "--sleep-us", "2000"),
    "cg": ("npb/cg.py", "--steps", "80", "--sleep-us", "30000"),
    "ep": ("npb/ep.py", "--steps", "80", "--sleep-us", "30000"),
    "ft": ("npb/ft.py", "--steps", "40", "--sleep-us", "30000"),
    "is": ("npb/is.py", "--steps", "80", "--sleep-us", "30000"),
    "lu": ("npb/lu.py", "--steps", "80", "--sleep-us", "2000"),
    "mg": ("npb/mg.py", "--steps", "30", "--sleep-us", "30000"),
    "sweep3d": ("sweep3d.py", "--steps", "25", "--sleep-us", "2000"),
    "ocean": ("ocean.py", "--steps", "7", "--sleep-us", "10000"),
    "amr": ("amr.py", "--steps", "80", "--sleep-us", "10000"),
    "coupled": ("coupled.py", "--steps", "40", "--sleep-us", "10000"),
    "hpl": ("hpl.py", "--steps", "20", "--sleep-us", "2000"),
}


def plans(mpi: Mpi, runs: int, longest_s: float, dice: random.Random) -> list[KillPlan]:
    """How runs of a program are ended. MPICH kills the others with SIGKILL: only checkpoints help there."""
    return [
        KillPlan(
            rank=dice.randrange(4),
            sign=SIGNALS[i % len(SIGNALS)],
            moment_s=dice.uniform(0, longest_s),
            checkpoint=mpi.family == "mpich" or i // len(SIGNALS) % 2 == 1,
        )
        for i in range(runs)
    ]


def measure(mpi: Mpi, name: str, runs: int, dice: random.Random) -> list[tuple[KillPlan, Ending]]:
    """End `runs` runs of a program. AssertionError if it fails undisturbed."""
    source, *arguments = PROGRAMS[name]
    program = [str(mpi.python), str(SAMPLES / source), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        longest_s = undisturbed_s(mpi, program, Path(folder))
    endings = []
    for plan in plans(mpi, runs, longest_s, dice):
        with tempfile.TemporaryDirectory() as folder:
            try:
                ending = end(mpi, program, Path(folder), plan)
            except AssertionError as error:  # the other runs are worth having
                ending = Ending(problems=[str(error)])
        endings.append((plan, ending))
    return endings


def _row(name: str, endings: list[tuple[KillPlan, Ending]]) -> Row:
    counts = (
        len(endings),
        sum(not e.hit for _, e in endings),
        sum(e.recovered for _, e in endings),
        sum(p.rank in e.missing for p, e in endings),
        sum(e.exact for _, e in endings),
    )
    times = (max(e.ended_s for _, e in endings), max(e.gone_s for _, e in endings))
    return [name, *map(str, counts), *(f"{t:.1f}" for t in times)]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi = find_mpi(args.mpi)
    problems: list[str] = []

    def rows() -> Iterator[Row]:
        for name in choose(PROGRAMS, args.only, str):
            endings = measure(mpi, name, args.runs, random.Random(f"{args.seed} {name}"))
            problems.extend(f"{name}: {plan}: {text}" for plan, e in endings for text in e.problems)
            yield _row(name, endings)

    def verdicts(rows: Sequence[Row]) -> list[str]:
        good = not problems and all(row[1] == row[3] == row[5] for row in rows)
        return [verdict(good, "; ".join(["all runs are recovered, and begin as their logs", *problems]))]

    title = f"A random rank killed at a random moment, 4 ranks, {mpi.name}"
    yield ResultTable("kills", title, COLUMNS, rows(), 0, NOTES, verdicts)


STUDIES = (
    Study(
        "kills",
        "what is recovered if a random rank is killed at a random time, and how long processes remain",
        "CHANGELOG.md",
        _tables,
        {"only": [], "runs": 20, "mpi": "openmpi", "seed": 1},
        {"only": ["ep"], "runs": 2},
    ),
)
