"""Read the text form of a trace (grammars/trace.lark).

The callbacks of the grammar build the plain form of a file bottom-up. `decode` then checks it as it checks a
file; errors name line and column.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, reduce
from os import PathLike, fspath
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedInput

from scalatrace import grammars
from scalatrace.errors import FormatError, TextError
from scalatrace.files import read_text
from scalatrace.formula import format_text
from scalatrace.grammars.syntax import syntax_error
from scalatrace.trace.io import check, decode
from scalatrace.trace.io.text import ENCODINGS, KINDS, TEXT_VERSION
from scalatrace.trace.io.unused import without_unused
from scalatrace.trace.model.nodes import Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS, START
from scalatrace.trace.symbolic.field import EVERYWHERE
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["load_text", "parse"]

KIND = {name: kind for kind, name in KINDS.items()}
ENCODING = {name: encoding for encoding, name in ENCODINGS.items()}

TERMINALS = {
    "INT": "an integer", "NUMBER": "a number", "WORD": "a name", "STRING": "a string in quotes",
    "NEST": "a ranklist <...>", "TIMES": "x", "LBRACE": "{", "RBRACE": "}", "LPAR": "(", "RPAR": ")",
    "LSQB": "[", "RSQB": "]", "COMMA": ",", "COLON": ":", "SEMICOLON": ";", "EQUAL": "=", "STAR": "*",
    "VBAR": "|", "TILDE": "~", "AT": "@", "__ANON_0": "..", "$END": "the end",
}  # fmt: skip
"""Terminals of the grammar as messages name them."""


class Name(str):
    """A name and its position in the text."""

    line: int
    column: int


class RawEvent(NamedTuple):
    """An event before its names are looked up."""

    op: Name
    signature: int
    params: list[tuple[Name, Any]]
    stats: list[tuple[int, list[tuple[Name, Any]]]]


class RawNode(NamedTuple):
    """A node before its names are looked up: content is a RawEvent or a list of RawNodes."""

    repeat: Any
    content: Any
    place: Token | None = None
    thread: int = 0


def load_text(path: str | PathLike[str]) -> Trace:
    """Read a trace's text form from a file. Raises TextError, or FormatError when there is no such file."""
    return parse(read_text(path), path)


def parse(text: str, path: str | PathLike[str] = "") -> Trace:
    """Parse the text form of a trace; `path` is for messages. Raises TextError with line and column."""
    where = fspath(path)
    version, entries, nodes = _tree(text, where)
    if version != TEXT_VERSION:
        raise TextError(f"text form version {version}; this reader knows {TEXT_VERSION}", where, 1, 1)
    builder = _TextBuilder(where)
    for field, entry, place in entries:
        builder.add(field, entry, place)
    return builder.trace(nodes)


@cache
def _parser() -> Lark:
    return Lark(grammars.text("trace"), parser="lalr", transformer=_PlainForm(), maybe_placeholders=True)


def _tree(text: str, path: str) -> Any:
    """What the callbacks make of the text; what one of them refuses is blamed on the token just read."""
    parsing = _parser().parse_interactive(text)
    token = None
    try:
        for following in parsing.iter_parse():
            token = following
        return parsing.feed_eof(token)  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise syntax_error(error, text, path, TERMINALS) from None
    except ValueError as error:
        raise _text_error(error, path, token) from None


def _text_error(error: Exception, path: str, place: Any) -> TextError:
    return TextError(str(error), path, *_place(place))


def _place(place: Any) -> tuple[int, int]:
    return getattr(place, "line", 1) or 1, getattr(place, "column", 1) or 1


class _PlainForm(Transformer[Any, Any]):
    """Callbacks from the grammar's rules to the file's plain form."""

    def INT(self, token: Token) -> Token:  # noqa: N802 - lark calls it by the terminal's name
        if len(token) > 20:
            raise ValueError(f"{token[:20]}... is no 64-bit integer")
        return token

    def STRING(self, token: Token) -> Name:  # noqa: N802
        return _placed(json.loads(token, strict=False), token)

    def WORD(self, token: Token) -> Name:  # noqa: N802
        return _placed(str(token), token)

    def start(self, parts: list[Any]) -> Any:
        version, *words = parts
        entries = [part for part in words if not isinstance(part, RawNode)]
        return int(version), entries, [part for part in words if isinstance(part, RawNode)]

    # values

    def integer(self, parts: list[Any]) -> int:
        return int(parts[0])

    trip_count = integer

    def endless(self, parts: list[Any]) -> int:
        return 0

    def special(self, parts: list[Any]) -> int:
        return SPECIAL[parts[0]]

    def loop(self, parts: list[Any]) -> tuple[Any, ...]:
        trip_count, *inner, stride = parts
        return (trip_count, int(stride or 0), *inner)

    def terms(self, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    def ranklist(self, parts: list[Any]) -> RankList:
        return reduce(RankList.__or__, map(RankList.parse, parts))

    def group(self, parts: list[Any]) -> tuple[Any, Any]:
        return parts[0].terms, parts[1]

    def groups(self, parts: list[Any]) -> dict[int, Any]:
        return {0: tuple(part for group in parts for part in group)}

    def columns(self, parts: list[Any]) -> dict[int, Any]:
        return {1: (parts[0].terms, parts[1])}

    def summary(self, parts: list[Any]) -> dict[int, Any]:
        return {2: (parts[1], parts[0])}

    def over(self, parts: list[Any]) -> tuple[Any, ...]:
        names = [i for i, part in enumerate(parts) if isinstance(part, Name)]
        end = names[0] if names else len(parts)
        dims = tuple(int(part) for part in parts[: end - 1])
        inputs = tuple(v for i in names for v in (str(parts[i]), int(parts[i + 1])))
        return dims, int(parts[end - 1] is not None), inputs

    def nothing(self, parts: list[Any]) -> tuple[Any, Any]:
        return None, None

    def shaped(self, parts: list[Any]) -> tuple[Any, Any]:
        return str(parts[0]), tuple(map(str, parts[1:]))

    def filled_one(self, parts: list[Any]) -> tuple[Any, Any]:
        return None, (str(parts[0]),)

    def filled_many(self, parts: list[Any]) -> tuple[Any, Any]:
        return tuple(shape for shape, _ in parts), tuple(text for _, texts in parts for text in texts)

    def part(self, parts: list[Any]) -> tuple[Any, ...]:
        condition, value = parts
        return format_text(EVERYWHERE) if condition is None else str(condition), *value

    def around(self, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    def formulas(self, parts: list[Any]) -> dict[int, Any]:
        ranks, over, *conditional, around = parts
        return {3: (ranks.terms, *over, tuple(field for part in conditional for field in part), around or ())}

    # nodes

    def name(self, parts: list[Any]) -> Name:
        return parts[0] if isinstance(parts[0], Name) else _placed(str(parts[0]), parts[0])

    def kind(self, parts: list[Any]) -> str:
        return str(parts[0])

    encoding = kind

    def param(self, parts: list[Any]) -> tuple[Name, Any]:
        name, encoding, value = parts
        return name, value if encoding is None else (int(ENCODING[encoding]), value)

    def sample(self, parts: list[Any]) -> int:
        return int(parts[0])

    def histogram(self, parts: list[Any]) -> Any:
        n = [int(part) for part in parts]
        bins = tuple(Bin(*n[i : i + 4]) for i in range(5, len(n), 4))
        return Histogram(n[0], n[1], n[2], n[3], n[4], bins).encode()

    def samples(self, parts: list[Any]) -> tuple[Name, Any]:
        return parts[0], parts[1]

    def after(self, parts: list[Any]) -> tuple[int, list[Any]]:
        return int(parts[0]), [part for part in parts[1:] if part is not None]

    def event(self, parts: list[Any]) -> RawEvent:
        op, signature, *entries = (part for part in parts if part is not None)
        params = [part for part in entries if isinstance(part[0], Name)]
        return RawEvent(
            op, int(signature), params, [part for part in entries if not isinstance(part[0], Name)]
        )

    def sequence(self, parts: list[Any]) -> list[Any]:
        return parts

    def stream(self, parts: list[Any]) -> RawNode:
        thread, repeat, _, *nodes = parts
        return RawNode(repeat, nodes, thread, int(thread))

    def once(self, parts: list[Any]) -> RawNode:
        return RawNode(1, parts[0])

    def repeated(self, parts: list[Any]) -> RawNode:
        repeat, times, content = parts
        return RawNode(repeat, content, times)

    # tables: (field, raw entry, place)

    def schema(self, parts: list[Any]) -> tuple[Name, int]:
        return parts[0], int(KIND[parts[1]])

    def op(self, parts: list[Any]) -> Any:
        name, *params = (part for part in parts if part is not None)
        return "ops", (str(name), tuple(part for param in params for part in (str(param[0]), param[1]))), name

    def comm(self, parts: list[Any]) -> Any:
        kind, parent, *vecs = (part for part in parts if part is not None)
        return "comms", (str(kind), int(parent), *vecs), kind

    def nprocs(self, parts: list[Any]) -> Any:
        return "nprocs", int(parts[0]), parts[0]

    def ranks(self, parts: list[Any]) -> Any:
        return "ranks", parts[0].terms, None

    def meta(self, parts: list[Any]) -> Any:
        return "meta", (str(parts[0]), str(parts[1])), parts[0]

    def stat(self, parts: list[Any]) -> Any:
        return "stats", (str(parts[0]), float(parts[1])), parts[0]

    def frame(self, parts: list[Any]) -> Any:
        return "frames", str(parts[0]), parts[0]

    def signature(self, parts: list[Any]) -> Any:
        return "signatures", tuple(map(int, parts)), parts[0] if parts else None

    def type(self, parts: list[Any]) -> Any:
        return "types", (str(parts[0]), int(parts[1]), int(parts[2])), parts[0]

    def string(self, parts: list[Any]) -> Any:
        return "strings", str(parts[0]), parts[0]

    def array(self, parts: list[Any]) -> Any:
        length, relative, sums, vec = parts
        return "arrays", (int(length), vec, relative is not None, sums is not None), length

    def pred_start(self, parts: list[Any]) -> Any:
        return "preds", START, None

    def pred(self, parts: list[Any]) -> Any:
        return "preds", (parts[0], int(parts[1])), parts[0]

    def count(self, parts: list[Any]) -> Any:
        return "counts", (str(parts[0]), int(parts[1])), parts[0]

    def load(self, parts: list[Any]) -> Any:
        return "load", parts[0], None

    def load_between(self, parts: list[Any]) -> Any:
        return "load_between", True, None

    def turns(self, parts: list[Any]) -> Any:
        return "turns", (int(parts[0]), parts[1]), parts[0]

    def uses(self, parts: list[Any]) -> Any:
        return "uses", (int(parts[0]), int(parts[1]), parts[2]), parts[0]

    def no_load(self, parts: list[Any]) -> Any:
        return "load", None, None


def _placed(text: str, token: Token) -> Name:
    name = Name(text)
    name.line, name.column = token.line or 1, token.column or 1
    return name


_TABLES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "ops": decode.op,
    "stats": decode.stat,
    "frames": lambda raw, fields: raw,
    "signatures": decode.signature,
    "comms": decode.family,
    "types": decode.datatype,
    "strings": lambda raw, fields: raw,
    "arrays": decode.array,
    "preds": decode.pred,
    "load": lambda raw, fields: decode.load(None if raw is None else {LOAD_STEPS: raw}, fields),
}


class _TextBuilder:
    """Builder of a trace: collects tables, then looks names up in them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.place: Any = None
        self.fields: dict[str, Any] = {field: [] for field in _TABLES} | {"meta": {}, "counts": {}}
        self.names: dict[str, dict[str, int]] = {"ops": {}, "stats": {}}

    def add(self, field: str, raw: Any, place: Any) -> None:
        """Add a line of the header. Raises TextError."""
        self.place = place or self.place
        try:
            if field in ("nprocs", "ranks"):
                self._once(field, raw)
            elif field == "load_between":
                self.fields[field] = raw
            elif field == "turns":
                self.fields.setdefault(field, {}).update([decode.turns(raw, self.fields)])
            elif field == "uses":
                self.fields.setdefault(field, {}).update([decode.uses(raw, self.fields)])
            elif field in ("meta", "counts"):
                self.fields[field][raw[0]] = raw[1] if field == "meta" else decode.natural(raw[1])
            else:
                self._append(field, raw)
        except (ValueError, KeyError) as error:
            raise _text_error(error, self.path, self.place) from None

    def _once(self, field: str, raw: Any) -> None:
        if field in self.fields:
            raise ValueError(f"{field} is there twice")
        if field == "ranks" and "nprocs" not in self.fields:
            raise ValueError("nprocs does not come first")
        self.fields[field] = decode.nprocs(raw) if field == "nprocs" else decode.ranks(raw, self.fields)

    def _append(self, field: str, raw: Any) -> None:
        if "nprocs" not in self.fields:
            raise ValueError("nprocs does not come first")
        if field == "preds" and raw != START:
            raw = (self._index("ops", raw[0]), raw[1])
        if field in self.names:
            self.names[field][raw[0]] = len(self.fields[field])
        self.fields[field].append(_TABLES[field](raw, self.fields))

    def _index(self, field: str, name: Name) -> int:
        self.place = name
        if name not in self.names[field]:
            raise ValueError(f"there is no {'operation' if field == 'ops' else 'statistic'} {str(name)!r}")
        return self.names[field][name]

    def trace(self, nodes: list[RawNode]) -> Trace:
        """Return the trace with these root nodes. Raises TextError."""
        try:
            if "nprocs" not in self.fields:
                raise ValueError("there is no nprocs")
            return check.check(Trace(nodes=without_unused(self._nodes(nodes, 0)), **self.fields))
        except ValueError as error:
            raise _text_error(error, self.path, self.place) from None
        except FormatError as error:
            raise TextError(error.reason, self.path, *_place(self.place)) from None

    def _nodes(self, nodes: list[RawNode], depth: int) -> list[Node]:
        if depth > check.MAX_NODE_DEPTH:
            raise ValueError("nodes are nested too deeply")
        return [self._node(node, depth) for node in nodes]

    def _node(self, node: RawNode, depth: int) -> Node:
        if isinstance(node.content, RawEvent):
            return self._event(node)
        self.place = node.place or self.place
        repeat = decode.repeat(node.repeat, self.fields["nprocs"])
        return Sequence(repeat, tuple(self._nodes(node.content, depth + 1)), node.thread)

    def _event(self, node: RawNode) -> Node:
        raw: RawEvent = node.content
        op = self._index("ops", raw.op)
        schema = [name for name, _ in self.fields["ops"][op].params]
        if [name for name, _ in raw.params] != schema:
            raise ValueError(f"{raw.op} takes ({', '.join(schema)}) in this order")
        self.place = node.place or raw.op
        repeat = decode.repeat(node.repeat, self.fields["nprocs"])
        stats = tuple(self._stats(pred, samples) for pred, samples in raw.stats)
        self.place = raw.op
        params = tuple(value for _, value in raw.params)
        return decode.event(repeat, op, raw.signature, params, stats, self.fields)

    def _stats(self, pred: int, samples: list[tuple[Name, Any]]) -> tuple[Any, ...]:
        result: list[Any] = [None] * len(self.fields["stats"])
        for name, histogram in samples:
            result[self._index("stats", name)] = histogram
        return (pred, *result)
