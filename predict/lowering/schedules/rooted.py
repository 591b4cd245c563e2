"""Barrier and operations with a root: Bcast, Reduce, Gather, Scatter.

Private functions count ranks from the root, which is 0 (Thakur, Rabenseifner, Gropp 2005).
"""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.predict.lowering.schedules.rounds import (
    Cut,
    Fold,
    Round,
    both,
    even,
    halving,
    powers,
)

__all__ = ["barrier", "bcast", "gather", "gather_blocks", "reduce", "scatter"]

Rounds = Iterator[Round]


def barrier(algorithm: str, rank: int, n: int) -> Rounds:
    """Yield the rounds of a barrier, of messages without content."""
    if algorithm == "dissemination":
        yield from (both((rank + step) % n, 0, (rank - step) % n, 0) for step in powers(n))
    elif algorithm == "recursive_doubling":
        yield from _doubling_barrier(rank, n)
    elif algorithm == "tree":
        yield from _gather(rank, n, lambda i: 0)
        yield from _bcast(rank, n, 0)
    else:
        yield from _to_root(rank, n, 0)
        yield from _from_root(rank, n, 0)


def bcast(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a broadcast of a vector."""
    own = (rank - root) % n
    if algorithm == "binomial":
        rounds = _bcast(own, n, nbytes)
    elif algorithm == "scatter_allgather":
        rounds = _scatter_allgather(own, n, even(nbytes, n))
    elif algorithm == "chain":
        rounds = _chain(own, n, nbytes)
    else:
        rounds = _from_root(own, n, nbytes)
    return _absolute(rounds, n, root)


def reduce(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a reduction of vectors to the root."""
    own = (rank - root) % n
    if algorithm == "binomial":
        rounds = _reduce(own, n, nbytes)
    elif algorithm == "rabenseifner":
        rounds = _rabenseifner(own, n, nbytes)
    else:
        rounds = _to_root(own, n, nbytes, nbytes)
    return _absolute(rounds, n, root)


def gather(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a gather of blocks of equal size."""
    own = (rank - root) % n
    rounds = _gather(own, n, even(n * nbytes, n)) if algorithm == "binomial" else _to_root(own, n, nbytes)
    return _absolute(rounds, n, root)


def gather_blocks(rank: int, n: int, cut: Cut) -> Rounds:
    """Yield the rounds of a binomial gather of blocks to rank 0."""
    return _gather(rank, n, cut)


def scatter(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a scatter of blocks of equal size."""
    own = (rank - root) % n
    rounds = _scatter(own, n, even(n * nbytes, n)) if algorithm == "binomial" else _from_root(own, n, nbytes)
    return _absolute(rounds, n, root)


def _absolute(rounds: Rounds, n: int, root: int) -> Rounds:
    """Replace ranks relative to the root by ranks of the communicator."""
    for sends, recvs, reduced in rounds:
        yield Round(
            tuple(((peer + root) % n, size) for peer, size in sends),
            tuple(((peer + root) % n, size) for peer, size in recvs),
            reduced,
        )


def _doubling_barrier(rank: int, n: int) -> Rounds:
    fold = Fold(n)
    number, partner = fold.number(rank), fold.partner(rank)
    if number is None:
        assert partner is not None
        yield Round(sends=((partner, 0),))
        yield Round(recvs=((partner, 0),))
        return
    if partner is not None:
        yield Round(recvs=((partner, 0),))
    for step in powers(fold.size):
        other = fold.rank(number ^ step)
        yield both(other, 0, other, 0)
    if partner is not None:
        yield Round(sends=((partner, 0),))


def _from_root(own: int, n: int, nbytes: int) -> Rounds:
    if own:
        yield Round(recvs=((0, nbytes),))
    elif n > 1:
        yield Round(sends=tuple((peer, nbytes) for peer in range(1, n)))


def _to_root(own: int, n: int, nbytes: int, reduced: int = 0) -> Rounds:
    if own:
        yield Round(sends=((0, nbytes),))
    elif n > 1:
        yield Round(recvs=tuple((peer, nbytes) for peer in range(1, n)), reduced_bytes=(n - 1) * reduced)


def _chain(own: int, n: int, nbytes: int) -> Rounds:
    if own:
        yield Round(recvs=((own - 1, nbytes),))
    if own + 1 < n:
        yield Round(sends=((own + 1, nbytes),))


def _width(own: int, n: int) -> int:
    """Return the number of ranks, up to a power of two, in the subtree of a rank in a binomial tree."""
    width = 1
    while width < n and not own & width:
        width *= 2
    return width


def _bcast(own: int, n: int, nbytes: int) -> Rounds:
    width = _width(own, n)
    if own:
        yield Round(recvs=((own - width, nbytes),))
    while (width := width // 2) >= 1:
        if own + width < n:
            yield Round(sends=((own + width, nbytes),))


def _scatter(own: int, n: int, cut: Cut) -> Rounds:
    width = _width(own, n)
    if own:
        yield Round(recvs=((own - width, cut(min(own + width, n)) - cut(own)),))
    while (width := width // 2) >= 1:
        first = own + width
        if first < n:
            yield Round(sends=((first, cut(min(first + width, n)) - cut(first)),))


def _gather(own: int, n: int, cut: Cut) -> Rounds:
    for step in powers(n):
        if own & step:
            yield Round(sends=((own - step, cut(min(own + step, n)) - cut(own)),))
            return
        first = own + step
        if first < n:
            yield Round(recvs=((first, cut(min(first + step, n)) - cut(first)),))


def _reduce(own: int, n: int, nbytes: int) -> Rounds:
    for step in powers(n):
        if own & step:
            yield Round(sends=((own - step, nbytes),))
            return
        if own + step < n:
            yield Round(recvs=((own + step, nbytes),), reduced_bytes=nbytes)


def _scatter_allgather(own: int, n: int, cut: Cut) -> Rounds:
    """Scatter by a binomial tree, then a ring."""
    yield from _scatter(own, n, cut)
    for i in range(n - 1):
        sent, received = (own - i) % n, (own - i - 1) % n
        yield both((own + 1) % n, cut(sent + 1) - cut(sent), (own - 1) % n, cut(received + 1) - cut(received))


def _rabenseifner(own: int, n: int, nbytes: int) -> Rounds:
    """Reduce-scatter by recursive halving, then a binomial gather."""
    fold = Fold(n, odd=False)  # the root, 0, takes part
    number, partner = fold.number(own), fold.partner(own)
    if number is None:
        assert partner is not None
        yield Round(sends=((partner, nbytes),))
        return
    if partner is not None:
        yield Round(recvs=((partner, nbytes),), reduced_bytes=nbytes)
    cut = even(nbytes, fold.size)
    yield from halving(number, fold, cut)
    for sends, recvs, _ in _gather(number, fold.size, cut):
        yield Round(_renumbered(sends, fold), _renumbered(recvs, fold))


def _renumbered(messages: tuple[tuple[int, int], ...], fold: Fold) -> tuple[tuple[int, int], ...]:
    return tuple((fold.rank(peer), size) for peer, size in messages)
