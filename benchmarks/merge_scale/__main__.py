"""The inter-node merge without the machine: queues of up to 65,536 ranks, merged in one process.

python -m benchmarks.merge_scale [--ranks 1024 65536] [--only stencil2d] [--keep]

Each rank's queue is what its program would have left (loops of 20 steps, an Allreduce). Ranks are merged
along the radix tree. A merge is what a parent and a child do in MPI_Finalize: the child packs its core, the
parent unpacks and unites it. Only that is timed, in CPU seconds. Every rank has a process of its own, so what
making a queue does to the caches, and freeing one to the heap, is kept out of it as far as one process can:
that is done for some ranks at a time. Merges are called from C (tree.c), as the shim does.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

from benchmarks.merge_scale.programs import PROGRAMS
from benchmarks.merge_scale.tree import Driver, Merger
from benchmarks.table import grouped, keep, show

TITLE = "Merging synthetic ranks in one process"
COLUMNS = ("program", "ranks", "merges, s", "most memory, MB", "trace, bytes")
ROUNDS = ("program", "round", "merges", "median, us", "message, bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1024, 65536], help="powers of two")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/merge_scale.md")
    args = parser.parse_args()
    if any(n < 2 or n & (n - 1) for n in args.ranks):
        parser.error("--ranks must be powers of two")
    lines, rounds = [], []
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(Path(folder))
        for name in (p for p in PROGRAMS if args.only in p):
            for nprocs in args.ranks:
                print(f"{name}: {nprocs} ranks", file=sys.stderr, flush=True)
                merger = Merger(driver, PROGRAMS[name], nprocs)
                nbytes = merger.run()
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                lines.append([name, grouped(nprocs), f"{merger.seconds:.2f}", *map(grouped, (peak, nbytes))])
                if nprocs == max(args.ranks):
                    rounds += merger.rounds(name)
    show(TITLE, COLUMNS, lines)
    show("Per round", ROUNDS, rounds)
    if args.keep:
        keep("merge_scale", TITLE, COLUMNS, lines)
        keep("merge_rounds", "Merging, per round", ROUNDS, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
