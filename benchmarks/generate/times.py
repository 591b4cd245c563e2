"""Times of generated benchmarks (Figures 4.8 to 4.10 and 4.13).

timing: against the application's. scalable: at sizes between and beyond those of the traces (§4.4.5).
computation: while the computation shrinks, communication unchanged. collectives: collectives against messages
between each pair of ranks, in the same benchmark.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generate.programs import (
    LANGUAGES,
    SUFFIXES,
    NotMadeError,
    benchmark,
    checked,
    command,
    language_cells,
    seconds,
    traced,
)
from benchmarks.running import (
    Pacing,
    RunPace,
    arguments,
    cases,
    equal_arguments,
    median_app_s,
    not_run,
    recorded,
)
from benchmarks.study import Study, choose, find_mpi
from benchmarks.table import Judge, ResultTable, Row, errors_within
from scalatrace import load
from scalatrace.codegen.generate import GenerateOptions
from scalatrace.trace.symbolic.grid import balanced
from support.mpis import Mpi
from support.programs import Sample
from support.running import scalatrace
from support.workloads import WORKLOADS, Workload

_LANGUAGES = ("app, s", "C, s", "error", "Python, s", "error", "coNCePTuaL, s", "error")
TIMING = ("program", "ranks", "asleep, ms", "steps", *_LANGUAGES)
TIMING_LIMITS = {"c": 0.05, "python": 0.08, "conceptual": 0.06}


def timing_rows(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    pacing: Pacing,
    times: int,
    languages: Collection[str] = LANGUAGES,
) -> Iterator[Row]:
    """A row per workload and number of ranks; computations sleep."""
    for workload, nprocs, folder in cases(chosen, ranks):
        try:
            yield _timing_row(mpi, workload, nprocs, pacing, times, languages, folder)
        except (AssertionError, TimeoutError) as error:
            yield [workload.title, str(nprocs), "-", "-", not_run(error), *["-"] * 6]


def _timing_row(
    mpi: Mpi,
    workload: Workload,
    nprocs: int,
    pacing: Pacing,
    times: int,
    languages: Collection[str],
    folder: Path,
) -> Row:
    pace = pacing.pace(mpi, workload.of_steps, [nprocs], folder)
    argv = arguments(workload.of_steps(pace.steps), pace.sleep_us)
    app = median_app_s(mpi, nprocs, argv, folder, times)
    trace = load(recorded(mpi, nprocs, argv, folder / "app.st").trace)

    def spent(language: str) -> float:
        return seconds(mpi, nprocs, benchmark(trace, language).text, language, folder, times)

    head = [workload.title, str(nprocs), f"{pace.sleep_us / 1000:.0f}", str(pace.steps), f"{app:.3f}"]
    return [*head, *language_cells(languages, app, spent)]


SCALABLE = ("program", "inputs", "ranks", "asleep, ms", "steps", *_LANGUAGES)
SCALABLE_LIMITS = dict.fromkeys(LANGUAGES, 0.06)


@dataclass(frozen=True)
class ScalableCase:
    """A program, the ranks of the traces that its benchmark is made of, and those that this runs on.

    Attributes:
        title: as the table calls it.
        source, options: in samples/; without time steps.
        n: problem size that its counts follow, noted as a parameter; 0: they follow none.
        weak: each rank computes as much whatever their number; else all together do.
        sides: dimensions of its grid of ranks.
    """

    title: str
    source: str
    options: tuple[str, ...]
    inputs: tuple[int, ...]
    targets: tuple[int, ...]
    n: int = 0
    weak: bool = False
    sides: int = 2

    def of_steps(self, steps: int) -> Sample:
        """The sample with so many time steps."""
        return Sample(self.source, (*self.options, "--steps", str(steps)))

    def noted(self) -> list[str]:
        """Options of the recorder."""
        return ["--param", f"n={self.n}"] if self.n else []

    def slept_us(self, pace: RunPace, nprocs: int) -> int:
        """How long a computation sleeps on so many ranks."""
        most = max(*self.inputs, *self.targets)
        return pace.sleep_us if self.weak else pace.sleep_us * most // nprocs

    def grid(self, nprocs: int) -> list[str]:
        """What tells a coNCePTuaL benchmark its sides."""
        sizes = balanced(nprocs, self.sides) if self.sides > 1 else ()
        return [word for name, size in zip("xyz", sizes, strict=False) for word in (f"--{name}", str(size))]


PLANES = (9, 12, 16, 25), (20, 30)
SQUARES = (16, 25, 49), (36, 64)
SCALABLE_CASES = (
    ScalableCase("bt", "npb/bt.py", ("--size", "16"), *SQUARES, n=16, weak=True),
    ScalableCase("sp", "npb/sp.py", ("--size", "16"), *SQUARES, n=16, weak=True),
    ScalableCase("ep", "npb/ep.py", ("--size", "32"), (4, 6, 12), (8, 24), sides=1),
    ScalableCase("ft", "npb/ft.py", ("--size", "48"), (4, 6, 9, 16), (12, 24), n=48),
    ScalableCase("lu", "npb/lu.py", ("--size", "8"), *PLANES, n=8),
    ScalableCase("sweep3d", "sweep3d.py", ("--size", "2"), *PLANES),
    ScalableCase("hpl", "hpl.py", ("--size", "2", "--pivots", "next"), (9, 16, 25, 36), (49,)),
)


def scalable_rows(
    mpi: Mpi,
    cases: Sequence[ScalableCase],
    pacing: Pacing,
    times: int,
    languages: Collection[str] = LANGUAGES,
) -> Iterator[Row]:
    """A row per program and number of ranks."""
    for case in cases:
        heads = [[case.title, ", ".join(map(str, case.inputs)), str(nprocs)] for nprocs in case.targets]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                pace = pacing.pace(mpi, case.of_steps, (*case.inputs, *case.targets), folder)
                model = _symbolic(mpi, case, pace, folder)
            except (AssertionError, TimeoutError, NotMadeError) as error:
                yield from ([*head, "-", "-", not_run(error), *["-"] * 6] for head in heads)
                continue
            texts = {language: _text(mpi, model, language) for language in languages}
            for head, nprocs in zip(heads, case.targets, strict=True):
                try:
                    yield [*head, *_scalable_cells(mpi, case, nprocs, pace, times, texts, folder)]
                except (AssertionError, TimeoutError) as error:
                    yield [*head, "-", "-", not_run(error), *["-"] * 6]


def _scalable_cells(
    mpi: Mpi,
    case: ScalableCase,
    nprocs: int,
    pace: RunPace,
    times: int,
    texts: Mapping[str, str | None],
    folder: Path,
) -> Row:
    slept_us = case.slept_us(pace, nprocs)
    argv, env = equal_arguments(case.of_steps(pace.steps), slept_us)
    app = median_app_s(mpi, nprocs, argv, folder, times, env)

    def spent(language: str) -> float:
        if (text := texts[language]) is None:
            raise NotMadeError("refused")
        words = case.grid(nprocs) if language == "conceptual" else []
        return seconds(mpi, nprocs, text, language, folder, times, words)

    cells = language_cells(texts, app, spent)
    return [f"{slept_us / 1000:.0f}", str(pace.steps), f"{app:.3f}", *cells]


def _symbolic(mpi: Mpi, case: ScalableCase, pace: RunPace, folder: Path) -> Path:
    """The symbolic trace of runs on the inputs' ranks. Raises NotMadeError, or as `recorded`."""
    traces, model = [], folder / "app.stx"
    for nprocs in case.inputs:
        argv, env = equal_arguments(case.of_steps(pace.steps), case.slept_us(pace, nprocs))
        traces.append(recorded(mpi, nprocs, argv, folder / f"{nprocs}.st", case.noted(), env).trace)
    checked("extrapolate", lambda: scalatrace(mpi, "extrapolate", *traces, "--symbolic", "-o", model).check())
    return model


def _text(mpi: Mpi, model: Path, language: str) -> str | None:
    """The benchmark as the command makes it; None when it refuses."""
    source = model.with_name(f"scalable{SUFFIXES[language]}")
    done = scalatrace(mpi, "generate", model, "--to", language, "-o", source)
    if done.returncode:
        print(done.stderr.strip())
        return None
    return source.read_text()


COMPUTATION = ("program", "ranks", "computation, %", "s", "of the original")
SCALES = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
"""Factors on the time of all computations; the first one is the original."""


def computation_rows(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    pacing: Pacing,
    times: int,
    scales: Sequence[float] = SCALES,
    language: str = "conceptual",
) -> Iterator[Row]:
    """A row per workload, number of ranks and factor on the time of all computations."""
    for workload, nprocs, folder in cases(chosen, ranks):
        head = [workload.title, str(nprocs)]
        try:
            pace = pacing.pace(mpi, workload.of_steps, [nprocs], folder)
            argv = arguments(workload.of_steps(pace.steps), pace.sleep_us)
            trace = load(recorded(mpi, nprocs, argv, folder / "app.st").trace)
            original = 0.0
            for scale in scales:
                text = benchmark(trace, language, GenerateOptions(compute_scale=scale)).text
                spent = seconds(mpi, nprocs, text, language, folder, times)
                original = original or spent
                yield [*head, f"{100 * scale:g}", f"{spent:.3f}", f"{spent / original:.1%}"]
        except (AssertionError, TimeoutError, NotMadeError) as error:
            yield [*head, "-", not_run(error), "-"]


def _computation_verdicts(rows: Sequence[Row]) -> list[str]:
    """The shortest time of each program and number of ranks, and its computation."""
    result = []
    for program, ranks in dict.fromkeys((row[0], row[1]) for row in rows):
        mine = [row for row in rows if row[:2] == [program, ranks] and row[4] != "-"]
        if mine:
            least = min(mine, key=lambda row: float(row[3]))
            result.append(
                f"{program}, {ranks} ranks: shortest with {least[2]} % computation: {least[4]} of the time"
            )
    return result


COLLECTIVES = ("program", "ranks", "collectives, s", "messages, s", "longer")


def collective_rows(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    steps: int,
    times: int,
    language: str = "conceptual",
) -> Iterator[Row]:
    """A row per workload and number of ranks: the recorded computation, both ways to communicate."""
    for workload, nprocs, folder in cases(chosen, ranks):
        head = [workload.title, str(nprocs)]
        try:
            trace = traced(mpi, nprocs, command(mpi, workload.of_steps(steps), folder), folder / "app.st")
            texts = [
                benchmark(trace, language, GenerateOptions(by_messages=way)).text for way in (False, True)
            ]
            native, messages = (seconds(mpi, nprocs, text, language, folder, times) for text in texts)
        except NotMadeError as error:
            yield [*head, str(error)[:60], "-", "-"]
            continue
        yield [*head, f"{native:.4f}", f"{messages:.4f}", f"{messages / native - 1:+.1%}"]


def _collective_verdicts(rows: Sequence[Row]) -> list[str]:
    """How much longer messages take, at the most ranks."""
    result = []
    for title in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == title and row[4] != "-"]
        if mine:
            most = max(mine, key=lambda row: int(row[1]))
            mean = statistics.fmean(float(row[4].rstrip("%")) for row in mine)
            result.append(f"{title}: {most[4]} at {most[1]} ranks, {mean:+.1f}% in the mean")
    return result


def _errors_within(limits: Mapping[str, float], columns: Row) -> Judge:
    return lambda rows: errors_within(limits, rows, columns.index("app, s") + 2)


def _chosen(args: argparse.Namespace) -> list[Workload]:
    return choose(WORKLOADS, args.only, lambda workload: workload.title)


def _timing(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi, pacing = find_mpi(args.mpi), Pacing(target_s=args.most_s)
    rows = timing_rows(mpi, _chosen(args), args.ranks, pacing, args.repeat, args.to)
    judge = _errors_within(TIMING_LIMITS, TIMING)
    yield ResultTable(
        "generate_timing", "Benchmark time against the application's", TIMING, rows, 2, judge=judge
    )


def _scalable(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi, pacing = find_mpi(args.mpi), Pacing(target_s=args.most_s)
    chosen = choose(SCALABLE_CASES, args.only, lambda case: case.title)
    rows = scalable_rows(mpi, chosen, pacing, args.repeat, args.to)
    judge = _errors_within(SCALABLE_LIMITS, SCALABLE)
    yield ResultTable(
        "generate_scalable", "Scalable benchmarks' time at other sizes", SCALABLE, rows, 3, judge=judge
    )


def _computation(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi, pacing = find_mpi(args.mpi), Pacing(target_s=args.most_s)
    rows = computation_rows(mpi, _chosen(args), args.ranks, pacing, args.repeat)
    title = "Benchmark time with shorter computation"
    yield ResultTable("generate_computation", title, COMPUTATION, rows, 3, judge=_computation_verdicts)


def _collectives(args: argparse.Namespace) -> Iterator[ResultTable]:
    rows = collective_rows(find_mpi(args.mpi), _chosen(args), args.ranks, args.steps, args.repeat)
    title = "Collectives and messages in their place"
    yield ResultTable("generate_collectives", title, COLLECTIVES, rows, 2, judge=_collective_verdicts)


CITED = "docs/guide/generate.md, RESULTS.md"
_COMMON = {"only": [], "repeat": 3, "most_s": 2.0, "mpi": "openmpi"}
_QUICK = {"only": ["ep"], "ranks": [4], "repeat": 1, "most_s": 0.2, "to": ["c"]}
STUDIES = (
    Study(
        "generate-timing",
        "time of generated programs against the application's, mostly sleeping",
        CITED,
        _timing,
        {**_COMMON, "ranks": [4, 9, 16], "to": list(LANGUAGES)},
        _QUICK,
    ),
    Study(
        "generate-scalable",
        "time of scalable programs at sizes between and beyond those of the traces",
        CITED,
        _scalable,
        {**_COMMON, "to": list(LANGUAGES)},
        _QUICK,
    ),
    Study(
        "generate-computation",
        "time of generated programs with shorter computation, communication unchanged",
        CITED,
        _computation,
        {**_COMMON, "only": ["bt"], "ranks": [16]},
        _QUICK,
    ),
    Study(
        "generate-collectives",
        "collectives against messages in their place",
        CITED,
        _collectives,
        {"only": ["ft"], "ranks": [4, 8, 16], "steps": 6, "repeat": 3, "mpi": "openmpi"},
        {"ranks": [4], "steps": 2, "repeat": 1},
    ),
)
