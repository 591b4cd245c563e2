"""A platform as the executor reads it."""

from __future__ import annotations

import ctypes

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.executor import binding
from scalatrace.executor.binding import PS
from scalatrace.executor.fields import pointer
from scalatrace.executor.links import EngineTopology
from scalatrace.predict.platform import Network, Platform, TopologyShape

SEED_MASK = (1 << 64) - 1
"""Bits of a seed that the executor takes."""

__all__ = ["PlatformArrays", "engine_topology"]


def engine_topology(shape: TopologyShape) -> EngineTopology:
    """Return the links of a machine as the executor reads them."""
    return EngineTopology(
        shape.kind,
        shape.nnodes,
        shape.numbers,
        shape.per_byte_ns,
        shape.hop_ns,
        shape.own_hop_ns,
        shape.nvertices,
    )


class PlatformArrays:
    """A platform in picoseconds, with the arrays that the C structure points to.

    Args:
        topology: its links are shared; None: messages share none.
        flows: they share them by flows, not by loads.
        noise_seed: of drawn durations of messages; None: they take those of the segments.
    """

    def __init__(
        self,
        platform: Platform,
        topology: EngineTopology | None = None,
        flows: bool = False,
        noise_seed: int | None = None,
    ) -> None:
        self._segments: list[ctypes.Array[binding.SegmentParameters]] = []
        self._factors: list[Floats] = []
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
            noisy=noise_seed is not None and platform.has_noise,
            noise_seed=(noise_seed or 0) & SEED_MASK,
        )
        if platform.node_numbers is not None:
            self._node_of = np.ascontiguousarray(platform.node_numbers, dtype=np.int32)
            self.struct.node_of = pointer(self._node_of, ctypes.c_int32)
        if topology is not None:
            self._topology = topology
            self.struct.links = topology.links
            self.struct.flows = flows

    def _network(self, network: Network) -> binding.NetworkParameters:
        factors = [np.array(segment.drawn_factors()) for segment in network.segments]
        self._factors += factors
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
                    len(drawn),
                    pointer(drawn, ctypes.c_double),
                )
                for segment, drawn in zip(network.segments, factors, strict=True)
            )
        )
        self._segments.append(segments)
        above = network.rendezvous_above_bytes
        return binding.NetworkParameters(
            len(segments), segments, -1 if above is None else above, network.rendezvous_latency_ns * PS
        )
