"""The inter-node merge without the machine: queues of up to 65,536 ranks, merged in one process.

python -m benchmarks.merge_scale [--ranks 1024 65536] [--only stencil2d] [--keep]

Each rank's queue is what its program would have left (loops of 20 steps, an Allreduce). Ranks are merged
along the radix tree. A merge is what a parent and a child do in MPI_Finalize: the child packs its core, the
parent unpacks and unites it. Only that is timed, in CPU seconds. Every rank has a process of its own, so what
making a queue in Python does to the caches, and freeing one to the heap, is kept out of it: that is done for
some ranks at a time.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.table import grouped, keep, show
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.tables import Kind

TITLE = "Merging synthetic ranks in one process"
COLUMNS = ("program", "ranks", "merges, s", "most memory, MB", "trace, bytes")
ROUNDS = ("program", "round", "merges", "median, us", "message, bytes")
P2P = (("count", Kind.INT), ("peer", Kind.PEER), ("tag", Kind.INT), ("comm", Kind.COMM))
SUM = (("count", Kind.INT), ("comm", Kind.COMM))
WAIT = (("requests", Kind.ARRAY),)
STEPS = 20
BATCH = 5
"""Rounds of the tree whose leaves are made at once."""

Neighbours = list[tuple[int, int]]
"""(peer, tag) of the messages sent; each is answered by one from the same peer."""


def _grid(rank: int, nprocs: int, ndims: int) -> tuple[list[int], list[int]]:
    """Return the sides of a grid and the rank's place in it, row-major; the sides are powers of two."""
    bits = nprocs.bit_length() - 1
    sides = [1 << (bits // ndims + (i < bits % ndims)) for i in range(ndims)]
    place, rest = [], rank
    for side in reversed(sides):
        place.insert(0, rest % side)
        rest //= side
    return sides, place


def _rank(sides: list[int], place: list[int]) -> int:
    number = 0
    for side, x in zip(sides, place, strict=True):
        number = number * side + x
    return number


def stencil(rank: int, nprocs: int, ndims: int) -> Neighbours:
    """Both neighbours in each dimension, where there is one."""
    sides, place = _grid(rank, nprocs, ndims)
    found = []
    for d in range(ndims):
        for step in (-1, 1):
            if 0 <= place[d] + step < sides[d]:
                there = [x + step * (i == d) for i, x in enumerate(place)]
                found.append((_rank(sides, there), 2 * d + (step > 0)))
    return found


def wavefront(core: Recorder) -> None:
    """Two sweeps over a 2-D grid: from west and north, to east and south, and back."""
    sides, place = _grid(core.rank, core.nprocs, 2)
    for _ in range(STEPS):
        for step in (-1, 1):
            for op, sign in (("Recv", step), ("Send", -step)):
                for d in (0, 1):
                    if 0 <= place[d] + sign < sides[d]:
                        there = [x + sign * (i == d) for i, x in enumerate(place)]
                        core.message(op, _rank(sides, there), d, f"sweep{step}{op}{d}")
    core.sum()


def butterfly(core: Recorder) -> None:
    """Partners at every power of two."""
    for _ in range(STEPS):
        for bit in range(core.nprocs.bit_length() - 1):
            core.message("Send", core.rank ^ (1 << bit), bit, "exchange")
            core.message("Recv", core.rank ^ (1 << bit), bit, "exchange2")
    core.sum()


def halo(ndims: int) -> Callable[[Recorder], None]:
    """Return the program of a stencil."""

    def program(core: Recorder) -> None:
        neighbours = stencil(core.rank, core.nprocs, ndims)
        for _ in range(STEPS):
            for op in ("Irecv", "Isend"):
                for peer, tag in neighbours:
                    core.message(op, peer, tag, op)
            core.wait(2 * len(neighbours))
        core.sum()

    return program


PROGRAMS: dict[str, Callable[[Recorder], None]] = {
    "stencil2d": halo(2),
    "stencil3d": halo(3),
    "wavefront": wavefront,
    "butterfly": butterfly,
}


class Recorder:
    """One rank's core; times are equal but for 5 % of noise."""

    def __init__(self, rank: int, nprocs: int) -> None:
        self.core, self.rank, self.nprocs = Core(rank, nprocs), rank, nprocs
        self._random = random.Random(rank)
        self._sites: dict[str, int] = {}
        for stat in ("compute_ns", "comm_ns"):
            self.core.define_stat(stat)
        if rank == 0:  # to tell all of them all members would take longer than the rest
            self.core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
        self._ops = {op: self.core.define_op(op, P2P) for op in ("Send", "Recv", "Isend", "Irecv")}
        self._wait = self.core.define_op("Waitall", WAIT)
        self._sum = self.core.define_op("Allreduce", SUM)

    def message(self, op: str, peer: int, tag: int, site: str) -> None:
        self._event(self._ops[op], [100, peer, tag, COMM_WORLD], site)

    def wait(self, nrequests: int) -> None:
        self._event(self._wait, [self.core.array(range(nrequests - 1, -1, -1))], "waitall")

    def sum(self) -> None:
        self._event(self._sum, [1, COMM_WORLD], "allreduce")
        self.core.finish()

    def _event(self, op: int, values: list[int], site: str) -> None:
        if site not in self._sites:
            self._sites[site] = self.core.define_signature([f"app.py:{site}", "app.py:1:<module>"])
        noise = 1 + 0.1 * (self._random.random() - 0.5)
        self.core.append(op, values, self._sites[site], self.rank, self.nprocs, [1e6 * noise, 1e4 * noise])


class Merger:
    """Merges depth first, so that only a batch of leaves and as many cores as the tree has rounds live."""

    def __init__(self, program: Callable[[Recorder], None], nprocs: int) -> None:
        self.program, self.nprocs = program, nprocs
        self.seconds: dict[int, list[float]] = defaultdict(list)
        self.nbytes: dict[int, list[int]] = defaultdict(list)

    def leaf(self, rank: int) -> Core:
        """Return the core of a rank whose program has run."""
        recorder = Recorder(rank, self.nprocs)
        self.program(recorder)
        return recorder.core

    def merge(self, parent: Core, child: Core, k: int) -> None:
        """Do a merge of round `k`, from 0."""
        start = time.thread_time()
        nbytes = parent.merge_core(child)
        self.seconds[k].append(time.thread_time() - start)
        self.nbytes[k].append(nbytes)

    def subtree(self, rank: int, rounds: int) -> Core:
        """Return the core of `rank` with all the children of so many rounds."""
        if rounds > BATCH:
            cores = [self.subtree(r, rounds - 1) for r in (rank, rank | 1 << rounds - 1)]
            self.merge(*cores, rounds - 1)
        else:
            cores = [self.leaf(rank + i) for i in range(1 << rounds)]
            for k in range(rounds):
                for parent, child in zip(cores[:: 2 << k], cores[1 << k :: 2 << k], strict=True):
                    self.merge(parent, child, k)
        for child in cores[1:]:
            child.close()
        bytearray(1 << 16)  # the C library joins the pieces now, not at a merge's first large request
        return cores[0]

    def run(self) -> int:
        """Merge all; the bytes of the trace."""
        core = self.subtree(0, (self.nprocs - 1).bit_length())
        with tempfile.TemporaryDirectory() as folder:
            core.write(Path(folder, "a.st"))
            core.close()
            return Path(folder, "a.st").stat().st_size

    def rounds(self, name: str) -> list[list[str]]:
        """The table's lines: one a round."""
        return [
            [name, *map(grouped, (k + 1, len(s), median(s) * 1e6, int(median(self.nbytes[k]))))]
            for k, s in sorted(self.seconds.items())
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1024, 65536], help="powers of two")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/merge_scale.md")
    args = parser.parse_args()
    if any(n < 2 or n & (n - 1) for n in args.ranks):
        parser.error("--ranks must be powers of two")
    lines, rounds = [], []
    for name in (p for p in PROGRAMS if args.only in p):
        for nprocs in args.ranks:
            print(f"{name}: {nprocs} ranks", file=sys.stderr, flush=True)
            merger = Merger(PROGRAMS[name], nprocs)
            nbytes = merger.run()
            total = sum(map(sum, merger.seconds.values()))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            lines.append([name, grouped(nprocs), f"{total:.2f}", *map(grouped, (peak, nbytes))])
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
