"""ctypes binding of the simulator (native/st_sim.h)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_double, c_float, c_int, c_int32, c_int64, c_uint64
from functools import cache
from pathlib import Path
from typing import Any

from scalatrace.errors import CoreError

__all__ = [
    "E_DEADLOCK",
    "E_MEMORY",
    "E_TIME",
    "MAX_PS",
    "PARTS",
    "PATH",
    "PROGRESS",
    "PS",
    "NetworkParameters",
    "PlatformParameters",
    "RuleParameters",
    "SegmentParameters",
    "SimFamily",
    "SimField",
    "SimNode",
    "SimProgram",
    "SimResult",
    "SimTimes",
    "Sum",
    "library",
]  # fmt: skip

E_MEMORY, E_DEADLOCK, E_TRACE, E_TIME = -1, -2, -3, -4

PS = 1000.0
"""Picoseconds of a nanosecond."""

MAX_PS = (1 << 63) - 1
"""The longest time of a simulation: 106 days."""

PARTS = 3
"""Computation, transfer, waiting."""
PATH = 5
"""Of a clock: total, computation, latency, bytes (all in ps), and number of latencies."""

_INT32, _INT64, _FLOAT, _DOUBLE = POINTER(c_int32), POINTER(c_int64), POINTER(c_float), POINTER(c_double)


class SimField(ctypes.Structure):
    """struct st_sim_field."""

    _fields_ = (
        ("kind", c_int32),
        ("encoding", c_int32),
        ("value", c_int64),
        ("values", _INT64),
        ("class_of", _INT32),
        ("offsets", _INT64),
        ("pool", _INT64),
    )


class SimTimes(ctypes.Structure):
    """struct st_sim_times."""

    _fields_ = (("pred", c_int32), ("nbins", c_int32), ("mean_ps", c_int64), ("bins", _DOUBLE))


_FIELDS = ("repeat", "peer", "nbytes", "tag", "family", "peer2", "tag2", "list")


class SimNode(ctypes.Structure):
    """struct st_sim_node."""

    _fields_ = (
        ("op", c_int32),
        ("end", c_int32),
        ("flags", c_int32),
        ("own_pred", c_int32),
        ("collective", c_int32),
        ("ntimes", c_int32),
        *((name, SimField) for name in _FIELDS),
        ("times", POINTER(SimTimes)),
        ("duration_ps", c_int64),
        ("share", _FLOAT),
    )


class SimFamily(ctypes.Structure):
    """struct st_sim_family."""

    _fields_ = (
        ("instance", _INT32),
        ("position", _INT32),
        ("ninstances", c_int32),
        ("offsets", _INT64),
        ("members", _INT32),
    )


class SegmentParameters(ctypes.Structure):
    """struct st_sim_segment."""

    _fields_ = (
        ("from_bytes", c_int64),
        ("latency", c_double),
        ("per_byte", c_double),
        ("gap", c_double),
        ("send_overhead", c_double),
        ("recv_overhead", c_double),
        ("send_per_byte", c_double),
        ("recv_per_byte", c_double),
    )


class NetworkParameters(ctypes.Structure):
    """struct st_sim_network."""

    _fields_ = (
        ("nsegments", c_int32),
        ("segments", POINTER(SegmentParameters)),
        ("rendezvous_above", c_int64),
        ("rendezvous_latency", c_double),
    )


class RuleParameters(ctypes.Structure):
    """struct st_sim_rule."""

    _fields_ = (
        ("collective", c_int32),
        ("algorithm", c_int32),
        ("max_bytes", c_int64),
        ("max_ranks", c_int64),
    )


class PlatformParameters(ctypes.Structure):
    """struct st_sim_platform."""

    _fields_ = (
        ("network", NetworkParameters),
        ("memory", NetworkParameters),
        ("has_memory", c_int32),
        ("ranks_per_node", c_int32),
        ("serializes", c_int32),
        ("nrules", c_int32),
        ("rules", POINTER(RuleParameters)),
        ("reduce_per_byte", c_double),
        ("match_entry", c_double),
    )


class SimProgram(ctypes.Structure):
    """struct st_sim_program."""

    _fields_ = (
        ("nranks", c_int32),
        ("nnodes", c_int32),
        ("nfamilies", c_int32),
        ("narrays", c_int32),
        ("nodes", POINTER(SimNode)),
        ("families", POINTER(SimFamily)),
        ("array_offsets", _INT64),
        ("array_values", _INT64),
        ("load", _DOUBLE),
        ("seed", c_uint64),
        ("drawn", c_int32),
        ("steady", c_int32),
        ("slowness", _FLOAT),
        ("noise", _FLOAT),
        ("kernel_scale", c_double),
    )


class Sum(ctypes.Structure):
    """struct st_sim_sum."""

    _fields_ = (("low", c_uint64), ("high", c_int64))


class SimResult(ctypes.Structure):
    """struct st_sim_result."""

    _fields_ = (
        ("clocks", _INT64),
        ("by_node", POINTER(Sum)),
        ("by_rank", _INT64),
        ("calls", POINTER(Sum)),
        ("blocked", _INT32),
        ("executed", c_int64),
        ("message", c_char * 256),
    )


PROGRESS = ctypes.CFUNCTYPE(c_int, c_int64)


@cache
def library() -> Any:
    """Load the simulator. Raises CoreError when it is not there."""
    path = Path(__file__).with_name("libscalatrace_simulator.so")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise CoreError(f"cannot load the simulator: {error}; install scalatrace again") from None
    loaded.st_sim_run.argtypes = (
        POINTER(SimProgram),
        POINTER(PlatformParameters),
        POINTER(SimResult),
        PROGRESS,
    )
    loaded.st_sim_run.restype = c_int
    loaded.st_sim_run_path.argtypes = (
        POINTER(SimProgram), POINTER(PlatformParameters), POINTER(SimResult), _INT64, PROGRESS,
    )  # fmt: skip
    loaded.st_sim_run_path.restype = c_int
    loaded.st_sim_collective_times.argtypes = (
        POINTER(PlatformParameters), c_int32, c_int32, c_int64, c_int32, c_int32, _INT64,
    )  # fmt: skip
    loaded.st_sim_collective_times.restype = None
    return loaded
