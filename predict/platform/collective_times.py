"""Times of single collective calls on a platform, by the executor."""

from __future__ import annotations

import ctypes

import numpy as np

from scalatrace.executor import binding
from scalatrace.executor.fields import pointer
from scalatrace.predict.platform.algorithms import algorithm_table
from scalatrace.predict.platform.engine_arrays import PlatformArrays, engine_topology
from scalatrace.predict.platform.model import Platform
from scalatrace.predict.platform.topology_shape import TopologyShape

__all__ = ["collective_ns"]


def collective_ns(
    platform: Platform,
    operation: str,
    algorithm: str,
    nbytes: int,
    nranks: int,
    shape: TopologyShape | None = None,
) -> float:
    """Return the time from the entry of all ranks, at once, to the exit of the last one.

    Args:
        platform: after `placed`.
        operation, algorithm: of `algorithm_table`.
        nbytes: as the rules of algorithms count it.
        shape: links that messages share; None: they share none.
    """
    topology = None if shape is None else engine_topology(shape)
    arrays, times = PlatformArrays(platform, topology), np.zeros(nranks, dtype=np.int64)
    number = algorithm_table()[operation][algorithm].number
    binding.library().st_sim_collective_times(
        ctypes.byref(arrays.struct), number, nbytes, 0, nranks, pointer(times, ctypes.c_int64)
    )
    return float(times.max(initial=0)) / binding.PS
