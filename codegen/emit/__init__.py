"""The emitters, by name: those of this package and those that others register."""

from __future__ import annotations

from collections.abc import Callable

from scalatrace.codegen.emit.c.emitter import CEmitter
from scalatrace.codegen.emit.conceptual.emitter import ConceptualEmitter
from scalatrace.codegen.emit.interface import Emitter
from scalatrace.codegen.emit.python.emitter import PythonEmitter
from scalatrace.entry_points import registered
from scalatrace.errors import UsageError
from scalatrace.spelling import did_you_mean

__all__ = ["GROUP", "emitter", "names"]

GROUP = "scalatrace.codegen.emitters"
OLD_GROUP = "scalatrace.emitters"
"""Entry points of this group are classes or functions that give an `Emitter` when called."""

BUILT_IN: dict[str, Callable[[], Emitter]] = {
    "c": CEmitter,
    "python": PythonEmitter,
    "conceptual": ConceptualEmitter,
}


def names() -> list[str]:
    """The languages there are."""
    return sorted({*BUILT_IN, *(entry.name for entry in registered(GROUP, OLD_GROUP))})


def emitter(name: str) -> Emitter:
    """The emitter of a language. Raises UsageError when there is none."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    for entry in registered(GROUP, OLD_GROUP):
        if entry.name == name:
            result: Emitter = entry.load()()
            return result
    raise UsageError(f"no language {name!r}; there are {', '.join(names())}{did_you_mean(name, names())}")
