"""Not a program: the command line, the pretended computation and the last line that the workloads share."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from mpi4py import MPI


def parser(description: str, size: int, steps: int) -> argparse.ArgumentParser:
    """Return --size, --steps and --sleep-us; a workload adds what it needs beyond."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--size", type=int, default=size, help=f"problem size ({size})")
    made.add_argument("--steps", type=int, default=steps, help=f"time steps or iterations ({steps})")
    made.add_argument("--sleep-us", type=float, default=0.0, help="sleep so long in every computation")
    return made


def parse(made: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line; a size or number of steps that makes no sense is a usage error."""
    args = made.parse_args()
    if args.size < 1 or args.steps < 0 or args.sleep_us < 0:
        made.error("--size must be 1 or more, --steps and --sleep-us 0 or more")
    return args


def compute(args: argparse.Namespace) -> None:
    """Stand for a computation that takes --sleep-us microseconds beside what is really computed."""
    if args.sleep_us:
        time.sleep(args.sleep_us * 1e-6)


def refuse(program: str, why: str) -> int:
    """Say on rank 0 why the program cannot run like this; the exit status."""
    if MPI.COMM_WORLD.rank == 0:
        print(f"{program}: {why}", file=sys.stderr)
    return 2


def finish(program: str, args: argparse.Namespace, good: bool) -> int:
    """Agree on whether all ranks found their result right and say so; the exit status."""
    everybody = np.array([good], np.int32)
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, everybody, MPI.LAND)
    if MPI.COMM_WORLD.rank == 0:
        what = f"{program}, {MPI.COMM_WORLD.size} ranks, size {args.size}, {args.steps} steps"
        print(f"{what}: {'correct' if everybody[0] else 'WRONG'}", flush=True)
    return 0 if everybody[0] else 1


if __name__ == "__main__":
    sys.exit("workload.py is a part of the workloads in npb/ and beside it")
