"""Steps of collective calls: who sends how many bytes to whom, in which round, as the simulator has them.

In: an algorithm of `algorithm_table`, an operation, a rank, sizes in bytes. Out: the steps of that rank.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scalatrace.executor import binding
from scalatrace.predict.platform.algorithms import algorithm_table

__all__ = ["RoundShape", "schedule", "used_algorithm"]

_STEP = np.dtype([
    ("round", np.int32), ("to", np.int32), ("from", np.int32), ("reduces", np.int32),
    ("sent", np.int64), ("received", np.int64),
])  # fmt: skip
"""struct st_sim_step."""

_SEVERAL_SIZES = {"gatherv": "gather", "scatterv": "scatter"}


class RoundShape(NamedTuple):
    """A rank's part of a collective call on an intracommunicator.

    Attributes:
        operation: in lower case, without "MPI_" and "v" ("allgather"); "gatherv" and "scatterv" where sizes
            are several, since only the root knows all of them.
        rank, nranks: the rank in the communicator, and its size.
        nbytes: message size as the rules of algorithms count it (`platform.algorithms`).
        root: rank in the communicator; 0 where the operation has none.
        sends, recvs: bytes for each rank of the communicator, of operations with several sizes; None where
            they are equal, or where this rank does not know them.
    """

    operation: str
    rank: int
    nranks: int
    nbytes: int = 0
    root: int = 0
    sends: tuple[int, ...] | None = None
    recvs: tuple[int, ...] | None = None


def used_algorithm(algorithm: str, shape: RoundShape) -> str:
    """Return the algorithm that is used where a call does not fulfil the condition of one."""
    number = _usable(algorithm, shape)
    names = algorithm_table()[_SEVERAL_SIZES.get(shape.operation, shape.operation)]
    return next(name for name, row in names.items() if row.number == number)


def _usable(algorithm: str, shape: RoundShape) -> int:
    base = _SEVERAL_SIZES.get(shape.operation, shape.operation)
    equal = base == shape.operation and shape.sends is None and shape.recvs is None
    number = algorithm_table()[base][algorithm].number
    return int(binding.library().st_sim_usable_algorithm(number, shape.nranks, equal))


def schedule(
    algorithm: str,
    operation: str,
    rank: int,
    nranks: int,
    nbytes: int = 0,
    root: int = 0,
    sends: tuple[int, ...] | None = None,
    recvs: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    """Return the steps of a rank, in the order of rounds.

    The other parameters are those of `RoundShape`. Blocks without bytes are not sent where each pair of ranks
    has a block of its own, or where sizes differ and the operation has a root.

    Returns:
        A structured array: `round`; `to` and `from`, ranks of the communicator, -1 where nothing is sent or
        received; `sent` and `received`, bytes; `reduces`, whether the operator of a reduction combines the
        received bytes. Messages of one round are under way together.
    """
    number = _usable(algorithm, RoundShape(operation, rank, nranks, nbytes, root, sends, recvs))
    lists = [sizes and (ctypes.c_int64 * nranks)(*sizes) for sizes in (sends, recvs)]
    length, steps = 64, np.empty(0, _STEP)
    while len(steps) < length:
        steps = np.empty(length, _STEP)
        length = binding.library().st_sim_schedule(
            number, rank, nranks, nbytes, root, *lists, len(steps), steps.ctypes.data
        )
    if length < 0:
        raise MemoryError
    steps = steps[:length]
    if operation in ("alltoall", *_SEVERAL_SIZES):
        steps["to"][steps["sent"] == 0] = steps["from"][steps["received"] == 0] = -1
    return steps
