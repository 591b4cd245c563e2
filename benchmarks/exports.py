"""Size and speed of exports, of traces of yours.

    python -m benchmarks.exports FILE... [--only goal csv] [--keep]

Each export is one process. "calls/s" counts CPU seconds from the loaded trace to the written output, the
resolution of receives from any source excepted; "MB" is the peak memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import scalatrace
from benchmarks.table import keep, printed, show
from scalatrace.codegen.matching import resolve_wildcards
from scalatrace.predict.export.formats import FORMATS, Selection, export, size_of

COLUMNS = ["trace", "format", "ranks", "calls", "bytes", "bytes/call", "calls/s", "MB"]
NAMES = [name for name, form in FORMATS.items() if form.kind != "experiment"]


def measured(path: str, name: str) -> list[str]:
    """The row of one export."""
    trace = resolve_wildcards(scalatrace.load(path))
    calls = trace.nevents()
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "out")
        start = time.process_time()
        export(FORMATS[name], [trace], output, Selection())
        seconds = time.process_time() - start
        nbytes = size_of(output)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    numbers = (trace.nprocs, calls, nbytes, nbytes // calls, round(calls / seconds), memory)
    return [Path(path).stem, name, *(f"{number:,}" for number in numbers)]


def rows(paths: list[str], names: list[str]) -> Iterator[list[str]]:
    """A row per trace and format."""
    for path in paths:
        for name in names:
            with ProcessPoolExecutor(1) as process:
                yield process.submit(measured, path, name).result()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--keep", action="store_true", help="write results/exports.md")
    args = parser.parse_args()
    title, table = "Size and speed of exports", list(printed(rows(args.files, args.only)))
    show(title, COLUMNS, table)
    if args.keep:
        keep("exports", title, COLUMNS, table, "", "`python -m benchmarks.exports FILE...`, one run each.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
