"""Operations without a root: Allreduce, Allgather, Alltoall, Reduce_scatter, Scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from scalatrace.predict.lowering.schedules import rooted
from scalatrace.predict.lowering.schedules.rounds import (
    Cut,
    Fold,
    Round,
    both,
    even,
    halving,
    powers,
)

__all__ = ["allgather", "allreduce", "alltoall", "bruck_alltoall", "reduce_scatter", "scan"]

Rounds = Iterator[Round]
PeerSizes = tuple[tuple[int, int], ...]


def allreduce(algorithm: str, rank: int, n: int, nbytes: int) -> Rounds:
    """Yield the rounds of a reduction of vectors to all ranks."""
    if algorithm == "reduce_bcast":
        yield from rooted.reduce("binomial", rank, n, nbytes, 0)
        yield from rooted.bcast("binomial", rank, n, nbytes, 0)
    elif algorithm == "ring":
        yield from _ring_reduce(rank, n, even(nbytes, n))
        yield from _ring(rank, n, even(nbytes, n), 1)
    else:
        yield from _folded_allreduce(algorithm, rank, n, nbytes)


def _folded_allreduce(algorithm: str, rank: int, n: int, nbytes: int) -> Rounds:
    fold = Fold(n)
    number, partner = fold.number(rank), fold.partner(rank)
    if number is None:
        assert partner is not None
        yield Round(sends=((partner, nbytes),))
        yield Round(recvs=((partner, nbytes),))
        return
    if partner is not None:
        yield Round(recvs=((partner, nbytes),), reduced_bytes=nbytes)
    if algorithm == "recursive_doubling":
        for step in powers(fold.size):
            peer = fold.rank(number ^ step)
            yield both(peer, nbytes, peer, nbytes, nbytes)
    else:
        cut = even(nbytes, fold.size)
        yield from halving(number, fold, cut)
        yield from _doubling(number, fold, cut)
    if partner is not None:
        yield Round(sends=((partner, nbytes),))


def _doubling(number: int, fold: Fold, cut: Cut) -> Rounds:
    """Allgather over a power of two."""
    for step in powers(fold.size):
        low = number // step * step
        partner = low ^ step
        peer = fold.rank(number ^ step)
        yield both(peer, cut(low + step) - cut(low), peer, cut(partner + step) - cut(partner))


def _ring_reduce(rank: int, n: int, cut: Cut) -> Rounds:
    """Reduce-scatter around a ring: block (rank + 1) mod n is complete at the end."""
    for i in range(n - 1):
        sent, received = (rank - i) % n, (rank - i - 1) % n
        nbytes = cut(received + 1) - cut(received)
        yield both((rank + 1) % n, cut(sent + 1) - cut(sent), (rank - 1) % n, nbytes, nbytes)


def _ring(rank: int, n: int, cut: Cut, ahead: int = 0) -> Rounds:
    """Allgather around a ring, begun with block (rank + ahead) mod n."""
    for i in range(n - 1):
        sent, received = (rank + ahead - i) % n, (rank + ahead - i - 1) % n
        yield both(
            (rank + 1) % n, cut(sent + 1) - cut(sent), (rank - 1) % n, cut(received + 1) - cut(received)
        )


def allgather(algorithm: str, rank: int, n: int, cut: Cut) -> Rounds:
    """Yield the rounds of an allgather; recursive doubling is Bruck's where the ranks are no power of two."""
    if algorithm == "gather_bcast":
        yield from rooted.gather_blocks(rank, n, cut)
        yield from rooted.bcast("binomial", rank, n, cut(n), 0)
    elif algorithm == "ring":
        yield from _ring(rank, n, cut)
    elif algorithm == "recursive_doubling" and n & (n - 1) == 0:
        yield from _doubling(rank, Fold(n), cut)
    else:
        yield from _bruck(rank, n, cut)


def _bruck(rank: int, n: int, cut: Cut) -> Rounds:
    def blocks(first: int, count: int) -> int:
        first %= n
        end = first + count
        return cut(end) - cut(first) if end <= n else cut(n) - cut(first) + cut(end - n)

    for step in powers(n):
        count = min(step, n - step)
        yield both((rank - step) % n, blocks(rank, count), (rank + step) % n, blocks(rank + step, count))


def alltoall(algorithm: str, rank: int, sends: Sequence[int], recvs: Sequence[int]) -> Rounds:
    """Yield the rounds of a total exchange, pairwise or at once; blocks without bytes are not sent."""
    n = len(sends)
    steps = [((rank + step) % n, (rank - step) % n) for step in range(1, n)]
    pairs: list[tuple[PeerSizes, PeerSizes]] = [
        (
            ((dest, sends[dest]),) if sends[dest] else (),
            ((source, recvs[source]),) if recvs[source] else (),
        )
        for dest, source in steps
    ]
    if algorithm == "linear":
        pairs = [(tuple(chain(*(out for out, _ in pairs))), tuple(chain(*(into for _, into in pairs))))]
    yield from (Round(out, into) for out, into in pairs if out or into)


def bruck_alltoall(rank: int, n: int, nbytes: int) -> Rounds:
    """Yield the rounds of Bruck's total exchange of blocks of equal size."""
    for step in powers(n):
        moved = sum(1 for i in range(1, n) if i & step) * nbytes
        yield both((rank + step) % n, moved, (rank - step) % n, moved)


def reduce_scatter(algorithm: str, rank: int, n: int, cut: Cut) -> Rounds:
    """Yield the rounds of a reduction whose blocks are scattered."""
    mine = cut(rank + 1) - cut(rank)
    if algorithm == "pairwise":
        for step in range(1, n):
            dest = (rank + step) % n
            yield both(dest, cut(dest + 1) - cut(dest), (rank - step) % n, mine, mine)
    elif algorithm == "linear":
        yield from rooted.reduce("linear", rank, n, cut(n), 0)
        if rank:
            yield Round(recvs=((0, mine),))
        elif n > 1:
            yield Round(sends=tuple((peer, cut(peer + 1) - cut(peer)) for peer in range(1, n)))
    else:
        yield from _halving_scatter(rank, n, cut)


def _halving_scatter(rank: int, n: int, cut: Cut) -> Rounds:
    """Recursive halving; a rank that does not take part gets its block from its neighbour."""
    fold = Fold(n)
    number, partner = fold.number(rank), fold.partner(rank)
    if number is None:
        assert partner is not None
        yield Round(sends=((partner, cut(n)),))
        yield Round(recvs=((partner, cut(rank + 1) - cut(rank)),))
        return
    if partner is not None:
        yield Round(recvs=((partner, cut(n)),), reduced_bytes=cut(n))
    yield from halving(number, fold, lambda i: cut(i + min(i, fold.extra)))
    if partner is not None:
        yield Round(sends=((partner, cut(partner + 1) - cut(partner)),))


def scan(algorithm: str, rank: int, n: int, nbytes: int) -> Rounds:
    """Yield the rounds of a prefix reduction."""
    if algorithm == "linear":
        if rank:
            yield Round(recvs=((rank - 1, nbytes),), reduced_bytes=nbytes)
        if rank + 1 < n:
            yield Round(sends=((rank + 1, nbytes),))
        return
    for step in powers(n):
        peer = rank ^ step
        if peer < n:
            yield both(peer, nbytes, peer, nbytes, nbytes)
