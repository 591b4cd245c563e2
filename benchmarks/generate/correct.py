"""Record generated benchmarks and compare them with the application, event by event (§4.5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.generate.programs import NotMadeError, benchmark, command, started, traced
from benchmarks.table import grouped
from scalatrace import Trace
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.generate import Options
from scalatrace.codegen.matching import align_collectives, resolve_wildcards
from scalatrace.trace.query.diff import diff
from support.mpis import Mpi
from support.programs import Sample
from support.substituted import differing

COLUMNS = ("program", "ranks", "language", "lines", "events", "differing ranks", "note")


def lines(
    mpi: Mpi, chosen: Sequence[Sample], ranks: Sequence[int], languages: Sequence[str]
) -> Iterator[list[str]]:
    """A row per program, number of ranks and language."""
    for sample, nprocs, folder in cases(chosen, ranks):
        yield from _lines(mpi, sample, nprocs, languages, folder)


def _lines(
    mpi: Mpi, sample: Sample, nprocs: int, languages: Sequence[str], folder: Path
) -> Iterator[list[str]]:
    head = [sample.name, str(nprocs)]
    try:
        app = traced(mpi, nprocs, command(mpi, sample, folder), folder / "app.st")
    except NotMadeError as error:
        yield [*head, "-", "-", "-", "-", str(error)]
        return
    for language in languages:
        try:
            yield [*head, language, *_compared(mpi, app, language, folder)]
        except NotMadeError as error:
            yield [*head, language, "-", grouped(app.nevents()), "-", str(error)]


def _compared(mpi: Mpi, app: Trace, language: str, folder: Path) -> list[str]:
    """Lines of the benchmark, events, ranks that differ; computations take a hundredth of their time."""
    options = Options(EmitOptions(io_folder=str(folder / "io")), compute_scale=0.01)
    text = benchmark(app, language, options).text
    again = traced(mpi, app.nprocs, started(mpi, text, language, folder), folder / f"{language}.st")
    if language == "conceptual":
        app = resolve_wildcards(align_collectives(app))
        ranks = differing(app, again)
        note = "after Table 4.1"
    else:
        names = ["filename"] if any(op.name == "File_open" for op in app.ops) else []
        ranks = sorted({d.rank for d in diff(app, again, ["callsites", "times", *names])})
        note = ""
    return [str(text.count("\n")), grouped(app.nevents()), str(len(ranks)), note]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether all are equal."""
    made = [row for row in rows if row[5] != "-"]
    wrong = [f"{row[0]} ({row[2]}, {row[1]})" for row in made if row[5] != "0"]
    missing = [f"{row[0]} ({row[2]}, {row[1]})" for row in rows if row[5] == "-"]
    word = "NO" if wrong else "yes"
    result = [f"{word}: {len(made) - len(wrong)} of {len(made)} benchmarks do what the application did"]
    if wrong:
        result[0] += f"; not: {', '.join(wrong)}"
    if missing:
        result.append(f"not made: {', '.join(missing)}")
    return result
