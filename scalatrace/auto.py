"""Trace a program without `scalatrace record`: `import scalatrace.auto` before `from mpi4py import MPI`.

The library that `scalatrace record` preloads is loaded with RTLD_GLOBAL before mpi4py's extension, so its
symbols take precedence. Options are the variables that `scalatrace record` sets: SCALATRACE_OUTPUT,
SCALATRACE_STACKS, ...
"""

from __future__ import annotations

import ctypes
import os
import sys

from scalatrace.errors import UsageError
from scalatrace.record.launch import RecordOptions, environment
from scalatrace.record.shim import front_environment

__all__: list[str] = []


def _load() -> None:
    if hasattr(ctypes.CDLL(None), "scalatrace_tracing"):
        return  # under `scalatrace record` already
    if "mpi4py.MPI" in sys.modules:
        raise UsageError("import scalatrace.auto before mpi4py.MPI: MPI is loaded already")
    front = front_environment()
    options = RecordOptions(os.environ.get("SCALATRACE_OUTPUT", "out.st"))
    for name, value in environment(options, sys.orig_argv, front).items():
        if name != "LD_PRELOAD":
            os.environ.setdefault(name, value)
    ctypes.CDLL(front["SCALATRACE_FRONT"], mode=ctypes.RTLD_GLOBAL)


_load()
