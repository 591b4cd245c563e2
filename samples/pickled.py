"""Python objects on the wire: mpi4py's lower-case calls.

    mpiexec -n 4 scalatrace record -o pickled.st -- python samples/pickled.py

Size: any number of ranks; --steps exchanges (20).
Expect: "correct" and status 0. A lower-case recv is a matched probe and a matched receive of bytes,
so the trace shows Mprobe and Mrecv; the pickled objects grow with the step, hence one different
count per step. Collectives of objects show as a collective for the lengths and one for the bytes.
"""

import argparse
import sys

from mpi4py import MPI


def message(rank: int, step: int) -> dict[str, object]:
    """An object whose pickle grows with the step, but is equally long on all ranks."""
    return {"from": f"{rank:06d}", "step": step, "data": list(range(step))}


def exchange(comm: MPI.Comm, step: int) -> bool:
    """Send an object to the right neighbour; true when the left one's arrived unharmed."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.isend(message(comm.rank, step), dest=right, tag=step)
    arrived = comm.recv(source=left, tag=step)
    request.wait()
    return bool(arrived == message(left, step))


def collect(comm: MPI.Comm) -> bool:
    """Broadcast, gather, all-to-all and reduce objects; true when all came out right."""
    words = comm.bcast(["one", "two", "three"] if comm.rank == 0 else None, root=0)
    everything = comm.allgather({"rank": comm.rank})
    columns = comm.alltoall([(comm.rank, to) for to in range(comm.size)])
    longest = comm.allreduce("x" * (comm.rank + 1), op=MPI.MAX)
    return (
        words == ["one", "two", "three"]
        and everything == [{"rank": r} for r in range(comm.size)]
        and columns == [(r, comm.rank) for r in range(comm.size)]
        and longest == "x" * comm.size
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="mpi4py's calls that pickle")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    results = [exchange(comm, step) for step in range(args.steps)]
    results.append(collect(comm))
    good = comm.allreduce(all(results), op=MPI.LAND)
    if comm.rank == 0:
        print(f"objects among {comm.size} ranks, {args.steps} steps:", "correct" if good else "WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
