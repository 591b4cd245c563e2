"""Traces of the workloads over ranks and time steps: sizes, parts of the trace, lossless or not.

A second table has the bytes with each step of the compression switched on in turn (Figure 5.7).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from benchmarks.running import ONE_THREAD, RunSizes, arguments, measure_sizes
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row, grouped, number, verdict
from support.mpis import Mpi
from support.running import Argument, record, scalatrace
from support.workloads import WORKLOADS, Workload

KEYS = ("program", "ranks", "steps")
SHARES = ("times", "values", "ranklists", "call sites", "rest")
COLUMNS = (
    *KEYS,
    *("events", "trace", "plain log", "gzip -9", "bytes/event", "nodes", "unpacked"),
    *SHARES,
    "lossless",
)
NOTES = (
    "Sizes in bytes; *unpacked* is the trace before deflation, and the shares are shares of it: *times* all "
    "histograms, *values* parameters, arrays and trip counts, *rest* communicators, datatypes and header.",
)
PARTS = {"repeats": "values", "arrays": "values"}
"""Parts that `scalatrace info` tells apart and the table does not."""

MAX_CHECKED_BYTES = 2_000_000_000
"""Of a log: a check of a larger one takes as long as hundreds of runs."""


def _row(mpi: Mpi, workload: Workload, nprocs: int, steps: int, limit_s: float) -> Row:
    """Measure one run. Raises TimeoutError when something takes longer, AssertionError when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        run = [str(mpi.python), *arguments(workload.of_steps(steps))]
        options: list[Argument] = ["--flat-log", logs]
        record(mpi, nprocs, run, trace, options=options, env=ONE_THREAD, timeout=limit_s).check()
        sizes = measure_sizes(trace, logs, gzip_level=9)
        facts = json.loads(scalatrace(mpi, "info", "--json", trace, timeout=limit_s).check().stdout)
        checked = _lossless(mpi, trace, logs, sizes, limit_s)
    shares, payload = dict.fromkeys(SHARES, 0), sum(facts["payload_bytes"].values())
    for name, nbytes in facts["payload_bytes"].items():
        kind = PARTS.get(name, name)
        shares[kind if kind in shares else "rest"] += nbytes
    return [
        *(workload.title, str(nprocs), str(steps)),
        *map(grouped, (sizes.calls, sizes.trace, sizes.log, sizes.gzipped)),
        f"{sizes.trace / sizes.calls:.3g}",
        *map(grouped, (facts["nodes"], payload)),
        *(f"{100 * part / payload:.0f} %" for part in shares.values()),
        checked,
    ]


def _lossless(mpi: Mpi, trace: Path, logs: Path, sizes: RunSizes, limit_s: float) -> str:
    """Whether `verify` finds every call of every rank in the trace."""
    if sizes.log > MAX_CHECKED_BYTES:
        return "not checked"
    try:
        done = scalatrace(mpi, "verify", trace, logs, timeout=limit_s)
    except TimeoutError:
        return "not checked"
    return "yes" if done.returncode == 0 else "NO"


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    """A row per program, ranks and steps; after a run that took too long, more steps are not tried."""
    mpi, empty = find_mpi(), [NO_VALUE] * (len(COLUMNS) - 4)
    for nprocs, workload in product(args.ranks, choose(WORKLOADS, args.only, lambda w: w.title)):
        head, late = [workload.title, str(nprocs)], False
        if not workload.accepts(nprocs):
            yield [*head, NO_VALUE, NO_VALUE, *empty]
            continue
        for steps in sorted(args.steps):
            failure = "time limit"
            try:
                if not late:
                    yield _row(mpi, workload, nprocs, steps, args.limit)
                    continue
            except TimeoutError:
                late = True
            except AssertionError as error:  # the other rows are worth having
                print(f"{workload.title}, {nprocs} ranks, {steps} steps: {error}", file=sys.stderr)
                failure = "failed"
            yield [*head, str(steps), failure, *empty]


_TOLERANCE = ("--signature-tolerance", "20")
OPTIONS: dict[str, tuple[str, ...]] = {
    "neither": ("--no-loop-alignment", "--no-loop-agnostic-merge"),
    "loop-agnostic merge": ("--no-loop-alignment",),
    "loops by LCS": (),
    "signatures": _TOLERANCE,
    "histograms": (*_TOLERANCE, "--histograms", "8"),
}
"""Each has all that the ones before it have; the first two lossless steps can only be switched off."""

OPTION_NOTES = (
    "*neither*: loops of equal iterations, structures merged only where their loops agree. *loops by LCS* is "
    "the default and lossless, like those before it. *signatures*: call sites up to 20 lines apart are one. "
    "*histograms*: counts, sources, destinations and their arrays past 8 values.",
)


def option_line(mpi: Mpi, workload: Workload, nprocs: int, steps: int, limit_s: float) -> Row:
    """Record with every set of options; what went wrong stands in the cell."""
    cells = [_bytes(mpi, workload, nprocs, steps, options, limit_s) for options in OPTIONS.values()]
    return [workload.title, str(nprocs), str(steps), *cells]


def _bytes(
    mpi: Mpi, workload: Workload, nprocs: int, steps: int, options: tuple[str, ...], limit_s: float
) -> str:
    """Bytes of the trace of one run."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "a.st")
        run = [str(mpi.python), *arguments(workload.of_steps(steps))]
        try:
            record(mpi, nprocs, run, trace, options=options, env=ONE_THREAD, timeout=limit_s).check()
        except TimeoutError:
            return "time limit"
        except AssertionError:
            return "failed"
        return grouped(trace.stat().st_size) if trace.exists() else NO_VALUE


GROWING = ("is", "amr")
"""Programs with values without rules: a lossless trace keeps them all."""

SAME_NODES = ("bt", "cg", "ep", "ft", "lu", "sweep3d", "sp", "hpl")
MAX_SPREAD, MAX_GROWTH = 0.10, 3


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Judge every required property; nothing is said of one that nothing was measured for."""
    lines = [dict(zip(COLUMNS, row, strict=True)) for row in rows if number(row[3]) is not None]
    result = []
    for title in (workload.title for workload in WORKLOADS):
        mine = [line for line in lines if line["program"] == title]
        if title not in GROWING:
            worst, details = _spread(mine)
            text = f"{title}: size constant within {MAX_SPREAD:.0%}"
            result += _demand(worst <= MAX_SPREAD, text, details)
        if title in SAME_NODES:
            result += _demand(*_same_nodes(title, mine))
        if title == "mg":
            result += _demand(*_slow_growth(mine))
    wrong = [f"{line['program']}, {line['ranks']}" for line in lines if line["lossless"] == "NO"]
    checked = sum(line["lossless"] in ("yes", "NO") for line in lines)
    details = wrong or [f"{checked} of {len(lines)} runs checked"]
    return result + _demand(not wrong, "every trace is lossless", details if checked else [])


def _demand(holds: bool, text: str, details: Sequence[str]) -> list[str]:
    return [verdict(holds, f"{text} ({'; '.join(details)})")] if details else []


Lines = Sequence[Mapping[str, str]]


def _by(lines: Lines, group: str, within: str, value: str) -> Iterator[tuple[str, dict[int, float]]]:
    """For each value of a column, another column's numbers by those of a third one."""
    for key in sorted({line[group] for line in lines}, key=int):
        mine = [line for line in lines if line[group] == key]
        yield key, {int(line[within]): number(line[value]) or 0 for line in mine}


def _spread(lines: Lines) -> tuple[float, list[str]]:
    """The largest relative spread of sizes from 10 steps on, on the same ranks."""
    worst, details = 0.0, []
    for nprocs, traces in _by(lines, "ranks", "steps", "trace"):
        nbytes = [traces[steps] for steps in traces if steps >= 10]
        if len(nbytes) > 1:
            spread = max(nbytes) / min(nbytes) - 1
            worst = max(worst, spread)
            details.append(f"{nprocs} ranks {100 * spread:.0f} % up to {max(traces)} steps")
    return worst, details


def _same_nodes(title: str, lines: Lines) -> tuple[bool, str, list[str]]:
    """From 16 ranks on, for the same number of steps."""
    equal, details = True, []
    for steps, nodes in _by(lines, "steps", "ranks", "nodes"):
        many = {nprocs: n for nprocs, n in sorted(nodes.items()) if nprocs >= 16}
        if len(many) > 1:
            equal = equal and len(set(many.values())) == 1
            details.append(f"{steps} steps " + ", ".join(f"{n:.0f} on {p}" for p, n in many.items()))
    return equal, f"{title}: as many nodes on 64 ranks as on 16", details


def _slow_growth(lines: Lines) -> tuple[bool, str, list[str]]:
    by_steps = _by(lines, "steps", "ranks", "trace")
    growth = {steps: traces[64] / traces[8] for steps, traces in by_steps if {8, 64} <= set(traces)}
    details = [f"{times:.2f} with {steps} steps" for steps, times in growth.items()]
    holds = max(growth.values(), default=0) <= MAX_GROWTH
    return holds, f"mg: on 64 ranks at most {MAX_GROWTH} times as large as on 8", details


def _option_rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi, chosen = find_mpi(), choose(WORKLOADS, args.only, lambda w: w.title)
    for workload, nprocs, steps in product(chosen, args.ranks, args.steps):
        yield option_line(mpi, workload, nprocs, steps, args.limit)


STUDIES = (
    Study(
        "workloads",
        "the workloads of samples/ on 4 to 64 ranks: sizes, parts of the trace, nodes, lossless or not",
        "Makefile (bench-all)",
        one_table("workloads", "Traces of the workloads", COLUMNS, _rows, 3, NOTES, _verdicts),
        {"only": [], "ranks": [4, 8, 16, 36, 64], "steps": [10, 100, 1000], "limit": 120.0},
        {"only": ["ep"], "ranks": [4], "steps": [10]},
    ),
    Study(
        "workloads-options",
        "their traces with each step of the compression switched on in turn",
        "Makefile (bench-all), RESULTS.md (Figure 5.7)",
        one_table(
            "workloads_options",
            "Bytes of trace with the steps of the compression switched on in turn",
            (*KEYS, *OPTIONS),
            _option_rows,
            3,
            OPTION_NOTES,
        ),
        {"only": [], "ranks": [16], "steps": [10, 100], "limit": 120.0},
        {"only": ["ep"], "ranks": [4], "steps": [10]},
    ),
)
