"""Benchmarks made of traces, against the applications.

python -m benchmarks.generate correct [--only lu ring] [--ranks 4 16] [--steps 6] [--to c python] [--keep]
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import table
from benchmarks.generate import correct
from benchmarks.generate.made import LANGUAGES, programs
from support.mpis import installed


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("correct",))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs, by how they begin")
    parser.add_argument("--ranks", nargs="+", type=int)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--to", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/generate_<what>.md")
    args = parser.parse_args()
    mpi, rows = installed()[args.mpi], []
    for row in correct.lines(mpi, programs(args.only, args.steps), args.ranks or [4, 16], args.to):
        print(*row, sep="  ", flush=True)
        rows.append(row)
    table.show("x", correct.COLUMNS, rows)
    print(*correct.verdicts(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
