"""Record applications; generate, compile, start and time the benchmarks of their traces."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from benchmarks.running import compile_c
from benchmarks.table import compared
from scalatrace import Trace, load
from scalatrace.codegen.generate import Benchmark, GenerateOptions, generate
from support.mpis import Mpi
from support.programs import COMPILED_SAMPLES, PYTHON_SAMPLES, Sample, Workshop
from support.running import Argument, mpirun, record, scalatrace
from support.workloads import WORKLOADS

LANGUAGES = ("c", "python", "conceptual")
STRICT = ("-O2", "-std=c11", "-Wall", "-Wextra", "-Werror")
LIMIT_S = 300
SUFFIXES = {"c": ".c", "python": ".py", "conceptual": ".ncptl"}


class NotMadeError(Exception):
    """A program that was not recorded, generated or run: why."""


def programs(only: list[str] | None, steps: int) -> list[Sample]:
    """All samples and workloads, or those whose names begin so."""
    every = [*PYTHON_SAMPLES, *COMPILED_SAMPLES, *(w.of_steps(steps) for w in WORKLOADS)]
    return [s for s in every if not only or any(_stem(s).startswith(name) for name in only)]


def _stem(sample: Sample) -> str:
    return Path(sample.source).stem


def _stop(why: str) -> None:
    raise NotMadeError(why)


def command(mpi: Mpi, sample: Sample, folder: Path) -> list[Argument]:
    """What mpiexec starts. Raises NotMadeError."""
    return Workshop(folder, _stop).command(mpi, sample)


def traced(mpi: Mpi, nprocs: int, argv: list[Argument], trace: Path) -> Trace:
    """The trace of a run. Raises NotMadeError."""
    checked("recording", lambda: record(mpi, nprocs, argv, trace, timeout=LIMIT_S).check())
    return load(trace)


def benchmark(trace: Trace, language: str, options: GenerateOptions | None = None) -> Benchmark:
    """The benchmark in a language. Raises NotMadeError."""
    try:
        return generate(trace, language, options)
    except Exception as error:
        raise NotMadeError(f"{type(error).__name__}: {error}".splitlines()[0]) from None


def checked(what: str, step: Callable[[], object]) -> None:
    """Run a step. Raises NotMadeError with its name and its output."""
    try:
        step()
    except (AssertionError, TimeoutError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise NotMadeError(f"{what}: {' '.join(lines[:3])[:200]}") from None


def started(mpi: Mpi, text: str, language: str, folder: Path, compiled: bool = False) -> list[Argument]:
    """What mpiexec starts; coNCePTuaL is interpreted unless `compiled`. Raises NotMadeError."""
    source = folder / f"bench{SUFFIXES[language]}"
    source.write_text(text)
    if language == "python":
        return [str(mpi.python), source]
    if language == "conceptual":
        if not compiled:
            return [*mpi.scalatrace(), "ncptl", "run", source]
        translated = folder / "bench_ncptl.c"
        checked(
            "ncptl compile", lambda: scalatrace(mpi, "ncptl", "compile", source, "-o", translated).check()
        )
        source = translated
    binary, strict = source.with_suffix(""), STRICT if language == "c" else ()
    checked("compiling", lambda: compile_c(mpi, source, binary, *strict))
    return [binary]


def seconds(
    mpi: Mpi,
    nprocs: int,
    text: str,
    language: str,
    folder: Path,
    times: int,
    arguments: Sequence[str] = (),
) -> float:
    """Median seconds of a benchmark's text in a language; coNCePTuaL is compiled. Raises NotMadeError."""
    argv = started(mpi, text, language, folder, compiled=True)
    more = ["--sleep"] if language != "conceptual" else []
    command = [*argv, *more, *arguments]
    return statistics.median(_once(mpi, nprocs, command, folder) for _ in range(times))


def _once(mpi: Mpi, nprocs: int, argv: Sequence[Argument], folder: Path) -> float:
    for log in folder.glob("*.log"):
        log.unlink()
    try:
        shown = mpirun(mpi, nprocs, argv, cwd=folder, timeout=LIMIT_S).check().stdout
    except (AssertionError, TimeoutError) as error:
        print(error, file=sys.stderr)
        raise NotMadeError("failed") from None
    return printed_seconds(shown, folder)


def printed_seconds(shown: str, folder: Path) -> float:
    """The time that a benchmark printed, or that coNCePTuaL logged in a folder. Raises NotMadeError."""
    logged = "".join(log.read_text() for log in folder.glob("*-0.log"))
    found = re.findall(r"^([\d.]+) s$", shown, re.MULTILINE) or re.findall(
        r'^"Seconds"\n.*\n([\d.e+-]+)$', logged, re.MULTILINE
    )
    if not found:
        raise NotMadeError("the benchmark does not say how long it took")
    return float(found[-1])


def language_cells(languages: Collection[str], app_s: float, measure: Callable[[str], float]) -> list[str]:
    """Two cells per language: seconds of its benchmark, and the error against the application's.

    Dashes for the languages that are not in `languages`; the reason and a dash where `measure` fails.
    """
    cells: list[str] = []
    for language in LANGUAGES:
        if language not in languages:
            cells += ["-", "-"]
            continue
        try:
            cells += compared(measure(language), app_s)
        except NotMadeError as error:
            cells += [str(error)[:60], "-"]
    return cells
