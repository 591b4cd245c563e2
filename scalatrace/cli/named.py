"""Names for native call sites in what commands print, where the programs are at hand and unchanged."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import scalatrace
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import read_any, read_trace, read_traces
from scalatrace.errors import ScalatraceError
from scalatrace.trace.model.callsite import native_frames

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.symbolic import SymbolicTrace
    from scalatrace.trace.model.trace_tables import TraceHeader

__all__ = ["SiteNames", "load_named", "load_named_alike", "load_named_any"]

T = TypeVar("T", bound="TraceHeader")


def load_named(path: str, limit_s: float, args: argparse.Namespace | None = None) -> Trace:
    """Return the trace with source lines of native call sites, as far as they are found in time.

    Args:
        args: of `sizes.add_sizes`, for formulas; None: the file has to be a trace.
    """

    if args is None:
        stage("reading")
    trace = scalatrace.load(path) if args is None else read_trace(path, args)
    return SiteNames.of(trace, path, limit_s).trace(trace)


def load_named_any(path: str, limit_s: float, args: argparse.Namespace) -> Trace | SymbolicTrace:
    """Return as `load_named` a trace, or a symbolic one if the command line gives no sizes for it."""
    trace = read_any(path, args)
    return SiteNames.of(trace, path, limit_s).trace(trace)


def load_named_alike(paths: Sequence[str], limit_s: float, args: argparse.Namespace) -> list[Trace]:
    """Return traces for a comparison; where equal frames would get other names, all keep offsets.

    Args:
        args: of `sizes.add_sizes`, for formulas.
    """
    traces = read_traces(paths, args)
    names = [SiteNames.of(trace, path, limit_s) for trace, path in zip(traces, paths, strict=True)]
    shown_names: dict[str, str] = {}
    for site_names in names:
        for text in site_names.natives:
            name = site_names.known.get(text, text)
            if shown_names.setdefault(text, name) != name:
                return list(traces)
    return [site_names.trace(trace) for site_names, trace in zip(names, traces, strict=True)]


class SiteNames:
    """Source lines or functions of native frames; they are looked up once, when the first one is needed.

    Args:
        frames: those of a trace or of formulas.
        meta: its header.
        path: its file, for messages.
        limit_s: seconds for all modules; 0: frames stay offsets.
    """

    def __init__(self, frames: Iterable[str], meta: Mapping[str, str], path: str, limit_s: float) -> None:
        self._frames, self._meta, self._path, self._limit_s = list(frames), meta, path, limit_s

    @classmethod
    def of(cls, trace: Trace | SymbolicTrace, path: str, limit_s: float) -> SiteNames:
        """Return the names of a trace."""
        return cls(trace.frames, trace.meta, path, limit_s)

    @cached_property
    def natives(self) -> set[str]:
        """The frames that are offsets into a program or library."""
        modules = native_frames(self._frames) if self._limit_s else {}
        return {text for offsets in modules.values() for text in offsets}

    @cached_property
    def known(self) -> dict[str, str]:
        """Native frame -> its name."""
        if not self.natives:
            return {}
        from scalatrace.symbols.find import Finder
        from scalatrace.symbols.resolve import names_of

        stage("looking up source lines")
        names, report = names_of(self._frames, self._meta, Finder.of(self._meta), limit_s=self._limit_s)
        if late := [entry.module for entry in report if entry.is_late]:
            print(
                f"scalatrace: {self._path}: no names for call sites in {', '.join(late)} within "
                f"{self._limit_s:g} s; `scalatrace resolve` stores them, --names {6 * self._limit_s:g} "
                "allows more time",
                file=sys.stderr,
            )
        return names

    def trace(self, trace: T) -> T:
        """Return the trace with names."""
        return trace.rename_frames(lambda frame: self.known.get(frame, frame)) if self.known else trace

    def text(self, text: str) -> str:
        """Return a text with names in place of native frames."""
        if "+0x" not in text or not self.natives:
            return text
        return self._pattern.sub(lambda match: self.known.get(match[0], match[0]), text)

    def facts(self, data: Any) -> Any:
        """Return plain data with names in its texts."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {key: self.facts(value) for key, value in data.items()}
        return [self.facts(entry) for entry in data] if isinstance(data, list | tuple) else data

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Give names to the call sites in messages of errors."""
        try:
            yield
        except ScalatraceError as error:
            if (rename := getattr(error, "rename", None)) is not None:  # made of several texts
                rename(self.text)
            else:
                error.args = (self.text(str(error)),)
            raise

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.natives, key=len, reverse=True)
        return re.compile(rf"(?<![\w.+/-])(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
