"""Formulas and topologies of the user's own (§3.3): a Python file, or an entry point in `scalatrace.extrap`.

A plug-in is a module with any of

    FUNCTIONS = {"name": function}         for formulas; takes integers, or numpy arrays with one per rank
    FEATURES = [("name(r, P)", 2.0), ...]  expressions that formulas may be made of, with their weights
    PARTITIONS = [["cond", "cond"], ...]   ways to divide ranks into classes that behave alike
    def dims(trace): ...                   the grid of a trace, or None

samples/plugins/cg_transpose.py is the example.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from extrap.errors import InputError
from extrap.expression import FUNCTIONS, check
from extrap.features import EXTRA
from extrap.space import EXTRA_PARTITIONS

if TYPE_CHECKING:
    from scalatrace import Trace

GROUP = "scalatrace.extrap"
Dims = Callable[["Trace"], tuple[int, ...] | None]

DIMS: list[Dims] = []
"""What says the grid of a trace, in the order of loading."""

__all__ = ["DIMS", "GROUP", "load_plugins", "register"]


def load_plugins(paths: Sequence[str | Path] = ()) -> None:
    """Load the installed plug-ins and those of these files.

    Raises:
        InputError: a file is no plug-in.
    """
    for entry in entry_points(group=GROUP):
        register(entry.load(), entry.name)
    for path in paths:
        register(_module(Path(path)), str(path))


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file does
        raise InputError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    return module


def register(module: Any, name: str) -> None:
    """Let formulas use what a module offers. Raises InputError."""
    functions = getattr(module, "FUNCTIONS", {})
    offered = (
        getattr(module, "FEATURES", []),
        getattr(module, "PARTITIONS", []),
        getattr(module, "dims", None),
    )
    if not functions and not any(offered):
        raise InputError(f"{name}: no plug-in: it has none of FUNCTIONS, FEATURES, PARTITIONS, dims")
    FUNCTIONS.update(functions)
    for text, weight in offered[0]:
        check(text)
        if (text, float(weight)) not in EXTRA:
            EXTRA.append((text, float(weight)))
    for conditions in offered[1]:
        for text in conditions:
            check(text)
        if list(conditions) not in EXTRA_PARTITIONS:
            EXTRA_PARTITIONS.append(list(conditions))
    if offered[2] is not None and offered[2] not in DIMS:
        DIMS.append(offered[2])
