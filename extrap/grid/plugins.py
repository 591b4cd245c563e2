"""Load plug-ins of the extrapolator (§3.3): Python files, or entry points in `scalatrace.extrap.plugins`.

A plug-in is a module with any of

    FUNCTIONS = {"name": function}         functions for formulas; arguments: integers or numpy int64 arrays
    FEATURES = [("name(r, P)", 2.0), ...]  terms of formulas, with their weights
    PARTITIONS = [["cond", "cond"], ...]   ways to divide ranks into classes
    def dims(trace): ...                   the grid of a trace, or None

samples/plugins/cg_transpose.py is the example.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from operator import index
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scalatrace.entry_points import registered
from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid.space import EXTRA_PARTITIONS
from scalatrace.extrap.solve.features import EXTRA
from scalatrace.formula import FUNCTIONS, Expr, Function, format_text, parse_condition, parse_number
from scalatrace.formula import register as add_function
from scalatrace.formula.functions import ANY_ARITY
from scalatrace.trace.symbolic.counters import RESERVED

if TYPE_CHECKING:
    from scalatrace import Trace

GROUP = "scalatrace.extrap.plugins"
OLD_GROUP = "scalatrace.extrap"
Dims = Callable[["Trace"], tuple[int, ...] | None]

BUILT_IN = frozenset(FUNCTIONS)
"""The functions that formulas have without any plug-in."""

OWNERS: dict[str, str] = {}
"""Which plug-in a further function is of."""

DIMS: list[Dims] = []
"""The functions `dims` of plug-ins, in the order of loading: each gives the grid of a trace, or None."""

__all__ = ["DIMS", "GROUP", "load_plugins", "register"]


def load_plugins(paths: Sequence[str | Path] = ()) -> None:
    """Load the installed plug-ins and those of these files.

    Raises:
        InputError: a file is no plug-in.
    """
    for entry in registered(GROUP, OLD_GROUP):
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
    except (Exception, SystemExit) as error:  # whatever the user's file does
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
    try:
        item = "FUNCTIONS"
        mine = [_function(str(key), function) for key, function in functions.items()]
        item = "FEATURES"
        added = [(formula, float(weight)) for formula, weight in offered[0]]
        item = "PARTITIONS"
        partitions = [list(conditions) for conditions in offered[1]]
        item = "dims"
        dims = [offered[2]] if offered[2] is not None and _callable(offered[2]) else []
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"{name}: invalid {item}: {error}; samples/plugins/cg_transpose.py is an example"
        ) from None
    _check_names_free([function.name for function in mine], name)
    for function in mine:
        add_function(function)
    OWNERS.update(dict.fromkeys((function.name for function in mine), name))
    features = [(_feature(formula), weight) for formula, weight in added]
    for text in chain.from_iterable(partitions):
        parse_condition(text)
    EXTRA.extend(feature for feature in features if feature not in EXTRA)
    EXTRA_PARTITIONS.extend(one for one in partitions if one not in EXTRA_PARTITIONS)
    DIMS.extend(one for one in dims if one not in DIMS)


def _feature(formula: str | Expr) -> Expr:
    """Return a feature, which a plug-in gives as a text or as an expression. Raises FormulaError."""
    return parse_number(format_text(formula) if isinstance(formula, Expr) else formula)


def _check_names_free(functions: Iterable[str], name: str) -> None:
    """Raise InputError when a function would silently take another's place."""
    for function in functions:
        if function in BUILT_IN or function in RESERVED:
            raise InputError(f"{name}: formulas have a {function} of their own: give yours another name")
        if OWNERS.get(function, name) != name:
            raise InputError(f"{name}: {OWNERS[function]} has a function {function} already")


def dims_by(dims: Dims, trace: Trace) -> tuple[int, ...] | None:
    """Return the grid of a trace by a plug-in. Raises InputError if it is not a grid of its ranks."""
    try:
        dims_of_plugin = dims(trace)
        result = None if dims_of_plugin is None else tuple(map(index, dims_of_plugin))
    except Exception as error:  # whatever the user's function does
        raise InputError(
            f"the plug-in's dims() fails for {trace.nprocs} ranks: {type(error).__name__}: {error}"
        ) from None
    if result is not None and (prod(result) != trace.nprocs or min(result, default=0) < 1):
        raise InputError(f"the plug-in's dims() says {dims_of_plugin} of a trace of {trace.nprocs} ranks")
    return result


def _function(name: str, given: Any) -> Function:
    """Return a plug-in's function: a `Function`, or a Python function for integers and arrays alike."""
    if isinstance(given, Function):
        return replace(given, name=name)
    _callable(given)
    return Function(name, ANY_ARITY, given, given)


def _callable(given: Any) -> bool:
    if not callable(given):
        raise TypeError(f"{given!r} is no function")
    return True
