"""Workloads whose run time varies: in each interval, all ranks compute between two barriers.

    mpiexec -n 8 scalatrace record -o ftq.st -- python samples/variability.py ftq --halo --times ftq.csv

Size: any number of ranks; --size N (rows of a matrix, or points squared), --steps intervals (50).
Workloads (Dominguez-Trujillo 2021, table 3.1):
    ftq    spin for a normally distributed time (--mean-us, --deviation as a part of it; --sleep: asleep)
    fwq    a normally distributed number of integer additions (--mean-us is only roughly its time)
    dgemm  multiply dense matrices of --size rows
    spmv   multiply the sparse matrix of a five-point stencil on --size squared points
--halo adds an exchange of --halo-bytes with the four neighbours of a periodic grid of ranks.
Expect: "correct" and status 0. Rank 0 writes each rank's seconds per interval to --times, for
`scalatrace variability --times`. The trace has per interval two barriers, the exchange and a reduction.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

import workload

Work = Callable[[], bool]
"""One computation; whether its result is right."""

ADDITIONS_PER_US = 20
"""Of a Python loop; only the mean of fwq depends on it."""


def ftq(args: argparse.Namespace, random: np.random.Generator) -> Work:
    """Spin, or sleep, for a normally distributed time."""

    def work() -> bool:
        seconds = max(0.0, random.normal(1, args.deviation)) * args.mean_us * 1e-6
        end = time.perf_counter() + seconds
        if args.sleep:
            time.sleep(seconds)
        while time.perf_counter() < end:
            pass
        return True

    return work


def fwq(args: argparse.Namespace, random: np.random.Generator) -> Work:
    """Add a normally distributed number of integers."""

    def work() -> bool:
        count = round(max(0.0, random.normal(1, args.deviation)) * args.mean_us * ADDITIONS_PER_US)
        total = 0
        for number in range(count):
            total += number
        return total == count * (count - 1) // 2

    return work


def dgemm(args: argparse.Namespace, random: np.random.Generator) -> Work:
    """Multiply two dense matrices --multiplications times."""
    left, right = (random.standard_normal((args.size, args.size)) for _ in range(2))
    row, expected = args.size // 2, left[args.size // 2] @ right

    def work() -> bool:
        for _ in range(args.multiplications):
            product = left @ right
        return bool(np.allclose(product[row], expected))

    return work


def spmv(args: argparse.Namespace, random: np.random.Generator) -> Work:
    """Multiply the matrix of the five-point stencil, in compressed rows, --multiplications times."""
    n = args.size
    index = np.arange(n * n).reshape(n, n)
    around = [np.roll(index, step, axis) for axis in (0, 1) for step in (-1, 1)]
    columns = np.stack([index, *around], axis=-1).ravel()
    values = np.tile(np.array([4.0, -1, -1, -1, -1]), n * n)
    starts = np.arange(0, 5 * n * n, 5)
    vector = random.standard_normal(n * n)
    grid = vector.reshape(n, n)
    expected = 4 * grid - sum(np.roll(grid, step, axis) for axis in (0, 1) for step in (-1, 1))

    def work() -> bool:
        for _ in range(args.multiplications):
            product = np.add.reduceat(values * vector[columns], starts)
        return bool(np.allclose(product, expected.ravel()))

    return work


WORKLOADS = {"ftq": ftq, "fwq": fwq, "dgemm": dgemm, "spmv": spmv}


class Halo:
    """An exchange with the four neighbours of a periodic grid of ranks."""

    def __init__(self, nbytes: int) -> None:
        dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 2)
        self.comm = MPI.COMM_WORLD.Create_cart(dims, periods=[True, True])
        self.peers = [peer for axis in (0, 1) for peer in self.comm.Shift(axis, 1)]
        self.out = [np.full(nbytes, self.comm.rank % 251, np.uint8) for _ in self.peers]
        self.into = [np.empty(nbytes, np.uint8) for _ in self.peers]

    def exchange(self) -> bool:
        """Send to and receive from each neighbour; whether all bytes came from the right one."""
        opposite = [1, 0, 3, 2]
        requests = [self.comm.Irecv(self.into[i], peer, opposite[i]) for i, peer in enumerate(self.peers)]
        requests += [self.comm.Isend(self.out[i], peer, i) for i, peer in enumerate(self.peers)]
        MPI.Request.Waitall(requests)
        return all(bool((data == peer % 251).all()) for data, peer in zip(self.into, self.peers, strict=True))


def measure(args: argparse.Namespace) -> tuple[bool, np.ndarray]:
    """Run all intervals; whether results are right, and this rank's seconds of each."""
    comm = MPI.COMM_WORLD
    work = WORKLOADS[args.workload](args, np.random.default_rng([args.seed, comm.rank]))
    halo = Halo(args.halo_bytes) if args.halo else None
    seconds, longest = np.zeros(args.steps), np.zeros(1)
    good = True
    for step in range(args.steps):
        comm.Barrier()
        start = MPI.Wtime()
        good &= work()
        if halo is not None:
            good &= halo.exchange()
        seconds[step] = MPI.Wtime() - start
        comm.Barrier()
        comm.Reduce(seconds[step : step + 1], longest, MPI.MAX, 0)
        good &= comm.rank != 0 or longest[0] >= seconds[step]
    return good, seconds


def write(path: Path, title: str, seconds: np.ndarray) -> None:
    """Write each rank's seconds per interval."""
    comm = MPI.COMM_WORLD
    every = np.empty((comm.size, len(seconds))) if comm.rank == 0 else None
    comm.Gather(seconds, every, 0)
    if every is not None:
        np.savetxt(path, every.T, fmt="%.9f", delimiter=",", header=title)


def main() -> int:
    """Parse the command line, run, write the times."""
    made = workload.parser("Workloads whose run time varies, between barriers", size=128, steps=50)
    made.add_argument("workload", choices=sorted(WORKLOADS))
    made.add_argument("--mean-us", type=float, default=1000.0, help="of ftq and fwq (1000)")
    made.add_argument("--deviation", type=float, default=0.1, help="of ftq and fwq, part of the mean (0.1)")
    made.add_argument("--sleep", action="store_true", help="ftq sleeps, so that ranks may share cores")
    made.add_argument("--multiplications", type=int, default=1, help="per interval of dgemm and spmv (1)")
    made.add_argument("--halo", action="store_true", help="exchange a halo in each interval")
    made.add_argument("--halo-bytes", type=int, default=1 << 20, help="to each neighbour (1 MiB)")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--times", type=Path, help="CSV file for each rank's seconds per interval")
    args = workload.parse(made)
    if min(args.multiplications, args.halo_bytes) < 1 or min(args.mean_us, args.deviation, args.seed) < 0:
        made.error("--multiplications and --halo-bytes must be 1 or more, the others 0 or more")
    good, seconds = measure(args)
    if args.times is not None:
        write(args.times, f"{args.workload}, {MPI.COMM_WORLD.size} ranks, s", seconds)
    return workload.finish(f"variability {args.workload}", args, good)


if __name__ == "__main__":
    sys.exit(main())
