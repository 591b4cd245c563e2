"""Compare replays with their programs and traces.

python -m benchmarks.replay accuracy [--only lu mg] [--ranks 4 9 16] [--repeat 3] [--keep]
python -m benchmarks.replay real     the same with the programs' own computation, on two ranks
python -m benchmarks.replay speed    events per second of one pair of ranks, and the engine's part in it
python -m benchmarks.replay engines  programs with small messages, and both engines on 2 and 4 ranks
python -m benchmarks.replay seeds    100 replays of each trace with histograms
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from benchmarks.replay import accuracy, engines, seeds, speed
from benchmarks.result_table import table_of
from support.mpis import Mpi, installed
from support.workloads import WORKLOADS, Workload

SLEEP_US = 20_000


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("accuracy", "real", "speed", "engines", "seeds"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the workloads or programs")
    parser.add_argument("--ranks", nargs="+", type=int, default=[4, 9, 16])
    parser.add_argument("--repeat", type=int, help="default: 3; seeds: 100")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/replay_<what>.md")
    args = parser.parse_args()
    mpi = installed()[args.mpi]
    chosen = [w for w in WORKLOADS if not args.only or w.title in args.only]
    module, title, lines = {
        "accuracy": (accuracy, "Replay time against the program's", _accuracy),
        "real": (accuracy, "Replay time, with computation of its own", _real),
        "speed": (speed, "Replays of small messages, two ranks", _speed),
        "engines": (engines, "Replays of programs with small messages", _engines),
        "seeds": (seeds, "Replays of traces with histograms", _seeds),
    }[args.what]
    return table_of(f"replay_{args.what}", title, module, 2, args.keep).measure(lines(mpi, args, chosen))


def _accuracy(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[list[str]]:
    return accuracy.lines(mpi, chosen, args.ranks, SLEEP_US, args.repeat or 3)


def _real(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[list[str]]:
    return accuracy.lines(mpi, chosen, [2], 0, args.repeat or 3)


def _speed(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[list[str]]:
    return speed.lines(mpi, args.repeat or 3)


def _engines(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[list[str]]:
    return engines.lines(mpi, args.repeat or 3, args.only)


def _seeds(mpi: Mpi, args: argparse.Namespace, chosen: Sequence[Workload]) -> Iterator[list[str]]:
    return seeds.lines(mpi, chosen, args.repeat or 100)


sys.exit(main())
