"""What is not recorded in full: parameters summarised or dropped, call sites that are one, calls left out.
And what is measured besides times."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.record.selection import Selection, from_table
from scalatrace.record.stats import StatSpec, parse_stats
from scalatrace.trace.model.sites import Range, parse_ranges, spelled

__all__ = ["IRREGULAR", "Policy", "from_toml", "parse_limit", "parse_parameters"]

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
class Policy:
    """All of it; the default records everything, and times.

    Attributes:
        parameters: "count" or "Alltoallv.sendcounts" -> 0 keep, n > 0 histogram past n terms, -1 drop.
        tolerance: lines (native: bytes) by which call sites may differ and still be one (§5.2.3).
        ranges: (what the file's path ends with, first line or offset, last): one call site.
        selection: the calls that are recorded.
        stats: what is measured besides times (§5.2.5).
        loop_alignment, loop_agnostic: off only to show what they bring (§5.3.1, Figure 5.7).
    """

    parameters: Mapping[str, int] = field(default_factory=dict)
    tolerance: int = 0
    ranges: Sequence[Range] = ()
    stats: Sequence[StatSpec] = ()
    loop_alignment: bool = True
    loop_agnostic: bool = True
    selection: Selection = field(default_factory=Selection)

    def __post_init__(self) -> None:
        if self.tolerance < 0:
            raise UsageError(f"the signature tolerance must not be negative: {self.tolerance}")
        if self.ranges and (self.selection.only_sites or self.selection.except_sites):
            raise UsageError("--signature-range makes call sites one that --only-sites would tell apart")

    def environment(self) -> dict[str, str]:
        """The variables that the tracer reads; those of the default are empty."""
        options = {
            "signature_tolerance": self.tolerance,
            "loop_alignment": int(self.loop_alignment),
            "loop_agnostic": int(self.loop_agnostic),
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
        """Entries for the trace's header; none when everything is recorded."""
        found = {}
        if self.parameters:
            found["parameters"] = " ".join(f"{name}={_spelled(n)}" for name, n in self.parameters.items())
        if self.tolerance:
            found["signature_tolerance"] = str(self.tolerance)
        if self.ranges:
            found["signature_ranges"] = " ".join(map(spelled, self.ranges))
        if self.stats:
            found["stats"] = " ".join(stat.word for stat in self.stats)
        return found | self.selection.meta()


def _spelled(limit: int) -> str:
    return {KEEP: "keep", DROP: "drop"}.get(limit, f"histogram:{limit}")


def parse_limit(word: Any) -> int:
    """`keep`, `drop`, `histogram`, `histogram:N` -> the limit. Raises UsageError."""
    what, _, number = str(word).partition(":")
    if what in ("keep", "drop") and not number:
        return KEEP if what == "keep" else DROP
    if (
        what == "histogram"
        and (not number or number.isdecimal())
        and 0 < int(number or DEFAULT_LIMIT) < 1 << 31
    ):
        return int(number or DEFAULT_LIMIT)
    raise UsageError(f"{word!r} is not keep, drop, histogram or histogram:N with N of 1 or more")


def parse_parameters(pairs: Sequence[str]) -> dict[str, int]:
    """`["count=histogram:4", "Alltoallv.sendcounts=drop"]`. Raises UsageError."""
    found = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} is not of the form parameter=keep|drop|histogram[:N]")
        found[_parameter(name)] = parse_limit(word)
    return found


def _parameter(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no parameter; they are called like count or Alltoallv.sendcounts")
    return name


def from_toml(path: str | Path) -> Policy:
    """A policy from a file:

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
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        return _policy(content)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _policy(content: dict[str, Any]) -> Policy:
    stats = content.pop("stats", [])
    if not isinstance(stats, list):
        raise UsageError("stats is a list of strings")
    known = {"parameters": None, "signatures": {"tolerance", "ranges"}, "selection": None}
    for table, keys in content.items():
        if table not in known or not isinstance(keys, dict):
            raise UsageError(f"no table [{table}]; there are [parameters], [signatures], [selection], stats")
        names = known[table]
        if names is not None and not set(keys) <= names:
            raise UsageError(f"[{table}] has {', '.join(sorted(names))} only")
    signatures = content.get("signatures", {})
    tolerance, ranges = signatures.get("tolerance", 0), signatures.get("ranges", [])
    if type(tolerance) is not int or not isinstance(ranges, list):
        raise UsageError("tolerance is an integer, ranges a list of strings")
    parameters = {_parameter(name): parse_limit(word) for name, word in content.get("parameters", {}).items()}
    return Policy(
        parameters,
        tolerance,
        parse_ranges(list(map(str, ranges))),
        selection=from_table(content.get("selection", {})),
        stats=parse_stats(list(map(str, stats))),
    )
