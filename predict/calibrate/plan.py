"""Plan a campaign: sizes drawn log-uniformly, experiments repeated and shuffled, all from one seed.

Shuffling makes a disturbance of the machine hit sizes and kinds at random, so that it does not look like a
property of some of them (Cornebize, sections 10.2 and 10.3).

The protocol of MPI_Send changes at two sizes (Cornebize, section 5.3.2). Algorithm 3 finds the largest send
that is not synchronous, Algorithm 4 the largest that is asynchronous:

    asynchronous   no deadlock, no corruption: the data are sent before MPI_Isend returns
    detached       no deadlock, but corruption: the data are sent later, without the sender
    synchronous    the send waits for its receive
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scalatrace.operations import COLLECTIVE_NAMES

__all__ = ["BURST", "MAX_BYTES", "Experiment", "Settings", "draw_peers", "largest", "plan"]

FIXED = (0, 1, 8, 1024, 65536)
"""Sizes of every campaign, to compare campaigns by."""
MAX_BYTES = 1 << 27
"""Largest message; eight of them are a burst, which an int counts."""
BURST = 8
"""Messages of a burst; buffers hold so many of the largest size."""
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan")
"""Collectives whose messages are elements of 8 bytes."""
ENTRIES = (0, 1, 8, 32, 128, 256)


PAIR_BYTES = 1 << 20
"""Messages of pairs: long enough that bandwidth decides."""


@dataclass(frozen=True)
class Settings:
    """What a campaign measures.

    Attributes:
        sizes: different message sizes.
        max_bytes: the largest.
        visits: times that each experiment is done, at moments far apart.
        repeats: durations of each.
        collectives: their sizes; 0: none are measured.
        pairings: random pairs of all ranks that exchange messages at the same time; 0: none.
        kernels: calls of each kernel; 0: none are measured.
        kernel_names: which.
        seed: of sizes and order.
        monitor: whether hosts are monitored between experiments.
    """

    sizes: int = 80
    max_bytes: int = 4 << 20
    visits: int = 5
    repeats: int = 10
    collectives: int = 12
    pairings: int = 16
    kernels: int = 60
    kernel_names: tuple[str, ...] = ("dgemm", "copy")
    seed: int = 0
    monitor: bool = False


@dataclass(frozen=True)
class Experiment:
    """One entry of a plan; the attributes are those of `Measurement`."""

    kind: str
    level: str = ""
    name: str = ""
    nbytes: int = 0
    params: dict[str, int] = field(default_factory=dict)


def log_uniform(random: np.random.Generator, count: int, most: int) -> list[int]:
    """Return distinct sizes from 1 to `most`, ascending; fewer than `count` if there are no more."""
    sizes: set[int] = set()
    for _ in range(50):
        exponents = random.uniform(0, np.log(most + 1), count)
        sizes |= {min(most, int(size)) for size in np.exp(exponents)}
        if len(sizes) >= count:
            break
    kept = random.permutation(sorted(sizes))[:count]
    return sorted(int(size) for size in kept)


def plan(
    settings: Settings,
    levels: Sequence[str],
    eager: dict[str, int | None],
    kernels: Sequence[Experiment],
    nranks: int,
) -> list[Experiment]:
    """Return all experiments, shuffled.

    Args:
        levels: "memory" and "network", if there are two ranks for it.
        eager: the largest message that is sent before its receive is posted, by level; None: all are.
        kernels: calls of kernels.
        nranks: of the collectives. Their messages are smaller where a buffer holds one per rank.
    """
    random = np.random.default_rng(settings.seed)
    fixed = {size for size in (*FIXED, settings.max_bytes) if size <= settings.max_bytes}
    experiments: list[Experiment] = []
    for level in levels:
        sizes = sorted(fixed | set(log_uniform(random, settings.sizes, settings.max_bytes)))
        experiments += _between_two(level, sizes, eager[level])
    local = log_uniform(random, max(8, settings.sizes // 4), settings.max_bytes)
    for kind in ("reduce_local", "pack"):
        experiments += [Experiment(kind, nbytes=8 * max(1, size // 8)) for size in local]
    if settings.collectives:
        most = max(1, min(settings.max_bytes, BURST * settings.max_bytes // nranks))
        drawn = log_uniform(random, settings.collectives, most)
        elements = sorted({8 * max(1, size // 8) for size in drawn})
        for name in COLLECTIVE_NAMES:
            drawn_sizes = [0] if name == "barrier" else elements if name in REDUCTIONS else drawn
            experiments += [Experiment("collective", name=name, nbytes=size) for size in drawn_sizes]
    if settings.pairings and nranks >= 4:
        experiments += [
            Experiment("pairs", nbytes=min(PAIR_BYTES, settings.max_bytes), params={"pairing": pairing})
            for pairing in range(settings.pairings + 1)
        ]
    runs = [*experiments * settings.visits, *kernels]
    return [runs[i] for i in random.permutation(len(runs))]


def _between_two(level: str, sizes: list[int], eager: int | None) -> list[Experiment]:
    experiments = [
        Experiment(kind, level, nbytes=size) for kind in ("pingpong", "send", "burst") for size in sizes
    ]
    # A rendezvous message does not arrive before its receive: MPI_Recv is no overhead there.
    experiments += [
        Experiment("recv", level, nbytes=size) for size in sizes if eager is None or size <= eager
    ]
    return experiments + [Experiment("unexpected", level, params={"entries": n}) for n in ENTRIES]


def draw_peers(hosts: Sequence[str], seed: int, pairing: int) -> list[int]:
    """Return the peer of each rank in a random pairing, -1 where it has none; the same on all ranks.

    Pairing 0 is one pair alone, whose bandwidth the others are compared with. Where there are several hosts,
    pairs are on two hosts, as far as possible (Hoefler, Schneider, Lumsdaine 2008).
    """
    order = [int(rank) for rank in np.random.default_rng((seed, pairing)).permutation(len(hosts))]
    peers = [-1] * len(hosts)
    several = len(set(hosts)) > 1
    while len(order) > 1:
        rank = order.pop()
        others = (i for i, other in enumerate(order) if not several or hosts[other] != hosts[rank])
        position = next(others, None)
        if position is None:
            continue
        other = order.pop(position)
        peers[rank], peers[other] = other, rank
        if pairing == 0:
            break
    return peers


def largest(holds: Callable[[int], bool], limit: int) -> int | None:
    """Return the largest size with a property that all smaller ones have; binary search.

    Args:
        holds: whether a size has the property; the same on all ranks.
        limit: largest size.

    Returns:
        The size; -1 when not even 1 byte has it (that is the smallest size tested), None when `limit` has.
    """
    if not holds(1):
        return -1
    good, bad = 1, 2
    while holds(min(bad, limit)):
        if bad >= limit:
            return None
        good, bad = bad, 2 * bad
    bad = min(bad, limit)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
