"""Lines of generated programs, compared with events, ranks, time steps and the application's lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.generate.programs import LANGUAGES, NotMadeError, benchmark, command, traced
from benchmarks.table import grouped
from support.mpis import Mpi
from support.programs import SAMPLES
from support.workloads import Workload

COLUMNS = ("program", "its lines", "ranks", "steps", "events", "nodes", "c", "python", "conceptual")
STEPS = (10, 100)


def lines(
    mpi: Mpi, chosen: Sequence[Workload], ranks: Sequence[int], steps: Sequence[int] = STEPS
) -> Iterator[list[str]]:
    """A row per workload, number of ranks and of time steps; of C and Python: the function, and the file."""
    for workload, nprocs, folder in cases(chosen, ranks):
        for n in steps:
            own = folder / str(n)
            own.mkdir()
            yield _line(mpi, workload, nprocs, n, own)


def _line(mpi: Mpi, workload: Workload, nprocs: int, steps: int, folder: Path) -> list[str]:
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


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
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
