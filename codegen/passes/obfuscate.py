"""Benchmarks that can be given away: nothing of the application but what it communicates.

Names, paths and call sites go, tags and files get numbers. That it worked is checked on the text itself:
every word in it is one of the language or of the library, or it is none of the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from scalatrace.codegen.errors import NameLeakError
from scalatrace.codegen.foreign import NO_TEXT, Foreign
from scalatrace.codegen.program.tree import BenchmarkProgram, Branch, LoopStatement, MpiCall, Stmt, calls
from scalatrace.formula import (
    Const,
    Expr,
    Item,
    Lookup,
    Select,
    Special,
    Value,
    Var,
    bounds,
    leaves,
    map_leaves,
    numbers_in,
    select,
)
from scalatrace.trace.anonymize.words import is_text_of_mpi, leaked
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace

__all__ = ["check", "obfuscate"]

TAGS = ("tag", "sendtag", "recvtag")
_OWN = re.compile(
    r"MPI_\w+|[A-Z_]+\d*(?:_\d+)?|before_[a-z_]+(?:_\d+)?|rank_(?:mod|div)_\d+|"
    r"(?:table|rows|bins|unused|part|sequence|thread|t|i|a|A|array|count|iteration|of_rank|peer|root|tag|trips|value)\d+\w?"
)
"""Names of MPI, and those that emitters make: tables, variables, communicators, datatypes."""


def obfuscate(program: BenchmarkProgram) -> BenchmarkProgram:
    """The same communication without names."""
    body = _strip(program.body)
    body = _change(body, TAGS, _renumber(_tags(body)))
    files = {i: f"file{n}" for n, i in enumerate(sorted(_indices(body, "filename", len(program.strings))), 1)}
    strings = tuple(
        Foreign(files.get(i, text.raw if is_text_of_mpi(text.raw) else "name"))
        for i, text in enumerate(program.strings)
    )
    comms = tuple(replace(family, kind=_kind(family.kind)) for family in program.comms)
    return replace(program, title=NO_TEXT, body=body, strings=strings, comms=comms)


def _kind(kind: str) -> str:
    return kind if kind.isalpha() and len(kind) < 12 else "comm"


def _strip(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    stripped: list[Stmt] = []
    for stmt in body:
        match stmt:
            case MpiCall():
                stripped.append(replace(stmt, site=()))
            case LoopStatement():
                stripped.append(replace(stmt, body=_strip(stmt.body)))
            case Branch():
                then, otherwise = _strip(stmt.then), _strip(stmt.otherwise)
                stripped.append(replace(stmt, then=then, otherwise=otherwise))
            case _:
                stripped.append(stmt)
    return tuple(stripped)


def _tags(body: tuple[Stmt, ...]) -> set[int] | None:
    """All tags of the program; None when some follow a rule, which has to stay."""
    tags: set[int] = set()
    for call in calls(body):
        for argument in call.arguments:
            if argument.name in TAGS and not _collect(argument.value, tags):
                return None
    return tags


def _collect(e: Value, into: set[int]) -> bool:
    plain = True
    for part in leaves(e):
        if isinstance(part, Const | Item | Special | Lookup):
            into |= numbers_in(part)
        elif isinstance(part, Var) and (limits := bounds(part)):
            plain = plain and limits[0] == 0  # counts from 0: as plain as can be
            into.update(range(limits[1] + 1) if limits[1] < 1 << 12 else ())
        else:
            plain = False
    return plain


def _renumber(tags: set[int] | None) -> Callable[[Value], Value]:
    """Tags by their order; those that count from 0 keep their numbers, and all do when some follow a rule."""
    if tags is None:
        return lambda e: e
    ordinary = sorted(tags)
    number = {tag: i for i, tag in enumerate(ordinary)}

    def leaf(part: Expr) -> Expr:
        if isinstance(part, Const):
            return Const(number.get(part.value, part.value))
        if isinstance(part, Item):
            return Item(tuple(number.get(tag, tag) for tag in part.table), part.index)
        return part

    def change(value: Value) -> Value:
        match value:
            case Select(cond, then, otherwise):
                return select(cond, change(then), change(otherwise))
            case Lookup(table, index):
                return Lookup(tuple(number.get(t, t) if isinstance(t, int) else t for t in table), index)
        return map_leaves(value, leaf)

    counting = ordinary == list(range(len(ordinary)))
    return (lambda e: e) if counting else change


def _change(
    body: tuple[Stmt, ...], names: Iterable[str], change: Callable[[Value], Value]
) -> tuple[Stmt, ...]:
    changed: list[Stmt] = []
    for stmt in body:
        match stmt:
            case MpiCall():
                arguments = tuple(
                    replace(a, value=change(a.value)) if a.name in names else a for a in stmt.arguments
                )
                changed.append(replace(stmt, arguments=arguments))
            case LoopStatement():
                changed.append(replace(stmt, body=_change(stmt.body, names, change)))
            case Branch():
                then, otherwise = (_change(part, names, change) for part in (stmt.then, stmt.otherwise))
                changed.append(replace(stmt, then=then, otherwise=otherwise))
            case _:
                changed.append(stmt)
    return tuple(changed)


def _indices(body: tuple[Stmt, ...], name: str, size: int) -> set[int]:
    indices: set[int] = set()
    for call in calls(body):
        for argument in call.arguments:
            if (
                argument.name == name
                and argument.kind is Kind.STRING
                and not _collect(argument.value, indices)
            ):
                return set(range(size))
    return indices


def secrets(trace: Trace) -> set[str]:
    """The trace's strings: call paths, file names, the header's texts."""
    return {text for text in (*trace.frames, *trace.strings, *trace.meta.values()) if text}


def check(text: str, trace: Trace, vocabulary: set[str]) -> None:
    """Make sure that a text holds no name of a trace.

    Args:
        vocabulary: the words of the language and of the library.

    Raises:
        NameLeakError: it does; the error says how many, and not which.
    """
    lower = {word.lower() for word in vocabulary}

    def is_own(word: str) -> bool:
        return word.lower() in lower or _OWN.fullmatch(word) is not None

    if leaks := leaked(text, (s for s in secrets(trace) if not is_text_of_mpi(s)), is_own):
        raise NameLeakError(
            f"the benchmark would hold {len(leaks)} names of the application: nothing was written"
        )
