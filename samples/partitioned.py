"""Effective bandwidth of partitioned communication: threads compute, each sends its part when it is ready.

    mpiexec -n 2 python samples/partitioned.py --threads 4 --bytes 1048576 --mean-us 2000 --deviation-us 200

Size: 2 ranks; --threads, --bytes of the whole buffer, --steps repetitions (10) after --warm-up ones (5).
Algorithm 2 of Dominguez-Trujillo (2021): on rank 0 each thread sleeps for a normally distributed time, and
marks its partition by MPI_Pready. The elapsed time is that from the end of the slowest thread to the end of
MPI_Wait; bytes over it are the effective bandwidth. --single sends one message after the slowest thread.
Expect: the medians of elapsed time and bandwidth, beside the end of the slowest thread, and status 0; every
byte is checked.
"""

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from mpi4py import MPI

TAG = 7


def compute(seconds: float) -> float:
    """Sleep; return when that ended."""
    time.sleep(seconds)
    return MPI.Wtime()


def send(args: argparse.Namespace, data: np.ndarray, seconds: np.ndarray, pool: ThreadPoolExecutor) -> tuple:
    """Compute and send on rank 0; return the seconds of the slowest thread and those after it."""
    comm, lock, start = MPI.COMM_WORLD, Lock(), MPI.Wtime()
    if args.single:
        last = max(pool.map(compute, seconds))
        comm.Send(data, 1, TAG)
        return last - start, MPI.Wtime() - last
    request = comm.Psend_init([data, len(data) // args.threads, MPI.BYTE], args.threads, 1, TAG)
    request.Start()

    def part(number: int) -> float:
        ready = compute(seconds[number])
        with lock:  # serves MPI_THREAD_SERIALIZED, too
            request.Pready(number)
        return ready

    last = max(pool.map(part, range(args.threads)))
    request.Wait()
    end = MPI.Wtime()
    request.Free()
    return last - start, end - last


def receive(args: argparse.Namespace, data: np.ndarray) -> None:
    """Receive on rank 1."""
    comm = MPI.COMM_WORLD
    if args.single:
        comm.Recv(data, 0, TAG)
        return
    request = comm.Precv_init([data, len(data) // args.threads, MPI.BYTE], args.threads, 0, TAG)
    request.Start()
    request.Wait()
    request.Free()


def run(args: argparse.Namespace) -> int:
    """Repeat, check, and print the medians; the exit status."""
    comm, random = MPI.COMM_WORLD, np.random.default_rng(args.seed)
    data = np.zeros(args.bytes, np.uint8)
    rows, good = [], True
    with ThreadPoolExecutor(args.threads) as pool:
        for step in range(args.warm_up + args.steps):
            seconds = np.maximum(random.normal(args.mean_us, args.deviation_us, args.threads), 0) * 1e-6
            if comm.rank == 0:
                data[:] = step % 251 + 1
            comm.Barrier()
            if comm.rank == 0:
                rows.append(send(args, data, seconds, pool))
            elif comm.rank == 1:
                receive(args, data)
                good = good and bool((data == step % 251 + 1).all())
    good = bool(comm.allreduce(good, MPI.LAND))
    if comm.rank == 0:
        slowest, elapsed = (statistics.median(column) for column in zip(*rows[args.warm_up :], strict=True))
        rate = args.bytes / elapsed / 1e6
        print(
            f"partitioned, {args.threads} threads, {args.bytes} B: slowest thread {slowest * 1e6:.1f} us, "
            f"elapsed {elapsed * 1e6:.1f} us, {rate:.1f} MB/s: {'correct' if good else 'WRONG'}"
        )
    return 0 if good else 1


def main() -> int:
    """Parse the command line and run."""
    made = argparse.ArgumentParser(description="Effective bandwidth of partitioned communication")
    made.add_argument("--threads", type=int, default=4)
    made.add_argument("--bytes", type=int, default=1 << 20, help="of the buffer (1 MiB)")
    made.add_argument("--mean-us", type=float, default=2000.0, help="computation of a thread (2000)")
    made.add_argument("--deviation-us", type=float, default=200.0, help="its standard deviation (200)")
    made.add_argument("--steps", type=int, default=10)
    made.add_argument("--warm-up", type=int, default=5)
    made.add_argument("--single", action="store_true", help="one message after the slowest thread")
    made.add_argument("--seed", type=int, default=0)
    args = made.parse_args()
    if (
        min(args.threads, args.bytes, args.steps) < 1
        or min(args.warm_up, args.mean_us, args.deviation_us) < 0
    ):
        made.error("--threads, --bytes and --steps must be 1 or more, the others 0 or more")
    if args.bytes % args.threads:
        made.error(f"--bytes {args.bytes} is no multiple of --threads {args.threads}")
    if MPI.COMM_WORLD.size != 2:
        made.error(f"{MPI.COMM_WORLD.size} ranks: run it with 2")
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
