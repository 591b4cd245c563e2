"""Recording policy: parameters to summarise or drop, call sites to merge, calls to select, statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import read_toml
from scalatrace.record.selection import CallSelection, from_table
from scalatrace.record.stats import StatSpec, parse_stats
from scalatrace.trace.model.sites import Range, parse_ranges, spelled

__all__ = ["IRREGULAR", "RecordingPolicy", "from_toml", "parse_limit", "parse_parameters"]

SEPARATOR = "\x1f"
DEFAULT_LIMIT = 8
"""Terms of a value vector, or groups of ranks, before a parameter becomes a histogram."""
KEEP, DROP = 0, -1
IRREGULAR = (
    "source", "dest", "count", "sendcount", "recvcount",
    "sendcounts", "sdispls", "recvcounts", "rdispls", "displs",
)  # fmt: skip
"""The parameters that `--histograms` means."""

_NAME = re.compile(r"([A-Z]\w*\.)?[a-z]\w*")


@dataclass(frozen=True, slots=True)
class RecordingPolicy:
    """A recording policy; the default records everything, with times.

    Attributes:
        parameters: "count" or "Alltoallv.sendcounts" -> 0 keep, n > 0 histogram past n terms, -1 drop.
        tolerance: lines (native: bytes) by which call sites may differ and still be one (§5.2.3).
        ranges: (what the file's path ends with, first line or offset, last): one call site.
        selection: the calls that are recorded.
        stats: what is measured besides times (§5.2.5).
        fold_recursion: a repeated sequence of frames in a call stack is recorded once.
        loop_alignment, loop_agnostic: off only to show what they bring (§5.3.1, Figure 5.7).
    """

    parameters: Mapping[str, int] = field(default_factory=dict)
    tolerance: int = 0
    ranges: Sequence[Range] = ()
    stats: Sequence[StatSpec] = ()
    loop_alignment: bool = True
    loop_agnostic: bool = True
    fold_recursion: bool = True
    selection: CallSelection = field(default_factory=CallSelection)

    def __post_init__(self) -> None:
        if self.tolerance < 0:
            raise UsageError(
                f"--signature-tolerance {self.tolerance}: give 0 or "
                "a positive number of lines (native: bytes)"
            )
        if self.ranges and (self.selection.only_sites or self.selection.except_sites):
            raise UsageError(
                "--signature-range merges call sites that --only-sites and --except-sites distinguish: "
                "leave one of them out"
            )

    def environment(self) -> dict[str, str]:
        """Return the variables that the tracer reads; empty values are the defaults."""
        options = {
            "signature_tolerance": self.tolerance,
            "loop_alignment": int(self.loop_alignment),
            "loop_agnostic": int(self.loop_agnostic),
            "fold_recursion": int(self.fold_recursion),
        }
        changed = {name: value for name, value in options.items() if value != (name != "signature_tolerance")}
        return {
            "SCALATRACE_PARAMETERS": SEPARATOR.join(f"{name}={n}" for name, n in self.parameters.items()),
            "SCALATRACE_CORE_OPTIONS": SEPARATOR.join(f"{name}={n}" for name, n in changed.items()),
            "SCALATRACE_SITE_RANGES": SEPARATOR.join(
                f"{file}={low}-{high}" for file, low, high in self.ranges
            ),
            "SCALATRACE_STATS": SEPARATOR.join(stat.entry for stat in self.stats),
        }

    def meta(self) -> dict[str, str]:
        """Return the entries for the trace's header; none for the default policy."""
        entries = {}
        if self.parameters:
            entries["parameters"] = " ".join(
                f"{name}={_format_limit(n)}" for name, n in self.parameters.items()
            )
        if self.tolerance:
            entries["signature_tolerance"] = str(self.tolerance)
        if self.ranges:
            entries["signature_ranges"] = " ".join(map(spelled, self.ranges))
        if self.stats:
            entries["stats"] = " ".join(stat.word for stat in self.stats)
        return entries | self.selection.meta()


def _format_limit(limit: int) -> str:
    return {KEEP: "keep", DROP: "drop"}.get(limit, f"histogram:{limit}")


MAX_DIGITS = 20
"""Digits of a number; more are no 64 bits."""


def parse_limit(word: Any) -> int:
    """`keep`, `drop`, `histogram`, `histogram:N` -> the limit. Raises UsageError."""
    limit, _, number = str(word).partition(":")
    if limit in ("keep", "drop") and not number:
        return KEEP if limit == "keep" else DROP
    if (
        limit == "histogram"
        and (not number or (number.isdecimal() and len(number) < MAX_DIGITS))
        and 0 < int(number or DEFAULT_LIMIT) < 1 << 31
    ):
        return int(number or DEFAULT_LIMIT)
    raise UsageError(
        f"{word!r} is not a way to record a parameter; give keep, drop, histogram or histogram:N with N >= 1"
    )


def parse_parameters(pairs: Sequence[str]) -> dict[str, int]:
    """`["count=histogram:4", "Alltoallv.sendcounts=drop"]`. Raises UsageError."""
    limits = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} has no value; give PARAMETER=keep, drop or histogram[:N]")
        limits[_parameter(name)] = parse_limit(word)
    return limits


def _parameter(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a parameter; give a name such as count or Alltoallv.sendcounts")
    return name


def from_toml(path: str | Path) -> RecordingPolicy:
    """Read a policy from a TOML file:

        stats = ["cpu", "memory:call"]
        [parameters]
        count = "histogram:16"
        "Alltoallv.sendcounts" = "drop"
        [signatures]
        tolerance = 2
        ranges = ["solver.py:10-40"]
        [selection]
        only = ["p2p", "Allreduce"]
        communicators = ["world"]
        min_bytes = "1k"

    Raises UsageError.
    """
    try:
        return _policy(read_toml(path))
    except FormatError as error:
        raise UsageError(f"--policy {error}") from None
    except UsageError as error:
        raise UsageError(f"--policy {path}: {error}") from None


def _policy(content: dict[str, Any]) -> RecordingPolicy:
    stats = content.pop("stats", [])
    if not isinstance(stats, list):
        raise UsageError("stats: give a list of strings")
    sections = {"parameters": None, "signatures": {"tolerance", "ranges"}, "selection": None}
    for table, keys in content.items():
        if table not in sections or not isinstance(keys, dict):
            raise UsageError(
                f"unknown table [{table}]; give [parameters], [signatures], [selection] or stats"
            )
        names = sections[table]
        if names is not None and not set(keys) <= names:
            raise UsageError(f"[{table}] has an unknown key; give {' or '.join(sorted(names))}")
    signatures = content.get("signatures", {})
    tolerance, ranges = signatures.get("tolerance", 0), signatures.get("ranges", [])
    if type(tolerance) is not int or not isinstance(ranges, list):
        raise UsageError("[signatures]: give tolerance as an integer and ranges as a list of strings")
    parameters = {_parameter(name): parse_limit(word) for name, word in content.get("parameters", {}).items()}
    return RecordingPolicy(
        parameters,
        tolerance,
        parse_ranges(list(map(str, ranges))),
        selection=from_table(content.get("selection", {})),
        stats=parse_stats(list(map(str, stats))),
    )
