"""Routes over the links of a machine, and what messages that are under way together share of them."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import LimitError
from scalatrace.executor import binding
from scalatrace.executor.binding import PS
from scalatrace.executor.fields import pointer

__all__ = ["EngineTopology", "link_loads"]

KINDS = ("cluster", "fat-tree", "torus", "mesh", "dragonfly", "graph")
"""In the order of enum st_sim_topology_kind."""

TOO_MANY = "the links of the topology need more memory than there is; simulate fewer ranks"


class EngineTopology:
    """A topology as the executor reads it, for any number of runs: routes in a graph are searched once.

    Args:
        kind: one of KINDS.
        numbers: see `st_sim_topology`.
        per_byte_ns, hop_ns: of each class of links.
        own_hop_ns: part of a route's latency that is in the network's.
        nvertices: of a graph.

    Raises:
        LimitError: out of memory.
    """

    def __init__(
        self,
        kind: str,
        nnodes: int,
        numbers: Sequence[int],
        per_byte_ns: Sequence[float],
        hop_ns: Sequence[float],
        own_hop_ns: float = 0.0,
        nvertices: int = 0,
    ) -> None:
        self._shape = np.array(numbers, dtype=np.int32)
        self._per_byte = np.array(per_byte_ns, dtype=np.float64) * PS
        self._latency = np.array(hop_ns, dtype=np.float64) * PS
        struct = binding.TopologyParameters(
            kind=KINDS.index(kind),
            nnodes=nnodes,
            nvertices=nvertices,
            nshape=len(numbers),
            shape=pointer(self._shape, ctypes.c_int32),
            per_byte=pointer(self._per_byte, ctypes.c_double),
            latency=pointer(self._latency, ctypes.c_double),
            own_latency=own_hop_ns * PS,
        )
        self.links = binding.library().st_sim_links_new(ctypes.byref(struct))
        if not self.links:
            raise LimitError(TOO_MANY)
        weakref.finalize(self, binding.library().st_sim_links_free, self.links)

    def count_links(self) -> int:
        """Return the number of links; each direction counts."""
        return int(binding.library().st_sim_count_links(self.links))

    def routes(self, sources: Ints, dests: Ints) -> tuple[Ints, NDArray[np.int32]]:
        """Return the links between pairs of nodes.

        Returns:
            [n + 1] offsets and link numbers: those of pair i from offsets[i] up to offsets[i + 1].

        Raises:
            LimitError: out of memory.
        """
        a, b = (np.ascontiguousarray(nodes, dtype=np.int32) for nodes in (sources, dests))
        offsets = np.zeros(len(a) + 1, dtype=np.int64)
        links = np.empty(0, dtype=np.int32)
        for _ in range(2):  # to find their number, then with room for them
            arrays = (
                pointer(a, ctypes.c_int32),
                pointer(b, ctypes.c_int32),
                pointer(offsets, ctypes.c_int64),
            )
            count = _checked(
                binding.library().st_sim_routes(
                    self.links, len(a), *arrays, len(links), pointer(links, ctypes.c_int32)
                )
            )
            if count > len(links):
                links = np.empty(count, dtype=np.int32)
        return offsets, links


def link_loads(platform: Any, sources: Ints, dests: Ints, nbytes: Floats, own: Floats) -> NDArray[np.float32]:
    """Return the least time per byte of messages that are under way together, ps; 0: they share no link.

    Args:
        platform: `binding.PlatformParameters`.
        sources, dests: ranks.
        nbytes: of all messages of the pair.
        own: of one of them.

    Raises:
        LimitError: out of memory.
    """
    ranks = [np.ascontiguousarray(ranks, dtype=np.int32) for ranks in (sources, dests)]
    sizes = [np.ascontiguousarray(size, dtype=np.float64) for size in (nbytes, own)]
    per_byte = np.zeros(len(sources), dtype=np.float32)
    _checked(
        binding.library().st_sim_link_loads(
            ctypes.byref(platform),
            len(sources),
            *(pointer(array, ctypes.c_int32) for array in ranks),
            *(pointer(array, ctypes.c_double) for array in sizes),
            pointer(per_byte, ctypes.c_float),
        )
    )
    return per_byte


def _checked(status: int) -> int:
    if status < 0:
        raise LimitError(TOO_MANY)
    return status
