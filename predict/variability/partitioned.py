"""The model of partitioned communication (Dominguez-Trujillo 2021, §4.3, Algorithm 1).

N threads compute, each for a time of a normal distribution, and own an equal part of a buffer. In a single
send, one message follows the slowest thread. In a partitioned send, each thread's part is a message of its
own. Messages go one after the other from the end of the fastest thread on; at least one is left when the
slowest thread ends. Times of the fastest and the slowest thread are as far from the mean (symmetry).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.predict.platform import Network
from scalatrace.stats.extreme_values import emma

__all__ = [
    "MessageTime", "PartitionedSend", "ThreadTimes", "max_rate", "of_network", "of_osu", "partitioned_send",
    "postal", "single_send",
]  # fmt: skip

MessageTime = Callable[[float], float]
"""Bytes of a message -> time in ns."""


@dataclass(frozen=True)
class ThreadTimes:
    """Computation of N threads.

    Attributes:
        threads: N.
        mean_ns: of the time of a thread.
        deviation_ns: its standard deviation.
    """

    threads: int
    mean_ns: float
    deviation_ns: float

    def __post_init__(self) -> None:
        if self.threads < 1 or self.mean_ns < 0 or self.deviation_ns < 0:
            raise UsageError(
                f"{self.threads} threads of {self.mean_ns:g} ns with deviation {self.deviation_ns:g} ns: "
                "give at least one thread, and times of 0 or more"
            )

    @classmethod
    def of_variability(cls, threads: int, mean_ns: float, variability: float) -> ThreadTimes:
        """Return times with the deviation of Algorithm 1, which is the mean times variability squared."""
        return cls(threads, mean_ns, mean_ns * variability**2)

    @property
    def slowest_ns(self) -> float:
        """Expected end of the slowest thread."""
        if self.deviation_ns == 0:
            return self.mean_ns
        return emma(NormalDist(self.mean_ns, self.deviation_ns).inv_cdf, self.threads)

    @property
    def fastest_ns(self) -> float:
        """Expected end of the fastest thread."""
        return 2 * self.mean_ns - self.slowest_ns


@dataclass(frozen=True)
class PartitionedSend:
    """A send and when it ends; threads start at 0.

    Attributes:
        nbytes: of the buffer.
        message_ns: time of each message.
        overlapped: messages that are sent before the slowest thread ends; not a whole number.
        slowest_ns: end of the slowest thread.
        elapsed_ns: from then to the end of the send.
    """

    nbytes: float
    message_ns: float
    overlapped: float
    slowest_ns: float
    elapsed_ns: float

    @property
    def end_ns(self) -> float:
        """End of the send."""
        return self.slowest_ns + self.elapsed_ns

    @property
    def bandwidth(self) -> float:
        """Effective bandwidth in bytes per second (equation 4.3)."""
        return self.nbytes / self.elapsed_ns * 1e9 if self.elapsed_ns else float("inf")


def postal(latency_ns: float, bytes_per_s: float) -> MessageTime:
    """Return the postal model: latency + S / bandwidth (equation 2.12)."""
    _check(bytes_per_s)
    return lambda nbytes: latency_ns + nbytes / bytes_per_s * 1e9


def max_rate(latency_ns: float, bytes_per_s: float, node_bytes_per_s: float, per_node: int) -> MessageTime:
    """Return the max-rate model: the processes of a node share its injection rate (equation 2.13).

    Args:
        bytes_per_s: of one process.
        node_bytes_per_s: of the node.
        per_node: processes of the node that send at the same time.
    """
    _check(bytes_per_s, node_bytes_per_s, per_node)
    rate = min(node_bytes_per_s, per_node * bytes_per_s)
    return lambda nbytes: latency_ns + per_node * nbytes / rate * 1e9


def of_osu(
    latencies_ns: Sequence[tuple[int, float]], intervals_ns: Sequence[tuple[int, float]]
) -> MessageTime:
    """Return the time of Algorithm 1: the latency and bandwidth that OSU benchmarks give for a size.

    T(S) = latency(S) + S / bandwidth(S). Between the measured sizes, latency and bandwidth are interpolated
    linearly; beyond the largest, they are its.

    Args:
        latencies_ns: bytes and one-way time, ascending.
        intervals_ns: bytes and time between messages, ascending; bytes over it is the bandwidth.
    """
    sizes, times = (np.array(column, float) for column in zip(*latencies_ns, strict=True))
    sent, intervals = (np.array(column, float) for column in zip(*intervals_ns, strict=True))
    _check(*intervals)

    def time(nbytes: float) -> float:
        per_ns = float(np.interp(nbytes, sent, sent / intervals))
        return float(np.interp(nbytes, sizes, times)) + nbytes / per_ns

    return time


def of_network(network: Network) -> MessageTime:
    """Return the time of a message in a platform's network, by protocol range."""

    def time(nbytes: float) -> float:
        extra = 0.0 if network.is_eager(int(nbytes)) else network.rendezvous_latency_ns
        return extra + network.segment(int(nbytes)).message_ns(round(nbytes))

    return time


def single_send(nbytes: float, threads: ThreadTimes, message: MessageTime) -> PartitionedSend:
    """Return one message of the whole buffer after the slowest thread."""
    time = message(nbytes)
    return PartitionedSend(nbytes, time, 0.0, threads.slowest_ns, time)


def partitioned_send(
    nbytes: float, threads: ThreadTimes, message: MessageTime, wait_ns: float = 0.0
) -> PartitionedSend:
    """Return a partitioned send of a buffer, a message per thread (Algorithm 1).

    Args:
        wait_ns: overhead of MPI_Wait.
    """
    time = message(nbytes / threads.threads)
    slowest = threads.slowest_ns
    spread = max(slowest - threads.fastest_ns, 0.0)
    overlapped = min(spread / time if time else float("inf"), threads.threads - 1)
    return PartitionedSend(nbytes, time, overlapped, slowest, time * (threads.threads - overlapped) + wait_ns)


def _check(*rates: float) -> None:
    if not all(rate > 0 for rate in rates):
        raise UsageError(f"bandwidths {', '.join(f'{rate:g}' for rate in rates)}: they must be above 0")
