"""Collective algorithms as what each rank calls, and a clock of LogGP: an independent reference."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator

from scalatrace.predict.platform import Network

Step = tuple[str, int, float, float]
""""send" or "recv", the peer, bytes, and bytes that are reduced afterwards."""

Schedule = Callable[[int, int, float], Iterator[Step]]


def finish_ns(network: Network, gamma: float, schedule: Schedule, nranks: int, nbytes: float) -> float:
    """Return when the last rank ends, all of them starting at 0. Sends are eager and buffered."""
    programs = [deque(schedule(rank, nranks, nbytes)) for rank in range(nranks)]
    cpu, interface = [0.0] * nranks, [0.0] * nranks
    arrivals: dict[tuple[int, int], deque[float]] = defaultdict(deque)
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while program:
                kind, peer, size, reduced = program[0]
                segment = network.segment(int(size))
                if kind == "send":
                    cpu[rank] += segment.send_overhead_ns + size * segment.send_overhead_per_byte_ns
                    start = max(cpu[rank], interface[rank])
                    interface[rank] = start + max(segment.gap_ns, size * segment.per_byte_ns)
                    arrivals[rank, peer].append(start + segment.latency_ns + size * segment.per_byte_ns)
                elif arrivals[peer, rank]:
                    overhead = segment.recv_overhead_ns + size * segment.recv_overhead_per_byte_ns
                    cpu[rank] = max(cpu[rank], arrivals[peer, rank].popleft()) + overhead + gamma * reduced
                else:
                    break
                program.popleft()
                moved = True
    assert not any(programs), "deadlock"
    return max(cpu)


def powers(nranks: int) -> list[int]:
    return [1 << i for i in range((nranks - 1).bit_length())]


def dissemination(rank: int, nranks: int, _: float) -> Iterator[Step]:
    for step in powers(nranks):
        yield "send", (rank + step) % nranks, 0, 0
        yield "recv", (rank - step) % nranks, 0, 0


def binomial_bcast(rank: int, nranks: int, nbytes: float, blocks: bool = False) -> Iterator[Step]:
    """`blocks`: a scatter, whose messages have a block per rank of the subtree."""
    if rank:
        lowest = rank & -rank
        yield "recv", rank - lowest, nbytes * (min(lowest, nranks - rank) if blocks else 1), 0
    for step in reversed(powers(nranks)):
        if (not rank or step < (rank & -rank)) and rank + step < nranks:
            size = min(step, nranks - rank - step) if blocks else 1
            yield "send", rank + step, nbytes * size, 0


def binomial_scatter(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    yield from binomial_bcast(rank, nranks, nbytes, blocks=True)


def binomial_reduce(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for step in powers(nranks):
        if rank & step:
            yield "send", rank - step, nbytes, 0
            return
        if rank + step < nranks:
            yield "recv", rank + step, nbytes, nbytes


def linear_bcast(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    if rank:
        yield "recv", 0, nbytes, 0
    else:
        for peer in range(1, nranks):
            yield "send", peer, nbytes, 0


def chain(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    if rank:
        yield "recv", rank - 1, nbytes, 0
    if rank < nranks - 1:
        yield "send", rank + 1, nbytes, 0


def doubling(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    """Recursive doubling of an allreduce; ranks beyond a power of two join one of these."""
    whole = 1 << (nranks.bit_length() - 1)
    rest = nranks - whole
    if rank >= whole:
        yield "send", rank - whole, nbytes, 0
        yield "recv", rank - whole, nbytes, 0
        return
    if rank < rest:
        yield "recv", rank + whole, nbytes, nbytes
    for step in powers(whole):
        yield "send", rank ^ step, nbytes, 0
        yield "recv", rank ^ step, nbytes, nbytes
    if rank < rest:
        yield "send", rank + whole, nbytes, 0


def rabenseifner(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    size = nbytes
    for step in reversed(powers(nranks)):
        size /= 2
        yield "send", rank ^ step, size, 0
        yield "recv", rank ^ step, size, size
    for step in powers(nranks):
        yield "send", rank ^ step, size, 0
        yield "recv", rank ^ step, size, 0
        size *= 2


def ring_allreduce(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for reduces in (1, 0):
        for _ in range(nranks - 1):
            yield "send", (rank + 1) % nranks, nbytes / nranks, 0
            yield "recv", (rank - 1) % nranks, nbytes / nranks, reduces * nbytes / nranks


def ring_allgather(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for _ in range(nranks - 1):
        yield "send", (rank + 1) % nranks, nbytes, 0
        yield "recv", (rank - 1) % nranks, nbytes, 0


def bruck_allgather(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for step in powers(nranks):
        size = nbytes * min(step, nranks - step)
        yield "send", (rank - step) % nranks, size, 0
        yield "recv", (rank + step) % nranks, size, 0


def pairwise(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for step in range(1, nranks):
        yield "send", (rank + step) % nranks, nbytes, 0
        yield "recv", (rank - step) % nranks, nbytes, 0


def bruck_alltoall(rank: int, nranks: int, nbytes: float) -> Iterator[Step]:
    for step in powers(nranks):
        size = nbytes * sum(1 for block in range(nranks) if block & step)
        yield "send", (rank + step) % nranks, size, 0
        yield "recv", (rank - step) % nranks, size, 0
