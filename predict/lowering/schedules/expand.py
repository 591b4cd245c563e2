"""Rounds of a collective call, by operation and algorithm."""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.errors import UsageError
from scalatrace.predict.lowering.schedules import rooted, symmetric
from scalatrace.predict.lowering.schedules.rounds import Round, RoundShape, divide_by_sizes, even

__all__ = ["expand", "schedule", "used_algorithm"]


def schedule(
    operation: str, algorithm: str, rank: int, nranks: int, nbytes: int = 0, root: int = 0
) -> Iterator[Round]:
    """Yield the rounds of one rank in an operation with equal sizes.

    Args:
        operation: in lower case ("allreduce"); `algorithm`: one of `ALGORITHMS[operation]`.
        rank: in the communicator of `nranks` ranks; so is `root`.
        nbytes: the whole vector of bcast, reduce, allreduce and scan, one rank's block of the others.
    """
    return expand(RoundShape(operation, rank, nranks, nbytes, root), algorithm)


def used_algorithm(shape: RoundShape, algorithm: str) -> str:
    """Return the algorithm that `expand` uses in place of one that does not fit calls with several sizes."""
    if shape.operation in ("gatherv", "scatterv"):
        return "linear"
    if shape.operation == "alltoall" and shape.sends is not None and algorithm == "bruck":
        return "pairwise"
    return algorithm


def expand(shape: RoundShape, algorithm: str) -> Iterator[Round]:
    """Yield the rounds of a collective call.

    Gather and Scatter with several sizes are linear, since only the root knows all sizes. Alltoall with
    several sizes is pairwise unless it is linear. Raises UsageError for an unknown operation.
    """
    if shape.nranks < 2:
        return iter(())
    operation, rank, n, nbytes, root, sends, recvs = shape
    match operation:
        case "barrier":
            return rooted.barrier(algorithm, rank, n)
        case "bcast":
            return rooted.bcast(algorithm, rank, n, nbytes, root)
        case "reduce":
            return rooted.reduce(algorithm, rank, n, nbytes, root)
        case "gather":
            return rooted.gather(algorithm, rank, n, nbytes, root)
        case "scatter":
            return rooted.scatter(algorithm, rank, n, nbytes, root)
        case "gatherv" | "scatterv":
            return _several_sizes(shape)
        case "allreduce":
            return symmetric.allreduce(algorithm, rank, n, nbytes)
        case "allgather":
            return symmetric.allgather(
                algorithm, rank, n, divide_by_sizes(recvs) if recvs else even(n * nbytes, n)
            )
        case "reduce_scatter":
            return symmetric.reduce_scatter(
                algorithm, rank, n, divide_by_sizes(recvs) if recvs else even(n * nbytes, n)
            )
        case "alltoall":
            if sends is None or recvs is None:
                if algorithm == "bruck":
                    return symmetric.bruck_alltoall(rank, n, nbytes)
                sends = recvs = (nbytes,) * n
            return symmetric.alltoall(algorithm, rank, sends, recvs)
        case "scan":
            return symmetric.scan(algorithm, rank, n, nbytes)
    raise UsageError(f"{operation}: no collective operation with a schedule")


def _several_sizes(shape: RoundShape) -> Iterator[Round]:
    """Yield the messages of a gather or scatter with several sizes, directly from or to the root."""
    outward, sizes = shape.operation == "scatterv", shape.sends or shape.recvs
    if shape.rank != shape.root:
        parts: tuple[tuple[int, int], ...] = ((shape.root, shape.nbytes),) if shape.nbytes else ()
    else:
        parts = tuple((i, size) for i, size in enumerate(sizes or ()) if size and i != shape.root)
    if parts:
        yield Round(parts) if outward == (shape.rank == shape.root) else Round((), parts)
