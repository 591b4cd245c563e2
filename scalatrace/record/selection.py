"""Selection of the calls to record: by operation, communicator, call site, size and time (§6.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.record.operation_selection import choose
from scalatrace.trace.model.sites import Range, parse_sites, spelled

__all__ = ["Selection", "Window", "from_table", "parse_size", "parse_window", "parse_words"]

Window = tuple[float, float | None]
"""Seconds since MPI_Init: from, and to; None: to the end."""

SEPARATOR = "\x1f"
NANOSECONDS = 10**9
MAX_INT64 = (1 << 63) - 1
_SIZE = re.compile(r"(\d+)([kmg]?)b?", re.I)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_WINDOW = re.compile(r"(\d+\.?\d*|\.\d+)?-(\d+\.?\d*|\.\d+)?")


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that must all hold; the default selects every call.

    Attributes:
        only, excluded: operations, as `choose` takes them.
        only_sites, except_sites: a call belongs to a site when any frame of its stack lies there.
        min_bytes, max_bytes: of what a call sends or what it receives, whichever is more.
        windows: a call belongs to one when it begins there.
        communicators: patterns of kinds ("world", "cart", ...) and of names that the program gave.
    """

    only: Sequence[str] = ()
    excluded: Sequence[str] = ()
    only_sites: Sequence[Range] = ()
    except_sites: Sequence[Range] = ()
    min_bytes: int | None = None
    max_bytes: int | None = None
    windows: Sequence[Window] = ()
    communicators: Sequence[str] = ()

    def __post_init__(self) -> None:
        low, high = self.min_bytes, self.max_bytes
        if low is not None and high is not None and low > high:
            raise UsageError(
                f"--min-bytes {low} exceeds --max-bytes {high}: no call would be recorded; swap them"
            )

    def check(self, stacks: bool, queries: bool) -> None:
        """Raises UsageError when it cannot be had with or without call stacks and local queries."""
        if (self.only_sites or self.except_sites) and not stacks:
            raise UsageError("--only-sites and --except-sites need call stacks: leave --stacks none out")
        self.operations(queries)

    def operations(self, queries: bool) -> list[str] | None:
        """The operations to record, beside those that always are; None: all. Raises UsageError."""
        return choose(self.only, self.excluded, queries) if self.only or self.excluded else None

    def environment(self, queries: bool) -> dict[str, str]:
        """The variables that the tracer reads; those of the default are empty."""
        operations = self.operations(queries)
        entries = [] if operations is None else ["1=by_op", *(f"{op}=op" for op in operations)]
        entries += [
            f"{n}={key}" for key in ("min_bytes", "max_bytes") if (n := getattr(self, key)) is not None
        ]
        entries += [
            f"{_ns(start)}-{MAX_INT64 if end is None else _ns(end)}=window" for start, end in self.windows
        ]
        entries += [f"{pattern}=comm" for pattern in self.communicators]
        return {
            "SCALATRACE_SELECTION": SEPARATOR.join(entries),
            "SCALATRACE_ONLY_SITES": _sites(self.only_sites),
            "SCALATRACE_EXCEPT_SITES": _sites(self.except_sites),
        }

    def meta(self) -> dict[str, str]:
        """The entry for the trace's header; none when every call is selected."""
        spelled_out: dict[str, Sequence[str]] = {
            "only": self.only,
            "except": self.excluded,
            "only-sites": [spelled(site) for site in self.only_sites],
            "except-sites": [spelled(site) for site in self.except_sites],
            "min-bytes": [] if self.min_bytes is None else [str(self.min_bytes)],
            "max-bytes": [] if self.max_bytes is None else [str(self.max_bytes)],
            "window": [f"{start:g}-{'' if end is None else f'{end:g}'}" for start, end in self.windows],
            "communicators": self.communicators,
        }
        words = [f"{option}={','.join(values)}" for option, values in spelled_out.items() if values]
        return {"selection": " ".join(words)} if words else {}

    def over(self, base: Selection) -> Selection:
        """This one, with the other's conditions where it has none."""
        own = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) not in ((), [], None)}
        return Selection(**{**{f.name: getattr(base, f.name) for f in fields(base)}, **own})


def _ns(seconds: float) -> int:
    return min(round(seconds * NANOSECONDS), MAX_INT64)


def _sites(ranges: Sequence[Range]) -> str:
    return SEPARATOR.join(f"{file}={low}-{high}" for file, low, high in ranges)


def parse_words(texts: Sequence[str]) -> list[str]:
    """`["Send,I*send", "collective"]` -> the words. Raises UsageError for an empty one."""
    words = [word.strip() for text in texts for word in text.split(",")]
    if any(not word or SEPARATOR in word for word in words):
        raise UsageError(f"{','.join(texts)!r} has an empty word; give words separated by commas")
    return words


def parse_size(text: str | int) -> int:
    """`64`, `4k`, `2M`, `1G` -> bytes; 1k is 1024. Raises UsageError."""
    match = _SIZE.fullmatch(str(text))
    if match is None or (nbytes := int(match[1]) * _UNITS[match[2].lower()]) > MAX_INT64:
        raise UsageError(f"{text!r} is not a number of bytes; give a number such as 64, 4k, 2M or 1G")
    return nbytes


def parse_window(text: str) -> Window:
    """`0.5-2`, `3-`, `-10` -> seconds since MPI_Init. Raises UsageError."""
    match = _WINDOW.fullmatch(text.strip())
    start = float(match[1] or 0) if match else 0.0
    end = float(match[2]) if match and match[2] else None
    if match is None or not (match[1] or match[2]) or (end is not None and end <= start):
        raise UsageError(
            f"{text!r} is not a window of time; give seconds since MPI_Init such as 0.5-2, 3- or -10"
        )
    return start, end


_LISTS = {
    "only": ("only", parse_words),
    "except": ("excluded", parse_words),
    "only_sites": ("only_sites", parse_sites),
    "except_sites": ("except_sites", parse_sites),
    "windows": ("windows", lambda texts: list(map(parse_window, texts))),
    "communicators": ("communicators", parse_words),
}
_SIZES = ("min_bytes", "max_bytes")


def from_table(table: dict[str, Any]) -> Selection:
    """Return the selection of the table [selection] of a policy file. Raises UsageError."""
    conditions: dict[str, Any] = {}
    for key, value in table.items():
        if key in _SIZES and isinstance(value, str | int) and not isinstance(value, bool):
            conditions[key] = parse_size(value)
        elif key in _LISTS and isinstance(value, list) and all(isinstance(text, str) for text in value):
            name, parse = _LISTS[key]
            conditions[name] = parse(value)
        elif key in _LISTS or key in _SIZES:
            wanted = "a number of bytes" if key in _SIZES else "a list of strings"
            raise UsageError(f"[selection] {key} = {value!r}: give {wanted}")
        else:
            raise UsageError(f"[selection] has no key {key!r}; give {', '.join((*_LISTS, *_SIZES))}")
    return Selection(**conditions)
