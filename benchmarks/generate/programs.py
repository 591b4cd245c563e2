"""Record applications; generate, compile and start the benchmarks of their traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scalatrace import Trace, load
from scalatrace.codegen.generate import Benchmark, Options, generate
from support.mpis import Mpi
from support.programs import COMPILED_SAMPLES, PYTHON_SAMPLES, Sample, Workshop
from support.running import Argument, record, run, scalatrace
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


def benchmark(trace: Trace, language: str, options: Options | None = None) -> Benchmark:
    """The benchmark in a language. Raises NotMadeError."""
    try:
        return generate(trace, language, options)
    except Exception as error:
        raise NotMadeError(f"{type(error).__name__}: {error}".splitlines()[0]) from None


def started(mpi: Mpi, text: str, language: str, folder: Path, compiled: bool = False) -> list[Argument]:
    """What mpiexec starts; coNCePTuaL is interpreted unless `compiled`. Raises NotMadeError."""
    source = folder / f"bench{SUFFIXES[language]}"
    source.write_text(text)
    if language == "python":
        return [str(mpi.python), source]
    if language == "conceptual":
        checked("check", lambda: scalatrace(mpi, "ncptl", "check", source).check())
        if not compiled:
            return [*mpi.scalatrace(), "ncptl", "run", source]
        translated = folder / "bench_ncptl.c"
        checked(
            "ncptl compile", lambda: scalatrace(mpi, "ncptl", "compile", source, "-o", translated).check()
        )
        source = translated
    binary = source.with_suffix("")
    strict = STRICT if language == "c" else ("-O2",)
    words: list[Argument] = [mpi.mpicc, *strict, "-o", binary, source, "-lm"]
    checked("compiling", lambda: run(words, env=mpi.environment(), timeout=LIMIT_S).check())
    return [binary]


def checked(what: str, step: Callable[[], object]) -> None:
    """Do a step; NotMadeError says what it was, and how it complained."""
    try:
        step()
    except (AssertionError, TimeoutError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise NotMadeError(f"{what}: {' '.join(lines[:3])[:200]}") from None
