"""Point-to-point messages: alpha + S beta, piecewise by protocol range (Hoefler 2010).

A platform's segments and its rendezvous threshold give the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.symbols import S
from scalatrace.predict.platform import Network, Platform

__all__ = [
    "NO_DELAYS", "Delays", "SizeRange", "exchange_gap_ns", "gap_ns", "message_ns", "network_of",
    "parameters", "piecewise", "ranges", "receive_gap_ns",
]  # fmt: skip


@dataclass(frozen=True)
class Delays:
    """Delays that the simple model leaves out, for upper bounds.

    Attributes:
        congestion: messages that share a link: a factor on the time per byte in the network.
        per_message_ns: such as the search in a matching queue.
        per_byte_ns: such as packing and unpacking strided data.
        shares_receiver: whether messages to one receiver share its link.
        has_interface: whether messages of one sender wait for its network interface.
    """

    congestion: float = 1.0
    per_message_ns: float = 0.0
    per_byte_ns: float = 0.0
    shares_receiver: bool = False
    has_interface: bool = True


NO_DELAYS = Delays()


@dataclass(frozen=True)
class SizeRange:
    """Messages of `from_bytes` to `to_bytes`, both included; None: without end.

    Attributes:
        alpha_ns: time of an empty message.
        beta_ns: time per byte.
    """

    from_bytes: int
    to_bytes: int | None
    alpha_ns: float
    beta_ns: float

    def text(self) -> str:
        """Return the sizes as `256 < S <= 1024`."""
        low = f"{self.from_bytes - 1} < " if self.from_bytes else ""
        return f"{low}S <= {self.to_bytes}" if self.to_bytes is not None else f"{low}S" if low else "all S"


def network_of(platform: Platform, nranks: int) -> Network:
    """Return the parameters of messages among so many ranks: the memory's where one node holds them all."""
    one_node = platform.ranks_per_node == 0 or nranks <= platform.ranks_per_node
    return platform.memory if platform.memory is not None and one_node else platform.network


def ranges(network: Network) -> list[SizeRange]:
    """Return the ranges of message sizes with equal parameters, ascending."""
    starts = {segment.from_bytes for segment in network.segments}
    if network.rendezvous_above_bytes is not None:
        starts.add(network.rendezvous_above_bytes + 1)
    ends: list[int | None] = [*sorted(starts), None]
    result: list[SizeRange] = []
    for start, end in pairwise(ends):
        assert start is not None
        alpha, beta = parameters(network, start)
        if result and (result[-1].alpha_ns, result[-1].beta_ns) == (alpha, beta):
            start = result.pop().from_bytes
        result.append(SizeRange(start, None if end is None else end - 1, alpha, beta))
    return result


def piecewise(network: Network) -> sympy.Expr:
    """Return the time of a message in ns as a function of S."""
    pieces = []
    for segment in ranges(network):
        where = sympy.true if segment.to_bytes is None else segment.to_bytes >= S
        pieces.append((sympy.Float(segment.alpha_ns) + sympy.Float(segment.beta_ns) * S, where))
    return sympy.Piecewise(*pieces)


def message_ns(network: Network, nbytes: float, delays: Delays = NO_DELAYS) -> float:
    """Return the time of a message, from the send call to the end of a receive that was posted before."""
    alpha, beta = parameters(network, nbytes)
    shared = (delays.congestion - 1) * network.segment(int(nbytes)).per_byte_ns
    return alpha + delays.per_message_ns + nbytes * (beta + shared + delays.per_byte_ns)


def gap_ns(network: Network, nbytes: float, delays: Delays = NO_DELAYS) -> float:
    """Return the time between two messages of one sender: the slower of its processor and its interface."""
    segment = network.segment(int(nbytes))
    per_byte = segment.send_overhead_per_byte_ns + delays.per_byte_ns
    processor = segment.send_overhead_ns + delays.per_message_ns + nbytes * per_byte
    if not delays.has_interface:
        return processor
    return max(segment.gap_ns, nbytes * segment.per_byte_ns * delays.congestion, processor)


def receive_gap_ns(network: Network, nbytes: float, delays: Delays = NO_DELAYS) -> float:
    """Return the time between two messages of one receiver: its overhead, and its link if that is shared."""
    segment = network.segment(int(nbytes))
    per_byte = segment.recv_overhead_per_byte_ns + delays.per_byte_ns
    overhead = segment.recv_overhead_ns + delays.per_message_ns + nbytes * per_byte
    return max(overhead, gap_ns(network, nbytes, delays)) if delays.shares_receiver else overhead


def exchange_gap_ns(network: Network, nbytes: float, delays: Delays = NO_DELAYS) -> float:
    """Return the time between two messages of a rank that sends and receives as many."""
    segment = network.segment(int(nbytes))
    sending = segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns
    without = replace(delays, shares_receiver=False)
    return max(gap_ns(network, nbytes, delays), sending + receive_gap_ns(network, nbytes, without))


def parameters(network: Network, nbytes: float) -> tuple[float, float]:
    """Return alpha and beta of messages of a size."""
    segment = network.segment(int(nbytes))
    alpha = segment.send_overhead_ns + segment.latency_ns + segment.recv_overhead_ns
    if not network.is_eager(int(nbytes)):
        alpha += network.rendezvous_latency_ns
    beta = segment.send_overhead_per_byte_ns + segment.per_byte_ns + segment.recv_overhead_per_byte_ns
    return alpha, beta
