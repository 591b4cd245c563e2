"""Read trace files; each length, index and nesting is checked before use.

The payload is decoded piece by piece along the schema. So errors name the byte, and a wrong length in a file
allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.errors import FormatError
from scalatrace.files import read_file
from scalatrace.garbage import without_collection
from scalatrace.trace.io import check, decode
from scalatrace.trace.io.container import HEADER, Container, read_container
from scalatrace.trace.io.symbolic import read_formulas
from scalatrace.trace.io.unused import without_unused
from scalatrace.trace.model.nodes import Node, Sequence
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram_columns import ColumnReader

__all__ = ["MAX_NODE_DEPTH", "load", "load_any", "load_symbolic", "loads"]

MAX_NODE_DEPTH = check.MAX_NODE_DEPTH

DAMAGE = (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException)


def load(path: str | PathLike[str]) -> Trace:
    """Read a trace file.

    Raises:
        FormatError: it cannot be read, or is damaged; the message names the byte.
    """
    return loads(read_file(path), path)


def load_symbolic(path: str | PathLike[str]) -> SymbolicTrace:
    """Read the file of a symbolic trace (.stx).

    Raises:
        FormatError: as `load`, or the sizes of the trace are bound.
    """
    trace = load_any(path)
    if isinstance(trace, SymbolicTrace):
        return trace
    raise FormatError("a trace, not formulas: write those with `extrapolate --symbolic`", path)


def load_any(path: str | PathLike[str]) -> Trace | SymbolicTrace:
    """Read the file of a trace, whether or not its sizes are bound. Raises FormatError as `load`."""
    return _read(read_file(path), path)


def loads(data: bytes, path: str | PathLike[str] = "") -> Trace:
    """Return the trace in a file's bytes; `path` is for messages. Raises FormatError."""
    trace = _read(data, path)
    if isinstance(trace, Trace):
        return trace
    raise FormatError("formulas, not a trace; run `scalatrace extrapolate FILE -P N -o TRACE` first", path)


def _read(data: bytes, path: str | PathLike[str]) -> Trace | SymbolicTrace:
    container = read_container(data, path)
    if container.part:
        raise FormatError("one part of a trace; run `scalatrace merge` on its folder first", path)
    if container.symbolic:
        return read_formulas(container.payload, fspath(path))
    with without_collection():
        return _Payload(container, fspath(path)).trace()


IN_COLUMNS = "histograms"
"""The key of the histograms that are in columns. Files of earlier versions have none."""

LOAD_BETWEEN = "load-between"
"""The key of loads without start-up and shut-down, in place of `load`."""

TURNS = "turns"
"""The key of the order of threads on shared communicators."""

USES = "uses"
"""The key of the order of threads on shared requests, windows and files."""

_OPTIONAL = (IN_COLUMNS, LOAD_BETWEEN, TURNS, USES)

_REASONS: dict[type[BaseException], str] = {
    msgpack.OutOfData: "the payload ends too early",
    msgpack.StackError: "values are nested too deeply",
    RecursionError: "values are nested too deeply",
}
"""Errors of the decoder that have no text for users."""


class _Payload:
    """A payload being decoded."""

    def __init__(self, container: Container, path: str) -> None:
        self.path, self.deflated = path, container.deflated
        self.size = limit = len(container.payload)
        self.unpacker = msgpack.Unpacker(
            use_list=False,
            strict_map_key=False,
            unicode_errors="surrogateescape",
            max_buffer_size=max(limit, 1),
            max_array_len=limit,
            max_map_len=1,
            max_str_len=limit,
            max_bin_len=limit,
            max_ext_len=0,
        )
        self.unpacker.feed(container.payload)

    def trace(self) -> Trace:
        """Return the whole trace. Raises FormatError."""
        with self.blame():
            fields: dict[str, Any] = {}
            for key in self.map_keys():
                reader = _FIELDS.get(key)
                if reader is None or key in fields:
                    raise ValueError(f"the key {key!r} is unknown or there twice")
                if key != "nprocs" and "nprocs" not in fields:
                    raise ValueError("nprocs does not come first")
                fields[key] = reader(self, fields)
            columns = fields.pop(IN_COLUMNS, None)
            if columns is not None:
                columns.finish()
            if (between := fields.pop(LOAD_BETWEEN, None)) is not None:
                if "load" in fields:
                    raise ValueError(f"the payload has both 'load' and {LOAD_BETWEEN!r}")
                fields.update(load=between, load_between=True)
            if missing := [key for key in _FIELDS if key not in (*fields, *_OPTIONAL)]:
                raise ValueError(f"the payload has no {missing[0]!r}")
            if self.unpacker.tell() != self.size:
                raise ValueError("there is something after the payload")
            return check.check(Trace(**fields))

    @contextmanager
    def blame(self) -> Iterator[None]:
        """Turn whatever damage does to the decoder into a FormatError with the offset reached."""
        try:
            yield
        except FormatError as error:
            raise FormatError(error.reason, self.path) from None
        except DAMAGE as error:
            reason = _REASONS.get(type(error), str(error))
            where, base = ("payload", 0) if self.deflated else ("file", HEADER.size)
            offset = base + self.unpacker.tell()
            raise FormatError(reason or type(error).__name__, self.path, offset, where) from None

    def map_keys(self) -> Iterator[str]:
        """Yield the keys of a map; the caller reads each value before taking the next."""
        for _ in range(self.unpacker.read_map_header()):
            key = self.unpacker.unpack()
            if type(key) is not str:
                raise ValueError("a key is not a string")
            yield key

    def items(self) -> Iterator[Any]:
        """Yield the elements of an array of leaves."""
        for _ in range(self.unpacker.read_array_header()):
            yield self.unpacker.unpack()

    def nodes(self, fields: dict[str, Any], depth: int = 0) -> list[Node]:
        """Return an array of nodes."""
        if depth > MAX_NODE_DEPTH:
            raise ValueError("nodes are nested too deeply")
        return [self.node(fields, depth) for _ in range(self.unpacker.read_array_header())]

    def node(self, fields: dict[str, Any], depth: int) -> Node:
        """Decode one node."""
        width = self.unpacker.read_array_header()
        if width not in (2, 3, 5):
            raise ValueError(f"a node has {width} parts, not 2, 3 or 5")
        repeat = decode.repeat(self.unpacker.unpack(), fields["nprocs"])
        if width < 5:
            inner = tuple(self.nodes(fields, depth + 1))
            return Sequence(repeat, inner, decode.natural(self.unpacker.unpack()) if width == 3 else 0)
        op, signature, params, stats = (self.unpacker.unpack() for _ in range(4))
        return decode.event(repeat, op, signature, params, stats, fields)


def _table(entry: Callable[[Any, dict[str, Any]], Any]) -> Callable[[_Payload, dict[str, Any]], list[Any]]:
    return lambda payload, fields: [entry(raw, fields) for raw in payload.items()]


def _map(entry: Callable[[Any], Any]) -> Callable[[_Payload, dict[str, Any]], dict[str, Any]]:
    return lambda payload, fields: {key: entry(payload.unpacker.unpack()) for key in payload.map_keys()}


_FIELDS: dict[str, Callable[[_Payload, dict[str, Any]], Any]] = {
    "nprocs": lambda payload, fields: decode.nprocs(payload.unpacker.unpack()),
    "ranks": lambda payload, fields: decode.ranks(payload.unpacker.unpack(), fields),
    "meta": _map(decode.text),
    "ops": _table(decode.op),
    "stats": _table(decode.stat),
    "frames": _table(lambda raw, fields: decode.text(raw)),
    "signatures": lambda payload, fields: decode.signatures(payload.items()),
    "comms": _table(decode.family),
    "types": _table(decode.datatype),
    "strings": _table(lambda raw, fields: decode.text(raw)),
    "arrays": lambda payload, fields: decode.arrays(payload.items()),
    "preds": _table(decode.pred),
    "counts": _map(decode.natural),
    "load": _table(decode.load),
    LOAD_BETWEEN: _table(decode.load),
    IN_COLUMNS: lambda payload, fields: ColumnReader(payload.unpacker.unpack()),
    TURNS: lambda payload, fields: dict(_table(decode.turns)(payload, fields)),
    USES: lambda payload, fields: dict(_table(decode.uses)(payload, fields)),
    "nodes": lambda payload, fields: without_unused(payload.nodes(fields)),
}
