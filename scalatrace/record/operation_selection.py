"""Resolve operations named by the user (names, patterns, groups) to those to record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from scalatrace.errors import UsageError
from scalatrace.operations import Category, operation
from scalatrace.spelling import did_you_mean

__all__ = ["GROUPS", "choose"]

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
    result = {}
    for p in procedures():
        if rules.is_counted(p):
            result[p.op] = _Choice(frozenset({p.op}), query=True)
        elif rules.is_event(p):
            role, refers = rules.role(p), rules.refers(p)
            stands_for = frozenset({p.op}) if role is rules.ParameterRole.SELECTABLE else frozenset()
            if refers and refers.kind == "MESSAGE":
                stands_for = probes
            elif rules.ends_split(p):
                stands_for = frozenset({p.op.removesuffix("_end") + "_begin"})
            result[p.op] = _Choice(stands_for, always=role is rules.ParameterRole.ALWAYS)
    return result


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
    wanted = {op for word in only for op in _named(word, queries, False)} if only else all_of_them
    left = wanted - {op for word in excluded for op in _named(word, queries, True)}
    if wanted and not left:
        raise UsageError("--only and --except leave no operation to record: remove one of them")
    return sorted(left)


def _named(word: str, queries: bool, excluded: bool) -> set[str]:
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
