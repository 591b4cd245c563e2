"""Figure 5.7: bytes of traces with the steps of the compression switched on in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.record.workloads import OPTIONS, option_line
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRow, NamedRows, bars
from benchmarks.reproduction.settings import Settings
from benchmarks.table import number
from support.mpis import Mpi
from support.workloads import WORKLOADS

NAMES = ("neither", "merge", "lcs", "signatures", "histograms")
"""The columns of OPTIONS in short."""
COLUMNS = ("program", "ranks", "steps", *(f"{name}_bytes" for name in NAMES))
TITLES = ("bt", "cg", "lu", "mg", "sp", "sweep3d", "ocean")
LIMIT_S = 300
SOURCE = "p. 90, §5.3.1"
_RANKS = "not in the text"
_DIFFERS = (
    "The dissertation compares with the previous ScalaTrace, on Fortran programs. Here *neither* is this "
    "recorder without both steps. It has elastic values nevertheless, so it is much smaller than the "
    "previous ScalaTrace, above all for SP. Ocean stands for POP. Only with 9 or more ranks are there inner "
    "ranks beside corners and borders, so traces of 4 ranks are smaller. "
    "*histograms* are made of values with more than 8 terms. Where no value has more, this trace is the one "
    "before, with the policy in its header."
)


def _measure(mpi: Mpi, settings: Settings) -> Iterator[Sequence[str]]:
    for workload in (w for w in WORKLOADS if w.title in TITLES and settings.chosen(w.title)):
        steps, more = settings.size_steps
        ranks = [next(filter(workload.accepts, group), 0) for group in settings.size_ranks]
        runs = [(nprocs, steps) for nprocs in ranks if nprocs]
        if workload.title == "ocean":
            runs += [(runs[-1][0], steps) for steps in more]
        for run in runs:
            yield option_line(mpi, workload, *run, LIMIT_S)


#: Program here and there, quantity, the dissertation's number; settings before and after the step.
_REDUCTIONS = (
    ("bt", "BT", "smaller by signatures", "22 % (mean)", "lcs", "signatures"),
    ("lu", "LU", "smaller by the merge", "28 %", "neither", "merge"),
    ("lu", "LU", "smaller by all steps", "43 %", "neither", "histograms"),
    ("sweep3d", "Sweep3D", "smaller by the merge", "41 %", "neither", "merge"),
    ("sweep3d", "Sweep3D", "smaller by all steps", "65 %", "neither", "histograms"),
    ("mg", "MG", "smaller, lossless", "orders of magnitude", "neither", "lcs"),
    ("sp", "SP", "smaller, lossless", "orders of magnitude", "neither", "lcs"),
)


def compare_sizes(rows: NamedRows) -> list[Comparison]:
    """Return how much each step of the compression saves."""
    first = [row for row in rows if row.get("steps") == rows[0].get("steps")]
    reductions = [
        Comparison(there, quantity, _RANKS, theirs, *_smaller(program, first, before, after))
        for program, there, quantity, theirs, before, after in _REDUCTIONS
    ]
    return [
        _constant("bt", first),
        _constant("cg", first),
        *reductions,
        Comparison("SP", "all steps, of the size before", _RANKS, "0.5 %", *_share("sp", first)),
        Comparison("POP", "times smaller by all steps", _RANKS, "48 to 351", *_times("ocean", first)),
        Comparison("POP", "more time steps (5.7h)", "64", "constant", *_over_steps(rows)),
    ]


def _of(program: str, rows: NamedRows) -> list[NamedRow]:
    """The rows of a program whose runs all succeeded."""
    return [row for row in rows if row["program"] == program and all(number(row[c]) for c in COLUMNS[3:])]


def _ranks(rows: Sequence[NamedRow]) -> str:
    return ", ".join(dict.fromkeys(row["ranks"] for row in rows)) or "-"


def _ratios(program: str, rows: NamedRows, above: str, below: str) -> tuple[str, list[float]]:
    """Ranks of the program's runs, and the least and largest ratio of two columns; none without runs."""
    mine = _of(program, rows)
    ratios = sorted(float(row[f"{above}_bytes"]) / float(row[f"{below}_bytes"]) for row in mine)
    return _ranks(mine), [ratios[0], ratios[-1]] if ratios else []


def _span(numbers: Sequence[float], form: str) -> str:
    """The numbers as text; one if they look the same, "-" for none."""
    return " to ".join(dict.fromkeys(map(form.format, numbers))) or "-"


def _percent(numbers: Sequence[float]) -> str:
    return f"{_span([round(x) for x in numbers], '{}')} %" if numbers else "-"


def _smaller(program: str, rows: NamedRows, before: str, after: str) -> tuple[str, str]:
    """Ranks, and the part of its former size by which the trace became smaller."""
    ranks, ratios = _ratios(program, rows, after, before)
    return ranks, _percent([100 - 100 * ratio for ratio in reversed(ratios)])


def _share(program: str, rows: NamedRows) -> tuple[str, str]:
    ranks, ratios = _ratios(program, rows, "histograms", "neither")
    return ranks, _percent([100 * ratio for ratio in ratios])


def _times(program: str, rows: NamedRows) -> tuple[str, str]:
    ranks, ratios = _ratios(program, rows, "neither", "histograms")
    return ranks, _span(ratios, "{:.1f}")


def _constant(program: str, rows: NamedRows) -> Comparison:
    """Size of the traces at the most ranks, relative to the fewest."""
    mine = sorted(_of(program, rows), key=lambda row: int(row["ranks"]))
    nbytes = [float(row["histograms_bytes"]) for row in mine]
    grown = f"x {nbytes[-1] / nbytes[0]:.2f}" if nbytes else "-"
    return Comparison(program.upper(), "all steps, more ranks", _RANKS, "constant", _ranks(mine), grown)


def _over_steps(rows: NamedRows) -> tuple[str, str]:
    """Ranks, and the lossless trace of ocean at the most steps, relative to the fewest."""
    mine = _of("ocean", rows)
    most = max((int(row["ranks"]) for row in mine if row.get("steps") != rows[0].get("steps")), default=0)
    mine = sorted((row for row in mine if int(row["ranks"]) == most), key=lambda row: int(row["steps"]))
    if len(mine) < 2:
        return "-", "-"
    grown = float(mine[-1]["lcs_bytes"]) / float(mine[0]["lcs_bytes"])
    return str(most), f"x {grown:.2f} for {mine[0]['steps']} to {mine[-1]['steps']} steps"


def _plot(rows: NamedRows, path: Path) -> None:
    columns = dict(zip(COLUMNS[3:], OPTIONS, strict=True))
    bars(path, rows, columns, "Trace sizes", "bytes", log=True, labels=("program", "ranks", "steps"))


SIZES = FigureStudy(
    "trace_sizes",
    COLUMNS,
    _measure,
    (
        Figure(
            "5.7",
            "Trace sizes",
            SOURCE,
            _DIFFERS,
            compare_sizes,
            plot=_plot,
            headline=(2, 3, 4, 9),
        ),
    ),
    nkeys=3,
)
