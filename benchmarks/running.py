"""Start programs, their recordings and their replays: what several studies share."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from scalatrace.predict.calibrate.monitor import parse_cpu_times
from support.mpis import Mpi
from support.programs import SAMPLES, Sample
from support.running import Argument, mpirun, record, run
from support.workloads import WORKLOADS

PROGRAMS = Path(__file__).with_name("programs")
"""Programs and inputs of studies."""

TIMED = PROGRAMS / "timed.py"

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Ranks that share cores have one thread each: with more, a program's time varies by a fifth."""

SLEEP_US = 20_000
"""Shortest sleep in place of a computation: long enough that many ranks on few cores mostly sleep."""


def compile_c(mpi: Mpi, source: Argument, target: Path, *flags: Argument) -> Path:
    """Compile a C file, of PROGRAMS unless it has an absolute path, with the MPI's compiler."""
    command = [mpi.mpicc, "-O2", *flags, "-o", target, PROGRAMS / source, "-lm"]
    run(command, env=mpi.environment(), timeout=300).check()
    return target


class Busy:
    """Clock of the CPU time that other processes use, from its creation on.

    Processes of this one count when they have ended and were waited for.
    """

    def __init__(self) -> None:
        self._began, self._all_s, self._own_s = time.monotonic(), _all_s(), _own_s()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the creation."""
        return time.monotonic() - self._began

    def others(self) -> float:
        """Return the CPU time of other processes as a fraction of all cores' time."""
        used_s = _all_s() - self._all_s - (_own_s() - self._own_s)
        return max(0.0, used_s / max(0.01, self.elapsed_s) / (os.cpu_count() or 1))


def _all_s() -> float:
    """CPU seconds of all processes since the start of the machine; also those taken by a hypervisor."""
    times = parse_cpu_times(Path("/proc/stat").read_text())
    return sum(times) if times is not None else 0.0


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def priority() -> str:
    """Describe the priority of this process, which those that it starts inherit."""
    kinds = {os.SCHED_OTHER: "normal", os.SCHED_FIFO: "FIFO", os.SCHED_RR: "round-robin"}
    policy = os.sched_getscheduler(0)
    return f"scheduling policy {kinds.get(policy, policy)}, nice {os.getpriority(os.PRIO_PROCESS, 0)}"


def children_cpu_s() -> float:
    """Return the CPU seconds of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def not_run(error: Exception) -> str:
    """The cell of a program that could not be run."""
    return f"not run: {str(error).splitlines()[0]}"


def arguments(sample: Sample, sleep_us: int | str | None = None) -> list[str]:
    """A sample's program and arguments; its computations sleep for so many microseconds each."""
    asleep = [] if sleep_us is None else ["--sleep-us", str(sleep_us)]
    return [str(SAMPLES / sample.source), *sample.arguments, *asleep]


def equal_arguments(sample: Sample, sleep_us: int) -> tuple[list[str], dict[str, str]]:
    """The same with an environment that has the time: runs of different times have the same arguments."""
    return arguments(sample, "$SLEEP_US"), {"SLEEP_US": str(sleep_us)}


def app_s(
    mpi: Mpi, nprocs: int, argv: Sequence[str], folder: Path, env: Mapping[str, str] = NO_VARIABLES
) -> float:
    """Seconds of the untraced program."""
    result = folder / "seconds"
    command: list[Argument] = [str(mpi.python), TIMED, result, *argv]
    mpirun(mpi, nprocs, command, env=ONE_THREAD | dict(env), cwd=folder, timeout=300).check()
    return float(result.read_text())


def median_app_s(
    mpi: Mpi,
    nprocs: int,
    argv: Sequence[str],
    folder: Path,
    times: int,
    env: Mapping[str, str] = NO_VARIABLES,
) -> float:
    """Median seconds of untraced runs."""
    return statistics.median(app_s(mpi, nprocs, argv, folder, env) for _ in range(times))


@dataclass(frozen=True)
class TimedRecording:
    """A trace, and the seconds that the recorded run took."""

    trace: Path
    run_s: float


def recorded(
    mpi: Mpi,
    nprocs: int,
    argv: Sequence[str],
    trace: Path,
    options: Sequence[str] = (),
    env: Mapping[str, str] = NO_VARIABLES,
) -> TimedRecording:
    """Record the program, which begins as it does when it is timed."""
    result = trace.with_suffix(".seconds")
    command = [str(mpi.python), str(TIMED), str(result), *argv]
    record(mpi, nprocs, command, trace, options=options, env=ONE_THREAD | dict(env), timeout=300).check()
    return TimedRecording(trace, float(result.read_text()))


def replayed(mpi: Mpi, nprocs: int, trace: Path, options: Sequence[Argument]) -> dict[str, Any]:
    """What a replay reports."""
    command = [*mpi.scalatrace(), "replay", trace, "--json", *options]
    done = mpirun(mpi, nprocs, command, cwd=trace.parent, timeout=300)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    return facts


Program = TypeVar("Program", bound=Sample)


def cases(chosen: Sequence[Program], ranks: Sequence[int]) -> Iterator[tuple[Program, int, Path]]:
    """Each program with each number of ranks that it runs on, and a folder that is there until the next."""
    for program in chosen:
        for nprocs in ranks:
            if accepts(program, nprocs):
                with tempfile.TemporaryDirectory() as folder:
                    yield program, nprocs, Path(folder)


def accepts(sample: Sample, nprocs: int) -> bool:
    """Whether a program runs on so many ranks; of those that are no workloads, all do."""
    return all(w.accepts(nprocs) for w in WORKLOADS if w.source == sample.source)


TARGET_S = 2.0
"""How long the programs are to run."""


ASLEEP = 0.9
"""The part of it that is computation."""


MAX_STEPS = 20_000


TRIAL_STEPS = 3


@dataclass(frozen=True)
class RunPace:
    """Steps of a run that lasts long enough, and microseconds asleep in each of its computations."""

    steps: int
    sleep_us: int


@dataclass(frozen=True)
class Pacing:
    """How long programs run: they compute for nine tenths of their time.

    Attributes:
        sleep_us: shortest sleep in place of a computation; 0: programs really compute.
        target_s: run time.
        longest_s: limit of the run time with the fewest steps. Where nine tenths of the time exceed it,
            computations sleep less, but `sleep_us` at least.
        few_ranks: trial runs have the fewest ranks on which the program runs anyway. The time without
            sleep then counts as proportional to the ranks, which share the cores.
    """

    sleep_us: int = SLEEP_US
    target_s: float = TARGET_S
    longest_s: float = math.inf
    few_ranks: bool = False

    def pace(
        self, mpi: Mpi, of_steps: Callable[[int], Sample], ranks: Sequence[int], folder: Path
    ) -> RunPace:
        """Return the pace on the most ranks, tried with a few steps of the sample `of_steps` makes."""
        nprocs, asleep = max(ranks), self.sleep_us
        trial_ranks = min(ranks) if self.sleep_us and self.few_ranks else nprocs
        sample = of_steps(TRIAL_STEPS)
        trial_s = app_s(mpi, trial_ranks, arguments(sample, asleep), folder)
        if not self.sleep_us:  # the first steps may be slow ones
            steps = self._steps(TRIAL_STEPS, trial_s)
            again_s = app_s(mpi, nprocs, arguments(of_steps(steps), 0), folder)
            return RunPace(self._steps(steps, again_s), 0)
        bare_s = app_s(mpi, trial_ranks, arguments(sample, 0), folder)
        slept_s = max(trial_s - bare_s, trial_s / 10)
        bare_s *= nprocs / trial_ranks
        factor = max(1.0, min(ASLEEP / (1 - ASLEEP) * bare_s, self.longest_s - bare_s) / slept_s)
        asleep = int(round(asleep * factor, -4))
        return RunPace(self._steps(TRIAL_STEPS, slept_s * factor + bare_s), asleep)

    def _steps(self, steps: int, seconds: float) -> int:
        return min(MAX_STEPS, max(TRIAL_STEPS, round(steps * self.target_s / seconds)))


@dataclass(frozen=True)
class RunSizes:
    """Bytes and number of events of one recorded run."""

    calls: int
    trace: int
    log: int
    gzipped: int


def measure_sizes(trace: Path, logs: Path, gzip_level: int = 6) -> RunSizes:
    """Sizes of a trace and of the folder of its plain logs, in bytes."""
    files = sorted(logs.glob("rank-*.log"))
    return RunSizes(
        calls=sum(_events(file) for file in files),
        trace=trace.stat().st_size,
        log=sum(file.stat().st_size for file in files),
        gzipped=_gzipped(files, gzip_level),
    )


def _events(log: Path) -> int:
    """The number in a log's closing line, `# end N events`."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 100))
        words = stream.read().split(b"\n")[-2].split()
    if words[:2] != [b"#", b"end"]:
        raise ValueError(f"{log}: no closing line")
    return int(words[2])


def _gzipped(files: list[Path], level: int) -> int:
    """Bytes of all logs, one after the other, through gzip; none of them is held in memory."""
    cat = subprocess.Popen(["cat", *files], stdout=subprocess.PIPE)
    gzip = subprocess.Popen(["gzip", f"-{level}", "-c"], stdin=cat.stdout, stdout=subprocess.PIPE)
    stream = gzip.stdout
    assert stream is not None
    total = sum(len(block) for block in iter(lambda: stream.read(1 << 16), b""))
    if cat.wait() or gzip.wait():
        raise OSError("cat or gzip failed")
    return total
