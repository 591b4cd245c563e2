"""A clock of LogGP over the messages of collective algorithms: a reference for models."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from scalatrace.predict.lowering.schedules import RoundShape
from scalatrace.predict.platform import Network
from support.rounds import list_rounds

Step = tuple[str, int, int, int]
""""send" or "recv", the peer, bytes, and bytes that are reduced afterwards."""


def steps(operation: str, algorithm: str, rank: int, nranks: int, nbytes: int) -> Iterator[Step]:
    """Yield the messages of one rank; those of a round are sent before it receives."""
    for round_ in list_rounds(algorithm, RoundShape(operation, rank, nranks, nbytes)):
        for peer, size in round_.sends:
            yield "send", peer, size, 0
        for number, (peer, size) in enumerate(round_.recvs, 1):
            yield "recv", peer, size, round_.reduced_bytes if number == len(round_.recvs) else 0


def finish_ns(
    network: Network, gamma: float, operation: str, algorithm: str, nranks: int, nbytes: int
) -> float:
    """Return when the last rank ends, all of them starting at 0. Sends are eager and buffered.

    Args:
        gamma: ns per byte that is reduced.
    """
    programs = [deque(steps(operation, algorithm, rank, nranks, nbytes)) for rank in range(nranks)]
    cpu, interface = [0.0] * nranks, [0.0] * nranks
    arrivals: dict[tuple[int, int], deque[float]] = defaultdict(deque)
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while program:
                kind, peer, size, reduced = program[0]
                segment = network.segment(size)
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
