"""The emitters, by name: those of this package and those that others register as `scalatrace.emitters`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from scalatrace.codegen.emit.c.emitter import CEmitter
from scalatrace.codegen.emit.conceptual.emitter import ConceptualEmitter
from scalatrace.codegen.emit.contract import Emitter
from scalatrace.codegen.emit.python.emitter import PythonEmitter
from scalatrace.errors import UsageError

__all__ = ["GROUP", "emitter", "names"]

GROUP = "scalatrace.emitters"
"""Entry points of this group are classes or functions that give an `Emitter` when called."""

BUILT_IN: dict[str, Callable[[], Emitter]] = {
    "c": CEmitter,
    "python": PythonEmitter,
    "conceptual": ConceptualEmitter,
}


def names() -> list[str]:
    """The languages there are."""
    return sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def emitter(name: str) -> Emitter:
    """The emitter of a language. Raises UsageError when there is none."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            made: Emitter = entry.load()()
            return made
    raise UsageError(f"no language {name!r}; there are {', '.join(names())}")
