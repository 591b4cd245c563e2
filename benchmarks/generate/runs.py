"""Run time of a generated benchmark, as it prints it."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from benchmarks.generate.programs import LANGUAGES, LIMIT_S, NotMadeError, started
from support.mpis import Mpi
from support.running import Argument, mpirun

__all__ = ["cells_of", "seconds"]


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


def cells_of(languages: Collection[str], app_s: float, measure: Callable[[str], float]) -> list[str]:
    """Two cells per language: seconds of its benchmark, and the error against the application's.

    Dashes for the languages that are not in `languages`; the reason and a dash where `measure` fails.
    """
    return [
        cell
        for language in LANGUAGES
        for cell in (_against(app_s, measure, language) if language in languages else ["-", "-"])
    ]


def _against(app_s: float, measure: Callable[[str], float], language: str) -> list[str]:
    try:
        spent = measure(language)
    except NotMadeError as error:
        return [str(error)[:60], "-"]
    return [f"{spent:.3f}", f"{(spent - app_s) / app_s:+.1%}"]


def _once(mpi: Mpi, nprocs: int, argv: Sequence[Argument], folder: Path) -> float:
    for log in folder.glob("*.log"):
        log.unlink()
    try:
        shown = mpirun(mpi, nprocs, argv, cwd=folder, timeout=LIMIT_S).check().stdout
    except (AssertionError, TimeoutError) as error:
        print(error, file=sys.stderr)
        raise NotMadeError("failed") from None
    logged = "".join(log.read_text() for log in folder.glob("*-0.log"))
    found = re.findall(r"^([\d.]+) s$", shown, re.MULTILINE) or re.findall(
        r'^"Seconds"\n.*\n([\d.e+-]+)$', logged, re.MULTILINE
    )
    if not found:
        raise NotMadeError("the benchmark does not say how long it took")
    return float(found[-1])
