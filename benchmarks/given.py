"""Tables with a row for each trace that is named on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.table import keep, show


def table_of_traces(
    doc: str | None, name: str, title: str, columns: Sequence[str], row: Callable[[Path], Iterable[str]]
) -> list[list[str]] | None:
    """Parse arguments, measure and print; keep results/NAME.md. None if an argument is no file."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--keep", action="store_true", help=f"write benchmarks/results/{name}.md")
    args = parser.parse_args()
    if missing := [str(trace) for trace in args.traces if not trace.is_file()]:
        print(f"no file {', '.join(missing)}", file=sys.stderr)
        return None
    rows = [list(row(trace)) for trace in args.traces]
    show(title, columns, rows)
    if args.keep:
        keep(name, title, columns, rows)
    return rows
