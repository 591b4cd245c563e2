"""The result of a run on a network that takes no time, where ranks wait only since others come later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DirectWait", "IdealRun", "RootCause", "SerialWork"]


@dataclass(frozen=True)
class RootCause:
    """Computation for which ranks wait. Nodes have their numbers in preorder, from 1.

    Attributes:
        rank: that computes.
        after: the call after which it computes; 0: the start of the rank.
        node: the call before which it computes.
        waiting_ns: of other ranks, for this computation.
        nranks: ranks that wait for it.
    """

    rank: int
    after: int
    node: int
    waiting_ns: float
    nranks: int


@dataclass(frozen=True)
class DirectWait:
    """Waits in one call, for the rank that lets them end: the last sender, or the last rank of a collective.

    Attributes:
        node: number of the call in preorder, from 1; 0: the end of the rank, where it waits for the last one.
        rank: that lets the waits end.
        waiting_ns: of all ranks that wait.
        waiters: ranks that wait, in order.
        causes: the ranks whose computation is the root cause, and ns, the largest first.
    """

    node: int
    rank: int
    waiting_ns: float
    waiters: tuple[int, ...]
    causes: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class SerialWork:
    """Times in which at most half of the ranks compute, and hand over to each other without a break.

    Attributes:
        time_ns: of the run.
        mean_ranks: ranks that compute at a time, the mean over these times.
        ranks: of the longest such time, in the order in which they compute, until one computes again.
        places: number of the call after which the ranks compute, of the call before which they do, and ns;
            the longest first.
    """

    time_ns: float
    mean_ranks: float
    ranks: tuple[int, ...]
    places: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class IdealRun:
    """A run on a network that takes no time.

    Attributes:
        time_ns: when the last rank ends.
        waiting_ns: [nranks] time that each rank waits: in calls, and at its end for the last rank.
        by_call: number of a call in preorder, from 1 -> ns that all ranks wait in it.
        causes: those of most waiting first; (): the waits were not followed.
        waiters: rank -> number of ranks that wait for it.
        pairs: rank that waits, rank whose computation it waits for, ns; the largest ones.
        followed: part of the waiting whose causes were found, from 0 to 1.
        serial: ranks that compute one after another; None: there are none, or waits were not followed.
        direct: the largest waits by call and the rank that lets them end.
    """

    time_ns: float
    waiting_ns: tuple[float, ...]
    by_call: Mapping[int, float] = field(default_factory=dict)
    causes: tuple[RootCause, ...] = ()
    waiters: Mapping[int, int] = field(default_factory=dict)
    pairs: tuple[tuple[int, int, float], ...] = ()
    followed: float = 0.0
    serial: SerialWork | None = None
    direct: tuple[DirectWait, ...] = ()
