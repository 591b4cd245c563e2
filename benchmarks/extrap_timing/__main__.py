"""Timing models against known functions of (n, P) with noise; the slowest rank against known distributions.

python -m benchmarks.extrap_timing [trends|runs|slowest ...] [--trials 200] [--only "p log p"] [--keep]

trends   each sample has its noise; the histograms are extrapolated to 4, 16 and 64 times the ranks
runs     each run as a whole is slower or faster too; the models get this variation as a number
slowest  the expected slowest rank, and how often bootstrap intervals contain it
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import table
from benchmarks.extrap_timing import slowest, trends


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", default=["trends", "runs", "slowest"])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/extrap_timing_<what>.md"
    )
    args = parser.parse_args()
    failed = 0
    for what in args.what:
        if what == "slowest":
            title, columns = "The slowest rank, from 64 ranks and 200 intervals", slowest.COLUMNS
            rows = list(slowest.lines(args.trials))
            found = slowest.verdicts(rows)
        elif what in ("trends", "runs"):
            between = what == "runs"
            title, columns = "Totals from known times", trends.COLUMNS
            title += ", whole runs noisy too" * between
            rows = list(trends.lines(args.trials, between, args.only))
            found = [] if between else trends.verdicts(rows)
        else:
            parser.error(f"there is no {what!r}: trends, runs, slowest")
        table.show(title, columns, rows)
        print(*found, sep="\n")
        failed |= any(line.startswith("NO") for line in found)
        if args.keep:
            below = [f"- {line}" for line in found]
            table.keep(f"extrap_timing_{what}", title, columns, rows, f"{args.trials} trials.", below=below)
    return int(failed)


sys.exit(main())
