"""A platform as the simulator reads it, in picoseconds."""

from __future__ import annotations

import ctypes

from scalatrace.executor import binding
from scalatrace.executor.binding import PS
from scalatrace.predict.platform import Network, Platform

__all__ = ["PlatformArrays"]


class PlatformArrays:
    """Keeps the arrays that the C structure points to."""

    def __init__(self, platform: Platform) -> None:
        self._segments: list[ctypes.Array[binding.SegmentParameters]] = []
        self._rules = platform.rules.array
        self.struct = binding.PlatformParameters(
            network=self._network(platform.network),
            memory=self._network(platform.memory or platform.network),
            has_memory=platform.memory is not None,
            ranks_per_node=platform.ranks_per_node,
            serializes=platform.interface != "unlimited",
            nrules=len(self._rules),
            rules=self._rules,
            reduce_per_byte=platform.reduce_per_byte_ns * PS,
            match_entry=platform.matching.per_entry_ns * PS,
        )

    def _network(self, network: Network) -> binding.NetworkParameters:
        segments = (binding.SegmentParameters * len(network.segments))(
            *(
                binding.SegmentParameters(
                    segment.from_bytes,
                    segment.latency_ns * PS,
                    segment.per_byte_ns * PS,
                    segment.gap_ns * PS,
                    segment.send_overhead_ns * PS,
                    segment.recv_overhead_ns * PS,
                    segment.send_overhead_per_byte_ns * PS,
                    segment.recv_overhead_per_byte_ns * PS,
                )
                for segment in network.segments
            )
        )
        self._segments.append(segments)
        above = network.rendezvous_above_bytes
        return binding.NetworkParameters(
            len(segments), segments, -1 if above is None else above, network.rendezvous_latency_ns * PS
        )
