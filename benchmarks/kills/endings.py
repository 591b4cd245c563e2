"""One run in which a rank is killed, and the calls recovered from it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kills.victims import MARK, rank_pid, wait_until_gone
from scalatrace import load
from scalatrace.errors import ScalatraceError
from scalatrace.trace.query.verify import verify
from support.mpis import Mpi
from support.running import scalatrace

NPROCS = 4
ALL = frozenset(range(NPROCS))
LAUNCHER_LIMIT_S = 60.0
GONE_LIMIT_S = 10.0
CHECKPOINT_S = 1
LATE_S = 4.0
"""Who has no checkpoint so long after the start has missed it."""


@dataclass(frozen=True)
class Plan:
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


class Run:
    """A program under the tracer, with plain logs, in a folder of its own."""

    def __init__(self, mpi: Mpi, program: list[str], folder: Path, *, checkpoint: bool) -> None:
        self.mpi = mpi
        self.trace, self.logs, self.parts = folder / "a.st", folder / "logs", folder / "a.st.parts"
        self.said, self.mark = folder / "said.txt", uuid.uuid4().hex
        options = ["--flat-log", str(self.logs), *(["--checkpoint", str(CHECKPOINT_S)] if checkpoint else [])]
        command = [str(mpi.mpiexec), "-n", str(NPROCS), *mpi.scalatrace(), "record", "-o", str(self.trace)]
        with self.said.open("wb") as said:
            self.launcher = subprocess.Popen(
                [*command, *options, "--", *program],
                env={**mpi.environment(), MARK: self.mark},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def wait_until_up(self) -> None:
        """Wait for the end of every MPI_Init, where logs are opened. AssertionError when it never comes."""
        start = time.monotonic()
        while not all((self.logs / f"rank-{rank}.log").exists() for rank in ALL):
            if self.launcher.poll() is not None or time.monotonic() - start > LAUNCHER_LIMIT_S:
                self.clear()
                raise AssertionError(f"the program did not start:\n{self.said.read_text(errors='replace')}")
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
    run = Run(mpi, program, folder, checkpoint=False)
    run.wait_until_up()
    took_s = _wait(run)
    run.clear()
    assert run.launcher.returncode == 0, run.said.read_text(errors="replace")
    return took_s


def end(mpi: Mpi, program: list[str], folder: Path, plan: Plan) -> Ending:
    """Run the program, kill a rank of it as planned, and recover what there is."""
    ending = Ending()
    run = Run(mpi, program, folder, checkpoint=plan.checkpoint)
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


def _kill(run: Run, plan: Plan) -> bool:
    """Whether the rank was still there to be killed."""
    pid = rank_pid(run.mark, plan.rank)
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, plan.sign)
    return True


def _owed(mpi: Mpi, plan: Plan, before: frozenset[int]) -> frozenset[int]:
    """Who can have saved: all but a rank that SIGKILL hit; under MPICH it hits the others then, too."""
    if plan.sign is not signal.SIGKILL:
        return ALL
    return before | (ALL - {plan.rank} if mpi.family == "openmpi" else frozenset())


def _wait(run: Run) -> float:
    start = time.monotonic()
    try:
        run.launcher.wait(timeout=LAUNCHER_LIMIT_S)
    except subprocess.TimeoutExpired:
        return float("inf")
    return time.monotonic() - start


def _recover(run: Run, ending: Ending) -> None:
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
