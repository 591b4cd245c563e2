"""Compare the calls of generated benchmarks with the application's (§4.5.2), and count their lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.generate.programs import (
    LANGUAGES,
    NotMadeError,
    benchmark,
    command,
    programs,
    started,
    traced,
)
from benchmarks.running import cases
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import Row, grouped, verdict
from scalatrace import Trace
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.generate import GenerateOptions
from scalatrace.codegen.matching import align_collectives, resolve_wildcards
from scalatrace.trace.query.diff import Difference, diff
from support.mpis import Mpi
from support.programs import SAMPLES, Sample
from support.substituted import differing
from support.workloads import WORKLOADS, Workload

CORRECT = ("program", "ranks", "language", "lines", "events", "differing ranks", "note")


def _correct_of(
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
    options = GenerateOptions(EmitOptions(io_folder=str(folder / "io")), compute_scale=0.01)
    text = benchmark(app, language, options).text
    again = traced(mpi, app.nprocs, started(mpi, text, language, folder), folder / f"{language}.st")
    if language == "conceptual":
        app = resolve_wildcards(align_collectives(app))
        ndiffering = len(differing(app, again))
        note = "after Table 4.1"
    else:
        names = ["filename"] if any(op.name == "File_open" for op in app.ops) else []
        ndiffering = _count_ranks(diff(app, again, ["callsites", "times", *names]), app.nprocs)
        note = ""
    return [str(text.count("\n")), grouped(app.nevents()), str(ndiffering), note]


def _count_ranks(differences: Sequence[Difference], nprocs: int) -> int:
    """Return the number of ranks that differ: all where the traces differ as a whole."""
    ranks = {difference.rank for difference in differences}
    return nprocs if None in ranks else len(ranks)


def _correct_rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per program, number of ranks and language."""
    mpi = find_mpi(args.mpi)
    for sample, nprocs, folder in cases(programs(args.only, args.steps), args.ranks):
        yield from _correct_of(mpi, sample, nprocs, args.to, folder)


def _correct_verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether all are equal."""

    def listed(rows: Sequence[Row]) -> str:
        return ", ".join(f"{row[0]} ({row[2]}, {row[1]})" for row in rows)

    made = [row for row in rows if row[5] != "-"]
    wrong = [row for row in made if row[5] != "0"]
    missing = [row for row in rows if row[5] == "-"]
    text = f"{len(made) - len(wrong)} of {len(made)} benchmarks do what the application did"
    result = [verdict(not wrong, text + (f"; not: {listed(wrong)}" if wrong else ""))]
    return result + ([f"not made: {listed(missing)}"] if missing else [])


SIZE = ("program", "its lines", "ranks", "steps", "events", "nodes", "c", "python", "conceptual")
SIZE_STEPS = (10, 100)


def _size_row(mpi: Mpi, workload: Workload, nprocs: int, steps: int, folder: Path) -> list[str]:
    head = [workload.title, str(_own_lines(workload)), str(nprocs), str(steps)]
    try:
        argv = command(mpi, workload.of_steps(steps), folder)
        trace = traced(mpi, nprocs, argv, folder / "app.st")
    except NotMadeError as error:
        return [*head, f"not recorded: {error}", "-", "-", "-", "-"]
    cells = []
    for language in LANGUAGES:
        try:
            cells.append(_lengths(benchmark(trace, language).text))
        except NotMadeError:
            cells.append("-")
    return [*head, grouped(trace.nevents()), str(trace.nnodes), *cells]


def _own_lines(workload: Workload) -> int:
    """Lines of the program's file that are not blank."""
    return sum(1 for line in (SAMPLES / workload.source).read_text().splitlines() if line.strip())


def _lengths(text: str) -> str:
    """Lines of what was the application, and of the whole file where a library goes with it."""
    rows = text.splitlines()
    for start, end in (("static void benchmark(void)", "}"), ("def benchmark():", "")):
        if start in rows:
            first = rows.index(start)
            return f"{rows.index(end, first) - first + 1} ({len(rows)})"
    return str(len(rows))


def _size_verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Programs grow only where the trace has grown."""
    result: list[str] = []
    for name, column in (("ranks", 2), ("time steps", 3)):
        grown, pairs = [], 0
        for a in rows:
            for b in rows:
                same = a[0] == b[0] and a[5 - column] == b[5 - column] and a[5] == b[5] != "-"
                if not same or int(a[column]) >= int(b[column]):
                    continue
                pairs += 1
                grown += [a[0]] if any(map(_more, a[6:], b[6:])) else []
        if not pairs:
            continue
        word = "NO" if grown else "yes"
        details = f": {', '.join(sorted(set(grown)))} did" if grown else ""
        result.append(
            f"{word}: no program grows with {name} where the trace does not ({pairs} pairs{details})"
        )
    return result


def _more(a: str, b: str) -> bool:
    return "-" not in (a, b) and int(b.split()[0]) > int(a.split()[0])


def _size_rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per workload, number of ranks and of time steps; of C and Python: the function, and the file."""
    mpi = find_mpi(args.mpi)
    for workload, nprocs, folder in cases(choose(WORKLOADS, args.only, lambda w: w.title), args.ranks):
        for steps in SIZE_STEPS:
            own = folder / str(steps)
            own.mkdir()
            yield _size_row(mpi, workload, nprocs, steps, own)


CITED = "docs/guide/generate.md"
STUDIES = (
    Study(
        "generate-correct",
        "generated programs of all samples and workloads, compared with the application, event by event",
        CITED,
        one_table(
            "generate_correct", "Benchmarks against applications", CORRECT, _correct_rows, 3,
            judge=_correct_verdicts,
        ),
        {"only": [], "ranks": [4, 16], "steps": 6, "to": list(LANGUAGES), "mpi": "openmpi"},
        {"only": ["ring"], "ranks": [4]},
    ),
    Study(
        "generate-size",
        "lines of generated programs, at 10 and 100 time steps",
        CITED,
        one_table(
            "generate_size", "Lines of generated programs", SIZE, _size_rows, 4,
            judge=_size_verdicts,
        ),
        {"only": [], "ranks": [4, 16], "mpi": "openmpi"},
        {"only": ["ep"], "ranks": [4]},
    ),
)  # fmt: skip
