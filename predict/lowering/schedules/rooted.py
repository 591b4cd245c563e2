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
    relative = (rank - root) % n
    if algorithm == "binomial":
        rounds = _bcast(relative, n, nbytes)
    elif algorithm == "scatter_allgather":
        rounds = _scatter_allgather(relative, n, even(nbytes, n))
    elif algorithm == "chain":
        rounds = _chain(relative, n, nbytes)
    else:
        rounds = _from_root(relative, n, nbytes)
    return _absolute(rounds, n, root)


def reduce(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a reduction of vectors to the root."""
    relative = (rank - root) % n
    if algorithm == "binomial":
        rounds = _reduce(relative, n, nbytes)
    elif algorithm == "rabenseifner":
        rounds = _rabenseifner(relative, n, nbytes)
    else:
        rounds = _to_root(relative, n, nbytes, nbytes)
    return _absolute(rounds, n, root)


def gather(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a gather of blocks of equal size."""
    relative = (rank - root) % n
    rounds = (
        _gather(relative, n, even(n * nbytes, n))
        if algorithm == "binomial"
        else _to_root(relative, n, nbytes)
    )
    return _absolute(rounds, n, root)


def gather_blocks(rank: int, n: int, cut: Cut) -> Rounds:
    """Yield the rounds of a binomial gather of blocks to rank 0."""
    return _gather(rank, n, cut)


def scatter(algorithm: str, rank: int, n: int, nbytes: int, root: int) -> Rounds:
    """Yield the rounds of a scatter of blocks of equal size."""
    relative = (rank - root) % n
    rounds = (
        _scatter(relative, n, even(n * nbytes, n))
        if algorithm == "binomial"
        else _from_root(relative, n, nbytes)
    )
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
        peer = fold.rank(number ^ step)
        yield both(peer, 0, peer, 0)
    if partner is not None:
        yield Round(sends=((partner, 0),))


def _from_root(relative: int, n: int, nbytes: int) -> Rounds:
    if relative:
        yield Round(recvs=((0, nbytes),))
    elif n > 1:
        yield Round(sends=tuple((peer, nbytes) for peer in range(1, n)))


def _to_root(relative: int, n: int, nbytes: int, reduced: int = 0) -> Rounds:
    if relative:
        yield Round(sends=((0, nbytes),))
    elif n > 1:
        yield Round(recvs=tuple((peer, nbytes) for peer in range(1, n)), reduced_bytes=(n - 1) * reduced)


def _chain(relative: int, n: int, nbytes: int) -> Rounds:
    if relative:
        yield Round(recvs=((relative - 1, nbytes),))
    if relative + 1 < n:
        yield Round(sends=((relative + 1, nbytes),))


def _width(relative: int, n: int) -> int:
    """Return the number of ranks, up to a power of two, in the subtree of a rank in a binomial tree."""
    width = 1
    while width < n and not relative & width:
        width *= 2
    return width


def _bcast(relative: int, n: int, nbytes: int) -> Rounds:
    width = _width(relative, n)
    if relative:
        yield Round(recvs=((relative - width, nbytes),))
    while (width := width // 2) >= 1:
        if relative + width < n:
            yield Round(sends=((relative + width, nbytes),))


def _scatter(relative: int, n: int, cut: Cut) -> Rounds:
    width = _width(relative, n)
    if relative:
        yield Round(recvs=((relative - width, cut(min(relative + width, n)) - cut(relative)),))
    while (width := width // 2) >= 1:
        first = relative + width
        if first < n:
            yield Round(sends=((first, cut(min(first + width, n)) - cut(first)),))


def _gather(relative: int, n: int, cut: Cut) -> Rounds:
    for step in powers(n):
        if relative & step:
            yield Round(sends=((relative - step, cut(min(relative + step, n)) - cut(relative)),))
            return
        first = relative + step
        if first < n:
            yield Round(recvs=((first, cut(min(first + step, n)) - cut(first)),))


def _reduce(relative: int, n: int, nbytes: int) -> Rounds:
    for step in powers(n):
        if relative & step:
            yield Round(sends=((relative - step, nbytes),))
            return
        if relative + step < n:
            yield Round(recvs=((relative + step, nbytes),), reduced_bytes=nbytes)


def _scatter_allgather(relative: int, n: int, cut: Cut) -> Rounds:
    """Scatter by a binomial tree, then a ring."""
    yield from _scatter(relative, n, cut)
    for i in range(n - 1):
        sent, received = (relative - i) % n, (relative - i - 1) % n
        yield both(
            (relative + 1) % n,
            cut(sent + 1) - cut(sent),
            (relative - 1) % n,
            cut(received + 1) - cut(received),
        )


def _rabenseifner(relative: int, n: int, nbytes: int) -> Rounds:
    """Reduce-scatter by recursive halving, then a binomial gather."""
    fold = Fold(n, odd=False)  # the root, 0, takes part
    number, partner = fold.number(relative), fold.partner(relative)
    if number is None:
        assert partner is not None
        yield Round(sends=((partner, nbytes),))
        return
    if partner is not None:
        yield Round(recvs=((partner, nbytes),), reduced_bytes=nbytes)
    cut = even(nbytes, fold.size)
    yield from halving(number, fold, cut)
    for sends, recvs, _ in _gather(number, fold.size, cut):
        yield Round(_renumber(sends, fold), _renumber(recvs, fold))


def _renumber(messages: tuple[tuple[int, int], ...], fold: Fold) -> tuple[tuple[int, int], ...]:
    return tuple((fold.rank(peer), size) for peer, size in messages)
