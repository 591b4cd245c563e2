"""Platforms with other latencies, bandwidths or overheads."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.errors import UsageError
from scalatrace.predict.platform.model import Network, Platform, Segment
from scalatrace.spelling import did_you_mean

__all__ = ["FACTORS", "scaled"]

FACTORS = ("latency", "bandwidth", "overhead", "compute")
"""What can be scaled: a bandwidth of 2 halves the time per byte, a compute of 2 doubles computation times."""


def scaled(platform: Platform, **factors: float) -> Platform:
    """Return a platform with its parameters times factors, by the names in FACTORS.

    Raises:
        UsageError: an unknown name, or a factor that is negative, or 0 for the bandwidth.
    """
    for name, factor in factors.items():
        if name not in FACTORS:
            known = ", ".join(FACTORS) + did_you_mean(name, FACTORS)
            raise UsageError(f"{name}: no parameter to scale; known: {known}")
        if not 0 <= factor < float("inf") or (name == "bandwidth" and factor == 0):
            raise UsageError(f"{name}={factor:g}: factors must be positive numbers")
    one = {name: factors.get(name, 1.0) for name in FACTORS}
    return replace(
        platform,
        network=_network(platform.network, one),
        memory=None if platform.memory is None else _network(platform.memory, one),
        compute_scale=platform.compute_scale * one["compute"],
    )


def _network(network: Network, factors: dict[str, float]) -> Network:
    return replace(
        network,
        segments=tuple(_segment(segment, factors) for segment in network.segments),
        rendezvous_latency_ns=network.rendezvous_latency_ns * factors["latency"],
    )


def _segment(segment: Segment, factors: dict[str, float]) -> Segment:
    overhead = factors["overhead"]
    return replace(
        segment,
        latency_ns=segment.latency_ns * factors["latency"],
        per_byte_ns=segment.per_byte_ns / factors["bandwidth"],
        send_overhead_ns=segment.send_overhead_ns * overhead,
        recv_overhead_ns=segment.recv_overhead_ns * overhead,
        send_overhead_per_byte_ns=segment.send_overhead_per_byte_ns * overhead,
        recv_overhead_per_byte_ns=segment.recv_overhead_per_byte_ns * overhead,
    )
