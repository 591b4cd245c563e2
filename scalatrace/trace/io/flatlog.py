"""Flat logs (docs/reference/format.md): the uncompressed calls of one rank, read as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from typing import Any, NamedTuple

from scalatrace.errors import FormatError
from scalatrace.files import unreadable
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.tables import Datatype, Kind
from scalatrace.trace.values.vec import SPECIAL, UNDEFINED

__all__ = ["FlatCall", "FlatComm", "FlatLog"]

LETTERS = {"i": Kind.INT, "p": Kind.PEER, "c": Kind.COMM, "t": Kind.TYPE, "s": Kind.STRING, "a": Kind.ARRAY}

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_HEADER = re.compile(r"# scalatrace flat log 1 rank (\d{1,9}) of (\d{1,9})")
_END = re.compile(r"# end (\d+) events?")

MAX_CACHED_LINES = 100_000


class FlatCall(NamedTuple):
    """One call: operation, number of its stack signature, and values in the schema's order.

    Communicators and datatypes are the log's own numbers, strings and arrays are themselves.
    """

    op: str
    signature: int
    values: tuple[Any, ...]


class FlatComm(NamedTuple):
    """A communicator: kind, number of its parent or -1, world ranks, and those of a remote group."""

    kind: str
    parent: int
    members: tuple[int, ...]
    remote: tuple[int, ...] | None


class FlatLog:
    """A flat log as a stream: iterating yields its calls, and the tables grow as definitions are read.

    Attributes:
        rank, nprocs: from the first line.
        schemas: operation -> ((parameter, kind), ...).
        stacks, comms, types: by the log's numbers; stack 0 is empty.
        thread: that made the call read last.
        declared: number of events that the end line claims; None while there was none, that is, for a run
            that did not reach MPI_Finalize.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the log. Raises FormatError if the file cannot be read or does not begin like a flat log."""
        self.path = fspath(path)
        self.schemas: dict[str, tuple[tuple[str, Kind], ...]] = {}
        self.stacks: dict[int, Stack] = {0: ()}
        self.comms: dict[int, FlatComm] = {}
        self.types: dict[int, Datatype] = {}
        self.declared: int | None = None
        self.thread = 0
        self._cache: dict[str, FlatCall] = {}
        header = _HEADER.fullmatch(next(self._lines(), "").rstrip("\n"))
        if header is None:
            raise FormatError("not a flat log of this version", self.path, 0)
        self.rank, self.nprocs = int(header[1]), int(header[2])

    def _lines(self) -> Iterator[str]:
        try:
            with open(self.path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                yield from file
        except OSError as error:
            raise unreadable(error, self.path) from None

    def __iter__(self) -> Iterator[FlatCall]:
        """Yield the calls. Raises FormatError that names the damaged line."""
        cache = self._cache
        for number, line in enumerate(self._lines(), 1):
            call = cache.get(line)
            if call is not None:
                yield call
                continue
            try:
                call = self._read(line)
            except (ValueError, KeyError, IndexError, TypeError, RecursionError):
                raise FormatError(f"line {number} is damaged: {line.rstrip()[:80]!a}", self.path) from None
            if call is not None:
                if len(cache) > MAX_CACHED_LINES:
                    cache.clear()
                cache[line] = call
                yield call

    def _read(self, line: str) -> FlatCall | None:
        """Return the call of a line; None when the line is something else, which is noted."""
        if self.declared is not None or not line.endswith("\n"):
            raise ValueError("something after the end, or half a line")
        if line.startswith("@"):
            words = _TOKEN.findall(line)
            _DEFINITIONS[words[0]](self, words[1:])
        elif line.startswith("#"):
            if match := _END.fullmatch(line.rstrip()):
                self.declared = int(match[1])
        else:
            return self._call(_TOKEN.findall(line) if '"' in line else line.split())
        return None

    def _call(self, words: list[str]) -> FlatCall:
        schema = self.schemas[words[0]]
        values = tuple(_value(word, kind) for word, (_, kind) in zip(words[2:], schema, strict=True))
        self.stacks[int(words[1])]  # KeyError when not defined
        for value, (_, kind) in zip(values, schema, strict=True):
            if value == UNDEFINED and kind in _TABLES:
                continue
            if kind is Kind.COMM and value not in self.comms:
                raise ValueError("a communicator that is not defined")
            if kind is Kind.TYPE and value not in self.types:
                raise ValueError("a datatype that is not defined")
        return FlatCall(words[0], int(words[1]), values)

    def _schema(self, words: list[str]) -> None:
        pairs = (word.rsplit(":", 1) for word in words[1:])
        self.schemas[words[0]] = tuple((name, LETTERS[letter]) for name, letter in pairs)

    def _stack(self, words: list[str]) -> None:
        self.stacks[int(words[0])] = tuple(map(_text, words[1:]))

    def _comm(self, words: list[str]) -> None:
        number, kind, parent, members, *remote = words
        groups = [_array(word) for word in (members, *remote)]
        self.comms[int(number)] = FlatComm(kind, int(parent), groups[0], groups[1] if remote else None)

    def _switch(self, words: list[str]) -> None:
        (number,) = words
        self.thread = int(number)

    def _type(self, words: list[str]) -> None:
        number, size, extent, description = words
        self.types[int(number)] = Datatype(_text(description), int(size), int(extent))


_TABLES = (Kind.COMM, Kind.TYPE)
"""Kinds of parameters that are numbers of definitions, or UNDEFINED where there is none."""

_DEFINITIONS: dict[str, Callable[[FlatLog, list[str]], None]] = {
    "@O": FlatLog._schema,
    "@S": FlatLog._stack,
    "@C": FlatLog._comm,
    "@T": FlatLog._type,
    "@H": FlatLog._switch,
}


def _text(word: str) -> str:
    text = json.loads(word, strict=False)
    if type(text) is not str:
        raise ValueError("not a string")
    return text


def _array(word: str) -> tuple[int, ...]:
    if word[0] != "[" or word[-1] != "]":
        raise ValueError("not an array")
    return tuple(SPECIAL[w] if w in SPECIAL else int(w) for w in word[1:-1].split(",") if w)


def _value(word: str, kind: Kind) -> Any:
    if word in SPECIAL:
        return SPECIAL[word]
    if kind is Kind.INT or kind is Kind.PEER:
        return int(word)
    if kind is Kind.STRING:
        return _text(word)
    if kind is Kind.ARRAY:
        return _array(word)
    if word[0] != ("c" if kind is Kind.COMM else "t"):
        raise ValueError("not a communicator or datatype")
    return int(word[1:])
