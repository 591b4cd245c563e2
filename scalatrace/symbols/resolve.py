"""Replace the native frames of a trace by source lines; structure, values and times stay."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from scalatrace.errors import FormatError
from scalatrace.symbols.find import Finder
from scalatrace.symbols.module import Location, locations
from scalatrace.trace.model.callsite import is_offset, split_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["Found", "resolve"]


@dataclass
class Found:
    """How many frames of a module have a source line or a name.

    Attributes:
        path: its file; None: not found.
        frames: of the trace in this module.
        lines: frames with a source line.
        names: frames with a function's name only.
        note: why nothing was found.
    """

    module: str
    path: Path | None = None
    frames: int = 0
    lines: int = 0
    names: int = 0
    note: str = field(default="")


def resolve(trace: Trace, finder: Finder, force: bool = False) -> tuple[Trace, list[Found]]:
    """Return the trace with source lines in place of offsets where they are known, and a report per module.

    Args:
        force: also use files that are newer than the trace, whose offsets may be others.
    """
    offsets: dict[str, dict[str, int]] = {}
    for text in trace.frames:
        frame = split_frame(text)
        offset = frame.function.partition(":")[0]
        if not frame.line and is_offset(offset):
            offsets.setdefault(frame.file, {})[text] = int(offset, 16)
    report, new = [], {}
    for module, frames in offsets.items():
        found, texts = _resolved(module, frames, finder, "" if force else trace.meta.get("date", ""))
        report.append(found)
        new.update(texts)
    return replace(trace, frames=[new.get(text, text) for text in trace.frames]), report


def _resolved(
    module: str, frames: Mapping[str, int], finder: Finder, date: str
) -> tuple[Found, dict[str, str]]:
    """What was found, and the new texts of frames."""
    found = Found(module, finder.find(module), len(frames))
    if found.path is None:
        found.note = "not found; give its path with --binary"
        return found, {}
    if _is_newer(found.path, date):
        found.note = f"{found.path} is newer than the trace, so its offsets may differ; --force uses it"
        return found, {}
    try:
        known = locations(found.path, frames.values())
    except FormatError as error:
        found.note = str(error)
        return found, {}
    texts = {}
    for text, offset in frames.items():
        if (location := known.get(offset)) is not None:
            found.lines += location.line > 0
            found.names += location.line == 0
            texts[text] = _text(module, offset, location)
    if len(texts) < len(frames):
        found.note = f"{len(frames) - len(texts)} without a symbol"
    return found, texts


def _text(module: str, offset: int, location: Location) -> str:
    if location.line:
        return f"{location.file}:{location.line}:{location.function or '?'}"
    return f"{module}+{offset:#x}:{location.function}"


def _is_newer(path: Path, date: str) -> bool:
    try:
        recorded = datetime.fromisoformat(date).timestamp()
        return os.stat(path).st_mtime > recorded + 1
    except (ValueError, OSError):
        return False
