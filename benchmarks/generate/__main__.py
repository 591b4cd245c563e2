"""Compare generated benchmarks with the applications of their traces.

python -m benchmarks.generate correct [--only lu ring] [--ranks 4 16] [--steps 6] [--to c] [--keep]
python -m benchmarks.generate size [--only lu ft] [--ranks 4 16] [--keep]     at 10 and 100 time steps
python -m benchmarks.generate timing [--only lu ft] [--ranks 4 9 16] [--repeat 3] [--most-s 2] [--keep]
python -m benchmarks.generate scalable [--only lu ft] [--repeat 3] [--keep]    at other sizes than the traces'
python -m benchmarks.generate computation [--only bt] [--ranks 16] [--keep]    with shorter computation
python -m benchmarks.generate collectives [--only ft] [--ranks 4 16] [--plot ft.svg] [--keep]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.generate import collectives, computation, correct, scalable, size, timing
from benchmarks.generate.programs import LANGUAGES, programs
from benchmarks.replay.runs import Pacing
from benchmarks.result_table import table_of
from scalatrace.errors import UsageError
from scalatrace.report.curves import check_plot
from support.mpis import Mpi, installed
from support.workloads import WORKLOADS, Workload

SLEEP_US = 20_000


def main() -> int:
    """Measure, print, say whether what must hold does."""
    args = _parser().parse_args()
    if args.plot:
        try:
            check_plot(args.plot)
        except UsageError as error:
            print(error, file=sys.stderr)
            return 2
    mpi = installed()[args.mpi]
    module, title, nkeys, lines = {
        "correct": (correct, "Benchmarks against applications", 3, _correct),
        "size": (size, "Lines of generated programs", 4, _size),
        "timing": (timing, "Benchmark time against the application's", 2, _timing),
        "scalable": (scalable, "Scalable benchmarks' time at other sizes", 3, _scalable),
        "computation": (computation, "Benchmark time with shorter computation", 3, _computation),
        "collectives": (collectives, "Collectives and messages in their place", 2, _collectives),
    }[args.what]
    table = table_of(f"generate_{args.what}", title, module, nkeys, args.keep)
    status = table.measure(lines(mpi, args))
    if args.plot:
        collectives.draw([line.cells for line in table.lines], args.plot)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=("correct", "size", "timing", "scalable", "computation", "collectives")
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs, by how they begin")
    parser.add_argument("--ranks", nargs="+", type=int)
    parser.add_argument("--steps", type=int, default=6, help="time steps of the workloads")
    parser.add_argument("--to", nargs="+", choices=LANGUAGES, default=LANGUAGES, help="languages")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most-s", type=float, default=2.0, help="timing, scalable: of the application")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="collectives: .svg, .png or .pdf")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/generate_<what>.md")
    return parser


def _chosen(args: argparse.Namespace, usual: tuple[str, ...] = ()) -> list[Workload]:
    names = args.only or usual
    return [w for w in WORKLOADS if not names or w.title in names]


def _correct(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    return correct.lines(mpi, programs(args.only, args.steps), args.ranks or [4, 16], args.to)


def _size(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    return size.lines(mpi, _chosen(args), args.ranks or [4, 16])


def _timing(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    ranks = args.ranks or [4, 9, 16]
    return timing.lines(mpi, _chosen(args), ranks, SLEEP_US, args.repeat, args.most_s, args.to)


def _scalable(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    chosen = [case for case in scalable.CASES if not args.only or case.title in args.only]
    return scalable.lines(mpi, chosen, Pacing(SLEEP_US, args.most_s), args.repeat, args.to)


def _computation(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    chosen, ranks = _chosen(args, ("bt",)), args.ranks or [16]
    language = _one_language(args)
    return computation.lines(
        mpi, chosen, ranks, computation.SCALES, language, SLEEP_US, args.repeat, args.most_s
    )


def _collectives(mpi: Mpi, args: argparse.Namespace) -> Iterator[list[str]]:
    ranks = args.ranks or [4, 8, 16]
    language = _one_language(args)
    return collectives.lines(mpi, _chosen(args, ("ft",)), ranks, language, args.steps, args.repeat)


def _one_language(args: argparse.Namespace) -> str:
    return args.to[0] if len(args.to) == 1 else "conceptual"


if __name__ == "__main__":
    sys.exit(main())
