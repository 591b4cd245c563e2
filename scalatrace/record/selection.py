"""Selection of the calls to record: by operation, communicator, call site, size and time (§6.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.operations import Category, operation
from scalatrace.spelling import did_you_mean
from scalatrace.trace.model.sites import Range, parse_sites, spelled

__all__ = [
    "GROUPS",
    "CallSelection",
    "Window",
    "choose",
    "from_table",
    "parse_size",
    "parse_window",
    "parse_words",
]

GROUPS = {
    "p2p": {
        Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE,
        Category.PERSISTENT, Category.START, Category.COMPLETION,
    },
    "collective": {Category.COLLECTIVE, Category.NEIGHBOUR},
    "rma": {Category.ONE_SIDED, Category.WINDOW},
    "io": {Category.IO, Category.FILE},
    "comm": {Category.COMMUNICATOR},
    "types": {Category.DATATYPE},
}  # fmt: skip
"""Names for many operations at once."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What it means to name an operation.

    Attributes:
        stands_for: the operations that are chosen then: itself, or that with whose calls it is recorded.
        always: it is recorded whatever is chosen.
        query: it is recorded only when local queries are.
    """

    stands_for: frozenset[str]
    always: bool = False
    query: bool = False


@cache
def _choices() -> dict[str, _Choice]:
    from scalatrace.pmpi import parameter_rules as rules
    from scalatrace.pmpi.standard import procedures

    probes = frozenset(p.op for p in procedures() if (m := p.find("MESSAGE")) and m.direction == "OUT")
    choices = {}
    for p in procedures():
        if rules.is_counted(p):
            choices[p.op] = _Choice(frozenset({p.op}), query=True)
        elif rules.is_event(p):
            role, refers = rules.role(p), rules.refers(p)
            stands_for = frozenset({p.op}) if role is rules.ParameterRole.SELECTABLE else frozenset()
            if refers and refers.kind == "MESSAGE":
                stands_for = probes
            elif rules.ends_split(p):
                stands_for = frozenset({p.op.removesuffix("_end") + "_begin"})
            choices[p.op] = _Choice(stands_for, always=role is rules.ParameterRole.ALWAYS)
    return choices


def choose(only: Sequence[str], excluded: Sequence[str], queries: bool) -> list[str]:
    """The operations that are left, of those that can be chosen.

    Args:
        only, excluded: names, patterns of names, keys of GROUPS, in any case and with or without `MPI_`; no
            `only` is all.
        queries: local queries are recorded too.

    Raises:
        UsageError: a word names nothing, or nothing that can be chosen; or nothing is left.
    """
    all_of_them = {op for c in _choices().values() if queries or not c.query for op in c.stands_for}
    wanted = {op for word in only for op in _choose_operation(word, queries, False)} if only else all_of_them
    remaining = wanted - {op for word in excluded for op in _choose_operation(word, queries, True)}
    if wanted and not remaining:
        raise UsageError("--only and --except leave no operation to record: remove one of them")
    return sorted(remaining)


def _choose_operation(word: str, queries: bool, excluded: bool) -> set[str]:
    option = "--except" if excluded else "--only"
    matched = _matching(word)
    if not matched:
        raise UsageError(f"{option} {word}: no MPI operation has this name{_near(word)}")
    usable = [c for c in matched.values() if queries or not c.query]
    named = {op for choice in usable for op in choice.stands_for}
    if named or (not excluded and any(c.always for c in usable)):
        return named
    name = next(op for op, c in matched.items() if not usable or c in usable)
    if not usable:
        raise UsageError(f"{option} {word}: MPI_{name} is a local query; add --record-queries to record it")
    if any(c.always for c in usable):
        raise UsageError(
            f"{option} {word}: MPI_{name} is always recorded, because later calls refer to its handles; "
            "leave it out"
        )
    raise UsageError(
        f"{option} {word}: MPI_{name} is recorded with the call that created its request; name that call"
    )


def _matching(word: str) -> dict[str, _Choice]:
    if word.lower() in GROUPS:
        categories = GROUPS[word.lower()]
        return {op: c for op, c in _choices().items() if operation(op).category in categories}
    pattern = word.lower().removeprefix("mpi_")
    return {op: c for op, c in _choices().items() if fnmatchcase(op.lower(), pattern)}


def _near(word: str) -> str:
    near = did_you_mean(word.lower().removeprefix("mpi_"), (*_choices(), *GROUPS), count=3)
    return near or "; give a name such as Isend, a pattern or a group such as p2p"


Window = tuple[float, float | None]
"""Seconds since MPI_Init: from, and to; None: to the end."""

SEPARATOR = "\x1f"
NANOSECONDS = 10**9
MAX_INT64 = (1 << 63) - 1
_SIZE = re.compile(r"(\d+)([kmg]?)b?", re.I)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_WINDOW = re.compile(r"(\d+\.?\d*|\.\d+)?-(\d+\.?\d*|\.\d+)?")


@dataclass(frozen=True, slots=True)
class CallSelection:
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

    def over(self, base: CallSelection) -> CallSelection:
        """This one, with the other's conditions where it has none."""
        conditions = {
            f.name: value for f in fields(self) if (value := getattr(self, f.name)) not in ((), [], None)
        }
        return CallSelection(**{**{f.name: getattr(base, f.name) for f in fields(base)}, **conditions})


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


def from_table(table: dict[str, Any]) -> CallSelection:
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
    return CallSelection(**conditions)
