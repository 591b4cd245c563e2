"""Rounds of messages, and the division of a vector into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Cut", "Fold", "Round", "RoundShape", "both", "divide_by_sizes", "even", "halving", "powers"]

Cut = Callable[[int], int]
"""Gives the offset in bytes at which a block begins; of the number of blocks: the size of the vector."""


class Round(NamedTuple):
    """Messages of one rank that are under way together; the rank goes on when all are complete.

    Attributes:
        sends, recvs: (rank in the communicator, bytes) of each message.
        reduced_bytes: bytes that the operator of a reduction combines after the round.
    """

    sends: tuple[tuple[int, int], ...] = ()
    recvs: tuple[tuple[int, int], ...] = ()
    reduced_bytes: int = 0


class RoundShape(NamedTuple):
    """A rank's part of a collective call on an intracommunicator.

    Attributes:
        operation: in lower case, without "MPI_" and "v" ("allgather").
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


def even(nbytes: int, nblocks: int) -> Cut:
    """Divide a vector into blocks whose sizes differ by at most one byte."""
    return lambda i: i * nbytes // nblocks


def divide_by_sizes(sizes: Sequence[int]) -> Cut:
    """Divide a vector into blocks of given sizes."""
    starts = (0, *accumulate(sizes))
    return lambda i: starts[i]


def both(dest: int, sent: int, source: int, received: int, reduced_bytes: int = 0) -> Round:
    """Return a round that sends one message and receives one."""
    return Round(((dest, sent),), ((source, received),), reduced_bytes)


def powers(below: int) -> Iterator[int]:
    """Yield the powers of two below a number, ascending."""
    power = 1
    while power < below:
        yield power
        power *= 2


class Fold:
    """Reduces a number of ranks to a power of two: of the first `2 extra` ranks, every second one takes part.

    Attributes:
        size: largest power of two that is not above the number of ranks.
        extra: ranks beyond it.
        odd: whether the odd ones of the first ranks take part, or the even ones.
    """

    def __init__(self, nranks: int, odd: bool = True) -> None:
        self.size = 1 << (nranks.bit_length() - 1)
        self.extra = nranks - self.size
        self.odd = odd

    def number(self, rank: int) -> int | None:
        """Return the number of a rank among those that take part; None if it does not."""
        if rank >= 2 * self.extra:
            return rank - self.extra
        return rank // 2 if rank % 2 == self.odd else None

    def rank(self, number: int) -> int:
        """Return the rank of a number."""
        return 2 * number + self.odd if number < self.extra else number + self.extra

    def partner(self, rank: int) -> int | None:
        """Return the other rank of a pair of which one takes part; None if the rank is in no pair."""
        return rank ^ 1 if rank < 2 * self.extra else None


def halving(number: int, fold: Fold, cut: Cut) -> Iterator[Round]:
    """Yield the rounds of a reduce-scatter by recursive halving, in which the number-th block stays."""
    low, step = 0, fold.size // 2
    while step:
        middle = low + step
        lower, upper = cut(middle) - cut(low), cut(middle + step) - cut(middle)
        mine, sent_half = (upper, lower) if number & step else (lower, upper)
        peer = fold.rank(number ^ step)
        yield both(peer, sent_half, peer, mine, mine)
        low, step = middle if number & step else low, step // 2
