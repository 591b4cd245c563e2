"""Collective algorithms as point-to-point messages: what a rank of a line of ranks calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from support.calls import IssuedCall, call
from support.grids import Body, Rank

STEPS = 3
"""Times that a program runs its algorithm."""

__all__ = ["ALGORITHMS"]


def _send(site: int, dest: int, count: int = 1) -> IssuedCall:
    return call("Send", site, count=count, dest=dest, tag=1, comm="world")


def _recv(site: int, source: int, count: int = 1) -> IssuedCall:
    return call("Recv", site, count=count, source=source, tag=1, comm="world")


def _exchange(site: int, dest: int, source: int, count: int = 1) -> IssuedCall:
    given = {"sendcount": count, "dest": dest, "sendtag": 1, "recvcount": count, "source": source}
    return call("Sendrecv", site, comm="world", **given, recvtag=1)


def _powers(below: int) -> Iterator[int]:
    power = 1
    while power < below:
        yield power
        power *= 2


def dissemination(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """A barrier of ceil(log2 P) rounds."""
    for step in _powers(nprocs):
        yield _exchange(1, (r + step) % nprocs, (r - step) % nprocs)


def bruck(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """Bruck's allgather: twice as many blocks in each round, the rest in the last."""
    for step in _powers(nprocs):
        yield _exchange(1, (r - step) % nprocs, (r + step) % nprocs, min(step, nprocs - step))


def pairwise(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """An all-to-all of P-1 rounds."""
    for step in range(1, nprocs):
        yield _exchange(1, (r + step) % nprocs, (r - step) % nprocs)


def binomial_broadcast(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """Rank 0 sends down a binomial tree."""
    if r:
        yield _recv(1, r & (r - 1))
    for step in reversed([p for p in _powers(nprocs) if not r or p < (r & -r)]):
        if r + step < nprocs:
            yield _send(2, r + step)


def binomial_gather(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """Rank 0 gathers blocks up a binomial tree, those of a whole subtree in one message."""
    for step in _powers(nprocs):
        if r & step:
            yield _send(1, r - step, min(step, nprocs - r))
            return
        if r + step < nprocs:
            yield _recv(2, r + step, min(step, nprocs - r - step))


def recursive_doubling(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """An allreduce in which the first ranks that exceed a power of two work in pairs."""
    power = 1 << (nprocs.bit_length() - 1)
    more = nprocs - power
    paired = r < 2 * more
    if paired:
        yield _recv(2, r - 1) if r % 2 else _send(1, r + 1)
    if not paired or r % 2:
        own = r // 2 if paired else r - more
        for step in _powers(power):
            other = own ^ step
            partner = 2 * other + 1 if other < more else other + more
            yield _exchange(3, partner, partner)
    if paired:
        yield _send(4, r - 1) if r % 2 else _recv(5, r + 1)


def linear_gather(r: int, nprocs: int) -> Iterator[IssuedCall]:
    """Rank 0 receives from each other rank."""
    if r:
        yield _send(2, 0)
    else:
        yield from (_recv(1, source) for source in range(1, nprocs))


def _program(algorithm: Callable[[int, int], Iterator[IssuedCall]]) -> Body:
    def body(rank: Rank) -> list[IssuedCall]:
        return [*algorithm(rank.number, rank.dims[0]), call("Barrier", 9, comm="world")] * STEPS

    return body


ALGORITHMS = {
    algorithm.__name__: _program(algorithm)
    for algorithm in (
        dissemination,
        bruck,
        pairwise,
        binomial_broadcast,
        binomial_gather,
        recursive_doubling,
        linear_gather,
    )
}
