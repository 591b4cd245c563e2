"""ctypes binding of the executor (native/st_sim.h)."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path
from typing import Any

from scalatrace.errors import CoreError

__all__ = [
    "E_DEADLOCK",
    "E_MEMORY",
    "E_MISMATCH",
    "E_TIME",
    "MAX_PS",
    "PARTS",
    "PATH",
    "PROGRESS",
    "PS",
    "AlgorithmRow",
    "EngineFamily",
    "EngineField",
    "EngineMatching",
    "EngineNode",
    "EngineProgram",
    "EngineResult",
    "EngineRows",
    "EngineStream",
    "EngineTimes",
    "EngineTurns",
    "EngineUses",
    "NetworkParameters",
    "PlatformParameters",
    "RuleParameters",
    "SegmentParameters",
    "Sum",
    "TopologyParameters",
    "library",
]  # fmt: skip

E_MEMORY, E_DEADLOCK, E_TRACE, E_TIME, E_MISMATCH = -1, -2, -3, -4, -5

PS = 1000.0
"""Picoseconds of a nanosecond."""

MAX_PS = (1 << 63) - 1
"""The longest time of a simulation: 106 days."""

PARTS = 3
"""Computation, transfer, waiting."""
PATH = 5
"""Of a clock: total, computation, latency, bytes (all in ps), and number of latencies."""

_INT32, _INT64, _FLOAT, _DOUBLE = POINTER(c_int32), POINTER(c_int64), POINTER(c_float), POINTER(c_double)


class EngineField(ctypes.Structure):
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


class EngineTimes(ctypes.Structure):
    """struct st_sim_times."""

    _fields_ = (
        ("pred", c_int32),
        ("nbins", c_int32),
        ("mean_ps", c_int64),
        ("bins", _DOUBLE),
        ("more", c_double),
        ("less", c_double),
    )


_FIELDS = ("repeat", "peer", "nbytes", "tag", "family", "peer2", "tag2", "list", "turn", "object")


class EngineNode(ctypes.Structure):
    """struct st_sim_node."""

    _fields_ = (
        ("op", c_int32),
        ("end", c_int32),
        ("flags", c_int32),
        ("own_pred", c_int32),
        ("collective", c_int32),
        ("ntimes", c_int32),
        *((name, EngineField) for name in _FIELDS),
        ("times", POINTER(EngineTimes)),
        ("duration_ps", c_int64),
        ("link_per_byte", _FLOAT),
        ("nlinked", c_int32),
    )


class EngineFamily(ctypes.Structure):
    """struct st_sim_family."""

    _fields_ = (
        ("instance", _INT32),
        ("position", _INT32),
        ("ninstances", c_int32),
        ("offsets", _INT64),
        ("members", _INT32),
    )


class EngineStream(ctypes.Structure):
    """struct st_sim_stream."""

    _fields_ = (("rank", c_int32), ("thread", c_int32), ("first", c_int32), ("end", c_int32))


class EngineTurns(ctypes.Structure):
    """struct st_sim_turns."""

    _fields_ = (("family", c_int32), ("rank", c_int32), ("nruns", c_int64), ("runs", _INT64))


class EngineUses(ctypes.Structure):
    """struct st_sim_uses."""

    _fields_ = (
        ("kind", c_int32),
        ("name", c_int32),
        ("rank", c_int32),
        ("nvalues", c_int64),
        ("values", _INT64),
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
        ("nfactors", c_int32),
        ("factors", _DOUBLE),
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
        ("min_ranks", c_int64),
        ("max_ranks", c_int64),
        ("max_total_bytes", c_int64),
        ("max_bytes_per_rank", c_int64),
        ("power_of_two", c_int32),
        ("lists", c_int32),
    )


class AlgorithmRow(ctypes.Structure):
    """struct st_sim_algorithm."""

    _fields_ = (
        ("collective", c_int32),
        ("name", c_char_p),
        ("condition", c_char_p),
        ("otherwise", c_char_p),
    )


class TopologyParameters(ctypes.Structure):
    """struct st_sim_topology."""

    _fields_ = (
        ("kind", c_int32),
        ("nnodes", c_int32),
        ("nvertices", c_int32),
        ("nshape", c_int32),
        ("shape", _INT32),
        ("per_byte", _DOUBLE),
        ("latency", _DOUBLE),
        ("own_latency", c_double),
    )


class PlatformParameters(ctypes.Structure):
    """struct st_sim_platform."""

    _fields_ = (
        ("network", NetworkParameters),
        ("memory", NetworkParameters),
        ("has_memory", c_int32),
        ("ranks_per_node", c_int32),
        ("node_of", _INT32),
        ("links", c_void_p),
        ("flows", c_int32),
        ("serializes", c_int32),
        ("nrules", c_int32),
        ("rules", POINTER(RuleParameters)),
        ("reduce_per_byte", c_double),
        ("match_entry", c_double),
        ("noisy", c_int32),
        ("noise_seed", c_uint64),
    )


class EngineProgram(ctypes.Structure):
    """struct st_sim_program."""

    _fields_ = (
        ("nranks", c_int32),
        ("nnodes", c_int32),
        ("nfamilies", c_int32),
        ("narrays", c_int32),
        ("nodes", POINTER(EngineNode)),
        ("families", POINTER(EngineFamily)),
        ("array_offsets", _INT64),
        ("array_values", _INT64),
        ("load", _DOUBLE),
        ("uneven", _DOUBLE),
        ("seed", c_uint64),
        ("drawn", c_int32),
        ("steady", c_int32),
        ("slowness", _FLOAT),
        ("noise", _FLOAT),
        ("kernel_scale", c_double),
        ("nstreams", c_int32),
        ("nturns", c_int32),
        ("nuses", c_int32),
        ("streams", POINTER(EngineStream)),
        ("turns", POINTER(EngineTurns)),
        ("uses", POINTER(EngineUses)),
    )


class Sum(ctypes.Structure):
    """struct st_sim_sum."""

    _fields_ = (("low", c_uint64), ("high", c_int64))


class EngineResult(ctypes.Structure):
    """struct st_sim_result."""

    _fields_ = (
        ("clocks", _INT64),
        ("by_node", POINTER(Sum)),
        ("by_rank", _INT64),
        ("calls", POINTER(Sum)),
        ("blocked", _INT32),
        ("executed", c_int64),
        ("times_at", _INT64),
        ("times", _INT64),
        ("causes", _INT64),
        ("link_bytes", _DOUBLE),
        ("link_most", _DOUBLE),
        ("link_node", _INT32),
        ("message", c_char * 256),
    )


class EngineMatching(ctypes.Structure):
    """struct st_sim_matching."""

    _fields_ = (
        ("policy", c_int32),
        ("synchronous", c_int32),
        ("polls_wait", c_int32),
        ("keeps_senders", c_int32),
        ("recording", c_int32),
        ("seed", c_uint64),
        ("present", POINTER(c_uint8)),
        ("ncertain", c_int64),
        ("nsent", c_int64),
        ("nwanted", c_int64),
        ("certain", _INT64),
        ("sent", _INT64),
        ("wanted", _INT64),
    )


class EngineRows(ctypes.Structure):
    """struct st_sim_rows."""

    _fields_ = (("count", c_int64), ("rows", c_void_p))


PROGRESS = ctypes.CFUNCTYPE(c_int, c_int64)


@cache
def library() -> Any:
    """Load the executor. Raises CoreError when it is not there."""
    path = Path(__file__).with_name("libscalatrace_executor.so")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise CoreError(f"cannot load the executor: {error}; install scalatrace again") from None
    loaded.st_sim_run.argtypes = (
        POINTER(EngineProgram),
        POINTER(PlatformParameters),
        POINTER(EngineResult),
        PROGRESS,
    )
    loaded.st_sim_run.restype = c_int
    loaded.st_sim_run_path.argtypes = (
        POINTER(EngineProgram), POINTER(PlatformParameters), POINTER(EngineResult), _INT64, PROGRESS,
    )  # fmt: skip
    loaded.st_sim_run_path.restype = c_int
    loaded.st_sim_collective_times.argtypes = (
        POINTER(PlatformParameters), c_int32, c_int64, c_int32, c_int32, _INT64,
    )  # fmt: skip
    loaded.st_sim_collective_times.restype = None
    loaded.st_sim_describe_algorithm.argtypes = (c_int32,)
    loaded.st_sim_describe_algorithm.restype = AlgorithmRow
    loaded.st_sim_choose_algorithm.argtypes = (
        POINTER(RuleParameters), c_int32, c_int32, c_int64, c_int32, c_int32,
    )  # fmt: skip
    loaded.st_sim_usable_algorithm.argtypes = (c_int32, c_int32, c_int32)
    loaded.st_sim_schedule.argtypes = (
        c_int32, c_int32, c_int32, c_int64, c_int32, _INT64, _INT64, c_int64, c_void_p,
    )  # fmt: skip
    loaded.st_sim_schedule.restype = c_int64
    _declare_topology(loaded)
    _declare_matching(loaded)
    return loaded


def _declare_topology(loaded: Any) -> None:
    loaded.st_sim_links_new.argtypes = (POINTER(TopologyParameters),)
    loaded.st_sim_links_new.restype = c_void_p
    loaded.st_sim_links_free.argtypes = (c_void_p,)
    loaded.st_sim_links_free.restype = None
    loaded.st_sim_count_links.argtypes = (c_void_p,)
    loaded.st_sim_count_links.restype = c_int64
    loaded.st_sim_routes.argtypes = (
        c_void_p, c_int64, _INT32, _INT32, _INT64, c_int64, _INT32,
    )  # fmt: skip
    loaded.st_sim_routes.restype = c_int64
    loaded.st_sim_link_loads.argtypes = (
        POINTER(PlatformParameters), c_int64, _INT32, _INT32, _DOUBLE, _DOUBLE, _FLOAT,
    )  # fmt: skip


def _declare_matching(loaded: Any) -> None:
    loaded.st_sim_match.argtypes = (
        POINTER(EngineProgram), POINTER(EngineMatching), POINTER(c_int), _INT64, c_char_p,
    )  # fmt: skip
    loaded.st_sim_match.restype = c_void_p
    loaded.st_sim_match_free.argtypes = (c_void_p,)
    loaded.st_sim_match_free.restype = None
    for name, places in (
        ("slots", 2), ("repeats", 2), ("missing", 1),
        ("waits", 0), ("decisions", 0), ("left", 0), ("mismatch", 0),
    ):  # fmt: skip
        function = getattr(loaded, f"st_sim_match_{name}")
        function.argtypes, function.restype = (c_void_p, *[c_int32] * places), EngineRows
    loaded.st_sim_quota_new.argtypes = (_INT64, c_int64, _INT64, c_int64)
    loaded.st_sim_quota_new.restype = c_void_p
    loaded.st_sim_quota_whole.argtypes = loaded.st_sim_quota_free.argtypes = (c_void_p,)
    loaded.st_sim_quota_allows.argtypes = loaded.st_sim_quota_take.argtypes = (c_void_p, _INT32)
    loaded.st_sim_quota_take.restype = loaded.st_sim_quota_free.restype = None
