"""scalatrace: records MPI programs into one small, exact, structure-preserving trace.

In a notebook:

    trace = scalatrace.load("a.st")
    for call in trace.walk(3):
        print(call.op, call.get("dest"), call.site)
    trace.matrix("bytes")
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from scalatrace.errors import ScalatraceError
from scalatrace.stat import Stat
from scalatrace.trace.views import register_simulation, register_views

if TYPE_CHECKING:
    from scalatrace.trace.model.symbolic import SymbolicTrace
    from scalatrace.trace.model.trace import Trace
    from scalatrace.trace.views import Views

__all__ = ["ScalatraceError", "Stat", "Trace", "__version__", "kernel", "load", "save", "tracing"]

__version__: str
"""Version of the installed package, as pyproject.toml has it; "unknown" if none is installed."""


NAMES_S = 10.0
"""Seconds for the names of native call sites, as of commands."""


def load(path: str | PathLike[str], names: bool = False) -> Trace:
    """Read a trace file. Raises FormatError, a ScalatraceError, when it is not one.

    Args:
        names: look up source lines and functions of native call sites, in the programs and libraries of the
            run where they are at hand and unchanged, as commands do.
    """
    from scalatrace.trace.io.reader import load

    trace = load(path)
    if not names:
        return trace
    from scalatrace.symbols.find import Finder
    from scalatrace.symbols.resolve import resolve

    return resolve(trace, Finder.of(trace.meta), limit_s=NAMES_S)[0]


def save(trace: Trace | SymbolicTrace, path: str | PathLike[str], compress: bool = True) -> int:
    """Write a trace file in one step and return its size in bytes. Raises ScalatraceError."""
    from scalatrace.trace.io.writer import save

    return save(trace, path, compress)


def tracing(*args: Any, **options: Any) -> Any:
    """Switch recording on or off in the running program; see `scalatrace.record.tracing`."""
    from scalatrace.record import tracing

    return tracing(*args, **options)


def kernel(*args: Any, **options: Any) -> Any:
    """Mark a computation kernel in the running program; see `scalatrace.record.kernel`."""
    from scalatrace.record import kernel

    return kernel(*args, **options)


def _notebook() -> Views:
    from scalatrace.report import notebook

    return notebook


def _ideal_time_ns(trace: Trace) -> float | None:
    from scalatrace.predict.engine.root_causes import ideal_time_ns

    return ideal_time_ns(trace)


register_views(_notebook)
register_simulation(_ideal_time_ns)


def __getattr__(name: str) -> Any:
    """Import `Trace`, and look up `__version__`, when they are needed: commands start faster without."""
    if name == "Trace":
        from scalatrace.trace.model.trace import Trace

        return Trace
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("scalatrace")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
