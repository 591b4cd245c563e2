"""A manager hands out tasks to whichever worker is free.

    mpiexec -n 4 scalatrace record -o manager.st -- python samples/manager_worker.py --tasks 100

Size: any number of ranks (alone, the manager works itself); --tasks tasks (50).
Expect: "correct" and status 0. The manager receives from MPI.ANY_SOURCE and answers the sender, so
who gets which task differs from run to run: the trace keeps the wildcard as a wildcard, and the order
of the answers as it was in this run.
"""

import argparse
import sys

import numpy as np
from mpi4py import MPI

WORK, STOP = 1, 2


def work(task: int) -> int:
    """Number of primes below the task's bound, by a sieve."""
    bound = 1000 + task
    sieve = np.ones(bound, dtype=bool)
    sieve[:2] = False
    for divisor in range(2, int(bound**0.5) + 1):
        if sieve[divisor]:
            sieve[divisor * divisor :: divisor] = False
    return int(sieve.sum())


def manage(comm: MPI.Comm, ntasks: int) -> int:
    """Hand out the tasks 0..ntasks-1 and return the sum of the results."""
    total, given, stopped = 0, 0, 0
    result = np.zeros(1, dtype=np.int64)
    status = MPI.Status()
    while stopped < comm.size - 1:
        comm.Recv(result, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        total += int(result[0])
        if given < ntasks:
            comm.Send(np.array([given], dtype=np.int64), status.source, WORK)
            given += 1
        else:
            comm.Send(np.zeros(1, dtype=np.int64), status.source, STOP)
            stopped += 1
    return total


def serve(comm: MPI.Comm) -> None:
    """Ask for tasks by sending the last result (0 at first) until told to stop."""
    task = np.zeros(1, dtype=np.int64)
    result = np.zeros(1, dtype=np.int64)
    status = MPI.Status()
    while True:
        comm.Send(result, 0)
        comm.Recv(task, 0, MPI.ANY_TAG, status)
        if status.tag == STOP:
            return
        result[0] = work(int(task[0]))


def main() -> int:
    parser = argparse.ArgumentParser(description="manager and workers")
    parser.add_argument("--tasks", type=int, default=50)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.rank != 0:
        serve(comm)
        return 0
    expected = sum(work(task) for task in range(args.tasks))
    good = comm.size == 1 or manage(comm, args.tasks) == expected
    print(f"{args.tasks} tasks for {comm.size - 1} workers:", "correct" if good else "WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
