"""Load classes derived from `scalatrace.Stat` in the traced program, for the tracer to call.

The other half is `pmpi/plugins/plugins_python.c`. What a plug-in raises is returned to it as text. Exceptions
that are no `Exception` pass: they come from the program's signal handlers, and go on to the program.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from scalatrace.stat import Stat

__all__ = ["load"]

Window = Callable[[str, int, int], float | str]
"""(operation, inside the call?, end of the window?) -> the sample, or why there is none."""


def load(spec: str) -> tuple[str, str, float, int, Callable[[], Window | str] | None]:
    """Find a class; the tracer calls this in MPI_Init.

    Args:
        spec: `module:Class` or `/path/file.py:Class`.

    Returns:
        "" or why it cannot be used; name, resolution and level of the class; what makes a thread's instance.
    """
    try:
        cls = _class(spec)
        name, resolution = cls.name, float(cls.resolution)
        if not isinstance(name, str) or "\0" in name:
            raise TypeError("its name is not a text")
    except Exception as error:
        return _describe_error(error), "", 1.0, 0, None
    return "", name, resolution, int(bool(cls.level)), lambda: _window(cls)


def _class(spec: str) -> type[Stat]:
    target, _, name = spec.rpartition(":")
    target_class: Any = (
        _from_file(Path(target)) if target.endswith(".py") else importlib.import_module(target)
    )
    for part in name.split("."):
        target_class = getattr(target_class, part)
    if not (isinstance(target_class, type) and issubclass(target_class, Stat)):
        raise TypeError(f"{name} is not a class derived from scalatrace.Stat")
    return target_class


def _from_file(path: Path) -> ModuleType:
    name = f"scalatrace_stat_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _window(cls: type[Stat]) -> Window | str:
    """A new instance, as one function; or why it could not be made."""
    try:
        stat = cls()
    except Exception as error:
        return _describe_error(error)

    def window(operation: str, inside: int, ends: int) -> float | str:
        try:
            stat.operation, stat.inside = operation, bool(inside)
            if ends:
                return float(stat.end())
            stat.start()
        except Exception as error:
            return _describe_error(error)
        return 0.0

    return window


def _describe_error(error: BaseException) -> str:
    """The exception in one line, with the place where it was raised."""
    at, place = error.__traceback__, ""
    while at is not None:
        place = f" ({Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})"
        at = at.tb_next
    return f"{type(error).__name__}: {error}{place}".replace("\n", " ").replace("\0", " ")
