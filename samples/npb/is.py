"""Sorting of integers by buckets: the communication of NPB IS.

    mpiexec -n 16 scalatrace record -o is.st -- python samples/npb/is.py --steps 100

Size: any number of ranks up to 256; --size keys per rank (128), --steps sorts of new keys (50).
Expect: "correct" and status 0: in every step each rank gets just the keys of its buckets; after the last they
are sorted, the first is not below the last of the rank before, and no key is lost. Per step an Allreduce
of the buckets' sizes, an Alltoall of counts and an Alltoallv of keys. The keys are random, seeded by step and
rank: the counts of the Alltoallv differ from step to step and from rank to rank. A lossless trace must
keep them all and grows with the number of steps.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import workload

BUCKETS = 256
BUCKET_WIDTH = 8
TAG = 1


def make_keys(step: int, rank: int, size: int) -> np.ndarray:
    """Random keys that crowd around the middle: each is the mean of four numbers, as in NPB."""
    random = np.random.default_rng((step, rank))
    numbers = random.integers(0, BUCKETS * BUCKET_WIDTH, (4, size))
    return (numbers.sum(axis=0) // 4).astype(np.int32)


class BucketSort:
    """The keys of one step, and after `redistribute` those of this rank's buckets."""

    def __init__(self, comm: MPI.Comm, keys: np.ndarray) -> None:
        self.comm = comm
        self.start = keys
        self.keys = keys
        self.owner = np.zeros(BUCKETS, int)

    def redistribute(self) -> bool:
        """Give every rank the keys of its buckets; whether this rank got what it should."""
        bucket = self.start // BUCKET_WIDTH
        mine = np.bincount(bucket, minlength=BUCKETS).astype(np.int32)
        sizes = np.empty_like(mine)
        self.comm.Allreduce(mine, sizes, MPI.SUM)
        # Neighbouring buckets go to the same rank until it has its fair share.
        below = np.cumsum(sizes) - sizes
        self.owner = below * self.comm.size // sizes.sum()
        self.exchange(self.start[np.argsort(bucket)], self.owner[bucket])
        wanted = sizes[self.owner == self.comm.rank].sum()
        mine_only = np.all(self.owner[self.keys // BUCKET_WIDTH] == self.comm.rank)
        return len(self.keys) == wanted and bool(mine_only)

    def exchange(self, outgoing: np.ndarray, owner: np.ndarray) -> None:
        """Send the keys, which are in the order of their owners."""
        counts = np.bincount(owner, minlength=self.comm.size).astype(np.int32)
        expected = np.empty_like(counts)
        self.comm.Alltoall(counts, expected)
        self.keys = np.empty(expected.sum(), np.int32)
        self.comm.Alltoallv([outgoing, counts], [self.keys, expected])

    def full_verify(self) -> bool:
        """Sort this rank's keys and compare with the neighbour's; is everything in order on all ranks?"""
        keys = np.sort(self.keys)
        # A rank without keys stands in with the lower end of its empty range.
        lower = np.searchsorted(self.owner, self.comm.rank) * BUCKET_WIDTH
        ends = np.array([keys[0], keys[-1]] if len(keys) else [lower, lower], np.int32)
        before = np.zeros(1, np.int32)
        rank = self.comm.rank
        if rank > 0:
            request = self.comm.Irecv(before, rank - 1, TAG)
        if rank < self.comm.size - 1:
            self.comm.Send(ends[1:], rank + 1, TAG)
        if rank > 0:
            request.Wait()
        powers = np.arange(3)
        lost = (self.start[:, None] ** powers).sum(axis=0) - (keys[:, None] ** powers).sum(axis=0)
        everywhere = np.empty_like(lost)
        self.comm.Allreduce(lost, everywhere, MPI.SUM)
        return bool(before[0] <= ends[0] and not everywhere.any())


def main() -> int:
    args = workload.parse(workload.parser("sorting of integers by buckets, as NPB IS", 128, 50))
    world = MPI.COMM_WORLD
    if world.size > BUCKETS:
        return workload.refuse("is", f"at most {BUCKETS} ranks, one per bucket")
    good = True
    for step in range(args.steps):
        workload.compute(args)
        sort = BucketSort(world, make_keys(step, world.rank, args.size))
        good &= sort.redistribute()
    if args.steps:
        good &= sort.full_verify()
    return workload.finish("is", args, good)


if __name__ == "__main__":
    sys.exit(main())
