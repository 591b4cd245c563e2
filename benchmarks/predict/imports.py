"""Traces of yours exported as GOAL schedules and Chakra traces and imported again, beside the originals.

Messages between ranks stay what they are; collectives become messages in GOAL. Both traces are simulated on
the same platform.
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.study import Study, one_table
from benchmarks.table import NO_VALUE, Row
from scalatrace import Trace, load
from scalatrace.convert.sources import convert
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.export.formats import FORMATS, ExportSelection, export
from scalatrace.predict.platform import read_platform

COLUMNS = (
    "trace", "ranks", "format", "exported bytes", "gzip", "imported trace, bytes", "calls", "calls/s",
    "peak MB", "simulated, imported / original",
)  # fmt: skip
KINDS = ("goal", "chakra")


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    for file in args.files:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                yield _row(Path(file), kind, Path(folder))


def _row(file: Path, kind: str, folder: Path) -> Row:
    trace, exported, imported = load(file), folder / kind, folder / "imported.st"
    cells = [file.stem, str(trace.nprocs), kind]
    try:
        export(FORMATS[kind], [trace], str(exported), ExportSelection())
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            seconds, memory_mb = pool.submit(_measure_import, str(exported), str(imported)).result()
        new = load(imported)
        ratio = _simulated_ns(new) / _simulated_ns(trace)
    except ScalatraceError as error:
        return (*cells, str(error)[:60], *[NO_VALUE] * (len(COLUMNS) - 4))
    parts = [exported] if exported.is_file() else sorted(exported.iterdir())
    content = b"".join(part.read_bytes() for part in parts)
    return (
        *cells, f"{len(content):,}", f"{len(gzip.compress(content)):,}", f"{imported.stat().st_size:,}",
        f"{new.nevents():,}", f"{new.nevents() / seconds:,.0f}", str(memory_mb), f"{ratio:.4f}",
    )  # fmt: skip


def _measure_import(source: str, target: str) -> tuple[float, int]:
    """Import; return seconds and the peak memory of this process, MB."""
    start = time.monotonic()
    convert(source, target)
    return time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _simulated_ns(trace: Trace) -> float:
    return Simulator(trace).run(read_platform("cluster")).time_ns


STUDIES = (
    Study(
        "imports",
        "traces of yours, exported as GOAL and Chakra and imported: bytes, calls/s, simulated times",
        "docs/guide/export.md (imports)",
        one_table("imports", "Schedules that are imported", COLUMNS, _rows, 3),
        {"files": None},
    ),
)
