"""Rules by which MPI libraries choose algorithms of collectives: one file for a range of versions.

Nonblocking collectives take the rules of the blocking ones. Algorithms that look at nodes (Open MPI's `han`,
MPICH's `smp` and its compositions for shared memory) are not among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from scalatrace.errors import UsageError
from scalatrace.files import parse_toml
from scalatrace.predict.platform.algorithms import DEFAULT_RULES, AlgorithmRule
from scalatrace.predict.platform.table_objects import object_of, read_rules
from scalatrace.spelling import did_you_mean

__all__ = [
    "THAKUR",
    "LibraryRules",
    "library_name",
    "list_library_rules",
    "recorded_rules",
    "rules_of_library",
]

_VERSION = re.compile(r"(Open MPI|MPICH)(?: v| Version:\s*)(\d+(?:\.\d+)*)")
"""In the text of MPI_Get_library_version. Libraries that are made from MPICH name themselves otherwise."""
_NAME = re.compile(r"([a-z]+)(?:-(\d+(?:\.\d+)*))?")


@dataclass(frozen=True)
class LibraryRules:
    """The rules of some versions of a library.

    Attributes:
        library: as in the text of MPI_Get_library_version; "" of rules of no library.
        from_version, before_version: the first version, and the one after the last; "" without one.
        source: where the rules are from.
        collectives: by operation, in lower case; the first rule that holds counts.
    """

    library: str = ""
    from_version: str = ""
    before_version: str = ""
    source: str = ""
    collectives: Mapping[str, tuple[AlgorithmRule, ...]] = field(default_factory=lambda: DEFAULT_RULES)

    @property
    def name(self) -> str:
        """The name for `mpi` of platforms."""
        return f"{_key(self.library)}-{self.from_version}" if self.library else "thakur"

    @property
    def versions(self) -> str:
        """The versions that have these rules, as text."""
        return f"from {self.from_version}, before {self.before_version}"

    def covers(self, version: str) -> bool:
        """Whether a version has these rules."""
        return _numbers(self.from_version) <= _numbers(version) < _numbers(self.before_version)


THAKUR = LibraryRules(source="Thakur, Rabenseifner, Gropp 2005")
"""Rules for unknown libraries."""


def _key(library: str) -> str:
    return library.lower().replace(" ", "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@cache
def list_library_rules() -> tuple[LibraryRules, ...]:
    """Return the rules of all libraries, by library and version."""
    folder = resources.files("scalatrace.predict.platform").joinpath("libraries")
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda f: f.name
    )
    rules = []
    for entry in files:
        raw = parse_toml(entry.read_text(encoding="utf-8"), entry.name)
        parts = {"collectives": read_rules(raw.pop("collectives"))}
        rules.append(object_of(LibraryRules, raw, "", parts))
    return tuple(rules)


def recorded_rules(mpi: str) -> LibraryRules:
    """Return the rules of the library that a trace was recorded with; THAKUR of others.

    Args:
        mpi: the text of MPI_Get_library_version.
    """
    match = _VERSION.search(mpi)
    if match is None:
        return THAKUR
    covering = (
        rules for rules in list_library_rules() if rules.library == match[1] and rules.covers(match[2])
    )
    return next(covering, THAKUR)


def library_name(mpi: str) -> str:
    """Return the name of a library with its version, for `mpi` of platforms; `mpi` as of `recorded_rules`."""
    match = _VERSION.search(mpi)
    if match is None or recorded_rules(mpi) is THAKUR:
        return THAKUR.name
    return f"{_key(match[1])}-{match[2]}"


def rules_of_library(name: str) -> LibraryRules:
    """Return the rules of a library by its name, with or without a version: "openmpi", "mpich-4.1.2".

    Without a version, the newest rules are meant. "thakur" are those of no library.

    Raises:
        UsageError: there are no rules of this name or version.
    """
    if name == THAKUR.name:
        return THAKUR
    match = _NAME.fullmatch(name)
    listed = list_library_rules()
    matching = [rules for rules in listed if match and _key(rules.library) == match[1]]
    if not match or not matching:
        names = [THAKUR.name, *dict.fromkeys(_key(rules.library) for rules in listed)]
        raise UsageError(f"mpi is {name!r}; known: {', '.join(names)}{did_you_mean(name, names)}")
    if not match[2]:
        return matching[-1]
    covering = [rules for rules in matching if rules.covers(match[2])]
    if not covering:
        spans = ", ".join(rules.versions for rules in matching)
        raise UsageError(f"mpi is {name!r}; there are rules of {match[1]} {spans}")
    return covering[0]
