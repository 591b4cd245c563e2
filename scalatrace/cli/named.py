"""Load traces for display: native call sites get their names where the programs are at hand and unchanged."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scalatrace.cli.progress import stage

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["load_named", "load_named_alike"]


def load_named(path: str, limit_s: float) -> Trace:
    """Return the trace with source lines of native call sites, as far as they are found in time."""
    import scalatrace

    stage("reading")
    return _named(scalatrace.load(path), path, limit_s)


def load_named_alike(paths: tuple[str, str], limit_s: float) -> tuple[Trace, Trace]:
    """Return two traces for a comparison; where equal frames would get other names, both keep offsets."""
    import scalatrace

    given = [scalatrace.load(path) for path in paths]
    named = [_named(trace, path, limit_s) for trace, path in zip(given, paths, strict=True)]
    left, right = (dict(zip(a.frames, b.frames, strict=True)) for a, b in zip(given, named, strict=True))
    if any(text in right and right[text] != name for text, name in left.items()):
        return given[0], given[1]
    return named[0], named[1]


def _named(trace: Trace, path: str, limit_s: float) -> Trace:
    from scalatrace.symbols.resolve import native_modules

    if not limit_s or not native_modules(trace):
        return trace
    from scalatrace.symbols.find import Finder
    from scalatrace.symbols.resolve import resolve

    stage("looking up source lines")
    resolved, report = resolve(trace, Finder.of(trace), limit_s=limit_s)
    if late := [one.module for one in report if one.is_late]:
        print(
            f"scalatrace: {path}: no names for call sites in {', '.join(late)} within {limit_s:g} s; "
            f"`scalatrace resolve` stores them, --names {6 * limit_s:g} allows more time",
            file=sys.stderr,
        )
    return resolved
