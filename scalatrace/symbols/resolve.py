"""Replace the native frames of a trace by source lines; structure, values and times stay."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from scalatrace.errors import FormatError
from scalatrace.symbols.find import Finder
from scalatrace.symbols.module import Location, build_id, locations
from scalatrace.symbols.time_limit import TimeUpError, time_limit
from scalatrace.trace.model.callsite import native_frames
from scalatrace.trace.model.trace import Trace

__all__ = ["Found", "names_of", "resolve"]


@dataclass
class Found:
    """How many frames of a module have a source line or a name.

    Attributes:
        path: its file; None: not found.
        frames: of the trace in this module.
        lines: frames with a source line.
        names: frames with a function's name only.
        note: why nothing was found.
        is_late: the time was over before all was looked up.
    """

    module: str
    path: Path | None = None
    frames: int = 0
    lines: int = 0
    names: int = 0
    note: str = field(default="")
    is_late: bool = False


def resolve(
    trace: Trace, finder: Finder, force: bool = False, limit_s: float | None = None
) -> tuple[Trace, list[Found]]:
    """Return the trace with source lines in place of offsets where they are known, and a report per module.

    Args:
        force: also use files that changed since the run, whose offsets may be others.
        limit_s: seconds for all modules; None: no limit.
    """
    names, report = names_of(trace.frames, trace.meta, finder, force, limit_s)
    return (
        replace(trace, frames=[names.get(text, text) for text in trace.frames]) if names else trace
    ), report


def names_of(
    frames: Iterable[str],
    meta: Mapping[str, str],
    finder: Finder,
    force: bool = False,
    limit_s: float | None = None,
) -> tuple[dict[str, str], list[Found]]:
    """Return offset -> source line of the frames for which one is known, and a report per module.

    Args:
        meta: header of the trace or of the formulas.
        force, limit_s: as of `resolve`.
    """
    date, report, names = meta.get("date", ""), list[Found](), dict[str, str]()
    end_s = None if limit_s is None else monotonic() + limit_s
    for module, offsets in native_frames(frames).items():
        try:
            with time_limit(None if end_s is None else end_s - monotonic()):
                facts, texts = _resolve_module(module, offsets, finder, date, force)
        except TimeUpError:
            note = f"not looked up within {limit_s:g} s"
            facts, texts = Found(module, None, len(offsets), note=note, is_late=True), {}
        report.append(facts)
        names.update(texts)
    return names, report


def _resolve_module(
    module: str, frames: Mapping[str, int], finder: Finder, date: str, force: bool
) -> tuple[Found, dict[str, str]]:
    """What was found, and the new texts of frames."""
    facts = Found(module, finder.find(module), len(frames))
    if facts.path is None:
        facts.note = "not found; give its path with --binary"
        return facts, {}
    if not force and (change := _change(facts.path, finder.build_ids.get(module, ""), date)):
        facts.note = f"{facts.path} {change}, so its offsets may differ; --force uses it"
        return facts, {}
    try:
        found_locations = locations(facts.path, frames.values())
    except FormatError as error:
        facts.note = str(error)
        return facts, {}
    texts = {}
    for text, offset in frames.items():
        if (location := found_locations.get(offset)) is not None:
            facts.lines += location.line > 0
            facts.names += location.line == 0
            texts[text] = _text(module, offset, location)
    if len(texts) < len(frames):
        facts.note = f"{len(frames) - len(texts)} without a symbol"
    return facts, texts


def _text(module: str, offset: int, location: Location) -> str:
    if location.line:
        return f"{location.file}:{location.line}:{location.function or '?'}"
    return f"{module}+{offset:#x}:{location.function}"


def _change(path: Path, recorded: str, date: str) -> str:
    """How a file differs from the recorded one; "": it does not. Without a build ID, its time decides."""
    if recorded:
        try:
            return "" if build_id(path) == recorded else "has another build ID than in the run"
        except FormatError:
            return ""  # reported when its addresses are looked up
    return "is newer than the trace" if _is_newer(path, date) else ""


def _is_newer(path: Path, date: str) -> bool:
    try:
        recorded = datetime.fromisoformat(date).timestamp()
        return os.stat(path).st_mtime > recorded + 1
    except (ValueError, OSError):
        return False
