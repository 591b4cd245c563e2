"""Compare replays with their programs and traces.

accuracy, real: the time of replays against the program's own (§3.4.2, Figure 5.8). A replay is compared with
the very run that its trace is of, since another run of the program takes another time, by as much as the
column *varies* says (from the shortest to the longest of the untraced runs, over the median).
speed: events per second of one pair of ranks, and the engine's part in it.
engines: C programs with many small messages, the workloads, and their replays by both engines.
seeds: many seeded replays of traces with histograms for sources, destinations and counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.running import (
    PROGRAMS,
    Pacing,
    app_s,
    arguments,
    cases,
    compile_c,
    median_app_s,
    not_run,
    recorded,
    replayed,
)
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import ResultTable, Row, errors_within, number, verdict
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record
from support.workloads import WORKLOADS, Workload

ACCURACY = (
    "program", "ranks", "computation", "steps", "app, s", "varies",
    "lossless, s", "error", "histograms, s", "error",
)  # fmt: skip
ACCURACY_LIMITS = {"lossless": 0.05, "histograms": 0.06}


def accuracy_rows(
    mpi: Mpi, chosen: Sequence[Workload], ranks: Sequence[int], pacing: Pacing, times: int
) -> Iterator[Row]:
    """A row per workload and number of ranks."""
    for workload, nprocs, folder in cases(chosen, ranks):
        try:
            yield _accuracy_row(mpi, workload, nprocs, pacing, times, folder)
        except (AssertionError, TimeoutError) as error:
            yield [workload.title, str(nprocs), "-", "-", not_run(error), *["-"] * 5]


def _accuracy_row(mpi: Mpi, workload: Workload, nprocs: int, pacing: Pacing, times: int, folder: Path) -> Row:
    of_steps = workload.of_steps if pacing.sleep_us else workload.of_much_computation
    pace = pacing.pace(mpi, of_steps, [nprocs], folder)
    argv = arguments(of_steps(pace.steps), pace.sleep_us)
    compute = ["--compute", "sleep" if pacing.sleep_us else "spin"]
    # All in turns, recordings too: a machine's speed drifts, and a trace holds that of one run.
    apps: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {"": [], "--histograms 1": []}
    for _ in range(times):
        apps.append(app_s(mpi, nprocs, argv, folder))
        for options, runs in pairs.items():
            recording = recorded(mpi, nprocs, argv, folder / "a.st", options.split())
            runs.append((recording.run_s, replayed(mpi, nprocs, recording.trace, compute)["wall_s"]))
    app = statistics.median(apps)
    kind = f"{pace.sleep_us / 1000:.0f} ms asleep" if pacing.sleep_us else "real"
    cells = [workload.title, str(nprocs), kind, str(pace.steps), f"{app:.3f}"]
    cells.append(f"{(max(apps) - min(apps)) / app:.1%}")
    for runs in pairs.values():
        error = statistics.median(replay / run - 1 for run, replay in runs)
        cells += [f"{statistics.median(replay for _, replay in runs):.3f}", f"{error:+.1%}"]
    return cells


def _accuracy(args: argparse.Namespace, name: str, title: str, pacing: Pacing) -> list[ResultTable]:
    rows = accuracy_rows(find_mpi(args.mpi), _workloads(args), args.ranks, pacing, args.repeat)

    def verdicts(rows: Sequence[Row]) -> list[str]:
        return errors_within(ACCURACY_LIMITS, rows, ACCURACY.index("lossless, s") + 1)

    return [ResultTable(name, title, ACCURACY, rows, 2, judge=verdicts)]


def _workloads(args: argparse.Namespace) -> list[Workload]:
    return choose(WORKLOADS, args.only, lambda workload: workload.title)


SPEED = (
    "messages", "computation, us", "events per rank", "program, events/s", "replay, events/s",
    "engine, us", "not hidden, us", "in MPI, us",
)  # fmt: skip
MIN_RATE = 150_000
COMPUTATIONS_US = (0, 20, 100)
MAX_LATE_US = 1
"""Time that computations of 20 us or more do not hide: a look at the clock, interrupts of a machine."""


def _speed_rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per pattern, without and with computation before each call."""
    mpi = find_mpi(args.mpi)
    for pattern, compute_us in product(("pingpong", "stream", "exchange"), COMPUTATIONS_US):
        argv = [str(PROGRAMS / "pair.py"), pattern, str(args.messages), "--compute-us", str(compute_us)]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            trace = recorded(mpi, 2, argv, folder / "a.st", ["--stacks", "none"]).trace
            app = median_app_s(mpi, 2, argv, folder, args.repeat)
            compute = ["--compute", "spin" if compute_us else "none"]
            runs = [replayed(mpi, 2, trace, compute) for _ in range(args.repeat)]
        facts = sorted(runs, key=lambda f: f["wall_s"])[len(runs) // 2]
        events = sum(facts["calls"].values()) / 2
        rates = [f"{events / app:,.0f}", f"{events / facts['wall_s']:,.0f}"]
        times_s = (facts["engine_s"], facts["late_s"], sum(facts["mpi_s"].values()) / 2)
        parts = [f"{time_s / events * 1e6:.2f}" for time_s in times_s]
        yield [pattern, str(compute_us), f"{events:,.0f}", *rates, *parts]


def _speed_verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether every pattern is fast enough, and the engine hidden."""
    rates = [number(row[4]) or 0 for row in rows if row[1] == "0"]
    late = [float(row[6]) for row in rows if row[1] != "0"]
    result = []
    if rates:
        middle = f"(median pattern {statistics.median(rates):,.0f})"
        result.append(verdict(min(rates) >= MIN_RATE, f"at least {MIN_RATE:,} events/s per rank {middle}"))
    if late:
        text = f"computation hides all of the engine but {MAX_LATE_US} us per event"
        result.append(verdict(max(late) <= MAX_LATE_US, text))
    return result


ENGINES = (
    "program", "ranks", "calls per rank", "program, s", "Python, s", "compiled, s", "compiled / program",
    "compiled, calls/s", "calls and bytes",
)  # fmt: skip
MAX_RATIO = 1.05
CORES = 2
"""Ranks that have cores of their own on the machine of the stored results."""

ENGINE_RANKS, WORKLOAD_STEPS = (2, 4), 10


@dataclass(frozen=True)
class EngineProgram:
    """A C program, and its arguments for a run of some tenths of a second."""

    source: Path
    arguments: tuple[str, ...]
    ranks: tuple[int, ...] = ENGINE_RANKS


ENGINE_PROGRAMS = (
    EngineProgram(PROGRAMS / "pair.c", ("200000",), (2,)),
    EngineProgram(SAMPLES / "wavefront.c", ("2000", "64", "8")),
    EngineProgram(SAMPLES / "conjgrad.c", ("1000", "64")),
    EngineProgram(SAMPLES / "heat.c", ("100000", "32")),
)


def _engine_rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per program and number of ranks; times are medians of runs, which take turns."""
    mpi, times = find_mpi(args.mpi), args.repeat
    for program in choose(ENGINE_PROGRAMS, args.only, lambda program: program.source.stem):
        for ranks in program.ranks:
            with tempfile.TemporaryDirectory() as folder:
                yield _c_row(mpi, times, program, ranks, Path(folder))
    for workload, ranks, own in cases(_workloads(args), ENGINE_RANKS):
        yield _workload_row(mpi, times, workload, ranks, own)


def _workload_row(mpi: Mpi, times: int, workload: Workload, ranks: int, folder: Path) -> Row:
    """The row of a workload, with a problem so small that the calls are what takes time."""
    argv = arguments(workload.of_steps(WORKLOAD_STEPS), 0)
    trace = recorded(mpi, ranks, argv, folder / "a.st").trace
    title = workload.title
    return _engine_row(mpi, times, title, ranks, lambda: trace, lambda: app_s(mpi, ranks, argv, folder))


def _c_row(mpi: Mpi, times: int, program: EngineProgram, ranks: int, folder: Path) -> Row:
    """The row of a C program, recorded anew in each turn, since the machine's speed changes.

    The timer is preloaded, since the machine code of another binary may have another speed.
    """
    trace, binary = folder / "a.st", compile_c(mpi, program.source, folder / "program")
    timer = compile_c(mpi, "timed.c", folder / "timer.so", "-fPIC", "-shared")

    def record_again() -> Path:
        record(mpi, ranks, [binary, *program.arguments], trace, timeout=300).check()
        return trace

    def program_s() -> float:
        command: list[Argument] = ["env", f"LD_PRELOAD={timer}", binary, *program.arguments]
        done = mpirun(mpi, ranks, command, cwd=folder, timeout=300).check()
        return float(done.stdout.rpartition("seconds ")[2])

    return _engine_row(mpi, times, program.source.name, ranks, record_again, program_s)


def _engine_row(
    mpi: Mpi,
    times: int,
    title: str,
    ranks: int,
    recorded_in: Callable[[], Path],
    program_s: Callable[[], float],
) -> Row:
    """The row of a program: `recorded_in` returns its trace and `program_s` the seconds of a run."""
    engines = {name: ["--verify", "--engine", name] for name in ("python", "compiled")}
    seconds: dict[str, list[float]] = {"program": [], "python": [], "compiled": []}
    unequal, ncalls = [], 0.0
    for _ in range(times):
        trace = recorded_in()
        try:
            replayed(mpi, ranks, trace, engines["compiled"])  # compiles
        except AssertionError as error:
            if "use --engine python" not in str(error):
                raise
            return [title, str(ranks), *["-"] * 6, "Python engine only"]
        seconds["program"].append(program_s())
        for name, options in engines.items():
            facts = replayed(mpi, ranks, trace, options)
            seconds[name].append(facts["wall_s"])
            unequal += facts["unequal"]
            ncalls = sum(facts["calls"].values()) / ranks
    program, python, compiled = (statistics.median(seconds[name]) for name in seconds)
    return [
        title, str(ranks), f"{ncalls:,.0f}", f"{program:.3f}", f"{python:.3f}", f"{compiled:.3f}",
        f"{compiled / program:.2f}", f"{ncalls / compiled:,.0f}", "differ" if unequal else "equal",
    ]  # fmt: skip


def _engine_verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether compiled replays take as long as their programs, and make the same calls."""
    rows = [row for row in rows if row[6] != "-"]
    ratios = [float(row[6]) for row in rows if int(row[1]) <= CORES and row[0].endswith(".c")]
    text = "C programs within 5 % where ranks have cores of their own"
    worst, equal = max(ratios, default=0.0), all(row[8] == "equal" for row in rows)
    fast = [verdict(worst <= MAX_RATIO, f"{text} (at most {worst:.2f} times the program)")]
    return [*(fast if ratios else []), verdict(equal, "calls and bytes of both engines are the trace's")]


SEEDS = ("program", "ranks", "replays", "hung or failed", "differ", "messages", "most time, s")
SEED_RANKS, SEED_STEPS = 4, 10


def _seed_rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi, times = find_mpi(args.mpi), args.repeat
    for workload in _workloads(args):
        with tempfile.TemporaryDirectory() as folder:
            argv = arguments(workload.of_steps(SEED_STEPS), 0)
            trace = recorded(mpi, SEED_RANKS, argv, Path(folder, "a.st"), ["--histograms", "1"]).trace
            command: list[Argument] = [str(mpi.python), PROGRAMS / "many.py", trace, str(times)]
            done = mpirun(mpi, SEED_RANKS, command, cwd=trace.parent, timeout=60 + 5 * times)
        seeds = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        differ = sum(seed["unequal"] > 0 for seed in seeds)
        messages = max((seed["received"] for seed in seeds), default=0)
        longest_s = max((seed["wall_s"] for seed in seeds), default=0.0)
        counts = map(str, (SEED_RANKS, times, times - len(seeds), differ))
        yield [workload.title, *counts, f"{messages:,}", f"{longest_s:.2f}"]


def _seed_verdicts(rows: Sequence[Row]) -> list[str]:
    good = all(row[3] == row[4] == "0" for row in rows)
    return [verdict(good, "no replay hangs, fails or differs from its trace")]


CITED = "docs/guide/replay.md"
STUDIES = (
    Study(
        "replay-accuracy",
        "time of replays against the program's, lossless and from histograms, mostly sleeping",
        f"{CITED}, RESULTS.md (Figure 5.8)",
        lambda args: _accuracy(
            args, "replay_accuracy", "Replay time against the program's", Pacing(target_s=args.most_s)
        ),
        {"only": [], "ranks": [4, 9, 16], "repeat": 3, "most_s": 2.0, "mpi": "openmpi"},
        {"only": ["ep"], "ranks": [4], "repeat": 1, "most_s": 0.2},
    ),
    Study(
        "replay-real",
        "the same on two ranks with the programs' own computation",
        CITED,
        lambda args: _accuracy(
            args, "replay_real", "Replay time, with computation of its own", Pacing(0, args.most_s)
        ),
        {"only": [], "ranks": [2], "repeat": 3, "most_s": 2.0, "mpi": "openmpi"},
        {"only": ["ep"], "repeat": 1, "most_s": 0.2},
    ),
    Study(
        "replay-speed",
        "events per second of replays of small messages, one pair of ranks; engine time that is not hidden",
        CITED,
        one_table(
            "replay_speed", "Replays of small messages, two ranks", SPEED, _speed_rows, 2,
            judge=_speed_verdicts,
        ),
        {"messages": 50_000, "repeat": 3, "mpi": "openmpi"},
        {"messages": 200, "repeat": 1},
    ),
    Study(
        "replay-engines",
        "C programs with many small messages, the workloads, and their replays by both engines",
        CITED,
        one_table(
            "replay_engines", "Replays of programs with small messages", ENGINES, _engine_rows, 2,
            judge=_engine_verdicts,
        ),
        {"only": [], "repeat": 3, "mpi": "openmpi"},
        {"only": ["ep"], "repeat": 1},
    ),
    Study(
        "replay-seeds",
        "100 seeded replays of each workload's trace with histograms",
        CITED,
        one_table(
            "replay_seeds", "Replays of traces with histograms", SEEDS, _seed_rows, 2,
            judge=_seed_verdicts,
        ),
        {"only": [], "repeat": 100, "mpi": "openmpi"},
        {"only": ["is"], "repeat": 3},
    ),
)  # fmt: skip
