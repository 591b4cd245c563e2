"""Many simulations: `scalatrace study` in several ways, beside one `scalatrace simulate` after the other."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import Row
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record, run

COLUMNS = ("way", "simulations", "s", "over one by one", "times equal")

FACTORS = ("0.25", "0.5", "1", "2")
NETWORKS = ("none", "loads", "flows")
PLATFORM = "cluster"


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "stencil2d.st"
        program = [str(mpi.python), str(SAMPLES / "stencil2d.py"), "--steps", str(args.steps)]
        record(mpi, 16, program, trace, timeout=300).check()
        seconds, times = _one_by_one(mpi, trace)
        yield "one simulate each", str(len(times)), f"{seconds:.1f}", "1.00", "-"
        for way, words, nranks in (
            ("study, 1 worker", ["--workers", "1"], 0),
            ("study, 2 workers", ["--workers", "2"], 0),
            ("study, 3 ranks of mpiexec", ["--workers", "mpi"], 3),
        ):
            took, found = _study(mpi, trace, words, nranks)
            yield way, str(len(found)), f"{took:.1f}", f"{took / seconds:.2f}", _equal(times, found)
        yield _resumed(mpi, trace, seconds, times)


def _one_by_one(mpi: Mpi, trace: Path) -> tuple[float, list[float]]:
    times, start = [], time.monotonic()
    for network, factor in product(NETWORKS, FACTORS):
        words = ["--platform", PLATFORM, "--network", network, "--compute-scale", factor]
        times.append(_facts(mpi, ["simulate", trace, *words])["time_ns"])
    return time.monotonic() - start, times


def _study(mpi: Mpi, trace: Path, words: Sequence[Argument], nranks: int = 0) -> tuple[float, list[float]]:
    """Return the seconds and the times of the settings, in the order of `_one_by_one`."""
    options = ["--platform", PLATFORM, "--network", *NETWORKS, "--factors", "compute=" + ",".join(FACTORS)]
    start = time.monotonic()
    facts = _facts(mpi, ["study", trace, *options, *words], nranks)
    return time.monotonic() - start, [row["time_ns"] for row in facts["rows"]]


def _resumed(mpi: Mpi, trace: Path, seconds: float, times: Sequence[float]) -> Row:
    """The file of a study loses its second half, as if the study had been interrupted."""
    kept = trace.with_name("study.jsonl")
    _study(mpi, trace, ["--workers", "1", "-o", kept])
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[: 1 + len(times) // 2]))
    took, found = _study(mpi, trace, ["--workers", "1", "-o", kept])
    return (
        "the second half, resumed",
        str(len(found)),
        f"{took:.1f}",
        f"{took / seconds:.2f}",
        _equal(times, found),
    )


def _facts(mpi: Mpi, words: Sequence[Argument], nranks: int = 0) -> dict[str, Any]:
    command = [*mpi.scalatrace(), *words, "--json"]
    done = mpirun(mpi, nranks, command, timeout=600) if nranks else run(command, timeout=600)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    return facts


def _equal(times: Sequence[float], found: Sequence[float]) -> str:
    return "yes" if list(times) == list(found) else "no"


def _judge(rows: Sequence[Row]) -> Sequence[str]:
    equal = all(row[-1] != "no" for row in rows)
    return [f"{'yes' if equal else 'NO'}: all ways give the same times, to the last digit"]


STUDIES = (
    Study(
        "simulate-study",
        "many simulations by `scalatrace study`: seconds, and whether times are those of `simulate`",
        "docs/guide/simulate.md (many simulations)",
        one_table("simulate_study", "Many simulations in one command", COLUMNS, _rows, judge=_judge),
        {"steps": 200},
        {"steps": 5},
    ),
)
