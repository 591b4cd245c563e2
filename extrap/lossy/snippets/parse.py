"""Parse event snippets (grammars/snippets.lark)."""

from __future__ import annotations

from functools import cache
from os import PathLike, fspath
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import VisitError

from scalatrace import grammars
from scalatrace.errors import FormulaError, TextError
from scalatrace.extrap.lossy.snippets.tree import (
    Alternatives,
    CallPattern,
    CallSequence,
    Distance,
    Item,
    Range,
    Repetition,
    Snippet,
    SnippetPosition,
    Snippets,
)
from scalatrace.files import read_text
from scalatrace.formula import Expr, parse_number
from scalatrace.grammars.syntax import syntax_error
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["MAX_STATES", "load", "parse"]

MAX_STATES = 1 << 12
"""Calls that all snippets name, repeated ones counted as often as they have to come."""

WORDS = {
    "INT": "a number", "NAME": "a name", "STRING": "a call site in quotes", "FORMULA": "a formula in [ ]",
    "SPECIAL": "PROC_NULL or the like", "LBRACE": "{", "RBRACE": "}", "LPAR": "(", "RPAR": ")", "COMMA": ",",
    "EQUAL": "=", "TILDE": "~", "STAR": "*", "QMARK": "?", "$END": "the end", "__ANON_0": "..",
}  # fmt: skip


def load(path: str | PathLike[str]) -> Snippets:
    """Read a file of snippets. Raises TextError with line and column, FormatError when there is no file."""
    return parse(read_text(path), path)


def parse(text: str, path: str | PathLike[str] = "") -> Snippets:
    """Parse snippets; `path` is for messages.

    Raises:
        TextError: with line and column, and what is expected there.
    """
    where = fspath(path) or "snippets"
    try:
        result: Snippets = _SnippetBuilder(where).transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise syntax_error(error, text, where, WORDS) from None
    except RecursionError:
        raise TextError("braces are nested too deeply", where, 1, 1) from None
    except VisitError as error:
        if isinstance(error.orig_exc, TextError):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, ValueError):  # int() of a text of thousands of digits
            place: Any = getattr(error.obj, "meta", error.obj)
            raise TextError("a number has too many digits", where, place.line, place.column) from None
        raise
    return result


@cache
def _parser() -> Lark:
    return Lark(grammars.text("snippets"), parser="lalr", maybe_placeholders=True, propagate_positions=True)


@v_args(meta=True)
class _SnippetBuilder(Transformer[Token, Any]):
    """Conversion of lark's tree to a tree of snippets."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def _wrong(self, reason: str, place: Any) -> TextError:
        return TextError(reason, self.path, place.line, place.column)

    def start(self, _: Any, statements: list[Any]) -> Snippets:
        statements_of: dict[str, list[Any]] = {"snippet": [], "keep": [], "drop": []}
        for kind, statement in statements:
            statements_of[kind].append(statement)
        return Snippets(
            tuple(statements_of["snippet"]),
            tuple(statements_of["keep"]),
            tuple(statements_of["drop"]),
            self.path,
        )

    def snippet(self, meta: Any, parts: list[Any]) -> tuple[str, Snippet]:
        name, weight, *items = parts
        body = CallSequence(tuple(items))
        low, high = _size(body)
        if not low:
            raise self._wrong(f"the snippet {name} may be empty; expected a call that has to come", meta)
        if high > MAX_STATES:
            raise self._wrong(f"the snippet {name} names {high:,} calls; {MAX_STATES:,} at most", meta)
        return "snippet", Snippet(str(name), 1 if weight is None else weight, body)

    def weight(self, meta: Any, parts: list[Token]) -> int:
        if int(parts[0]) < 1:
            raise self._wrong(f"a weight of {parts[0]}; expected 1 or more", meta)
        return int(parts[0])

    def keep(self, _: Any, parts: list[CallPattern]) -> tuple[str, CallPattern]:
        return "keep", parts[0]

    def drop(self, _: Any, parts: list[CallPattern]) -> tuple[str, CallPattern]:
        return "drop", parts[0]

    def item(self, _: Any, parts: list[Any]) -> Item:
        atom, times = parts
        return atom if times is None else Repetition(atom, *times)

    def sequence(self, _: Any, items: list[Item]) -> CallSequence:
        return CallSequence(tuple(items))

    def either(self, _: Any, items: list[Item]) -> Alternatives:
        return Alternatives(tuple(items))

    def counted(self, meta: Any, parts: list[Any]) -> tuple[int, int]:
        low = int(parts[0])
        high = low if parts[1] is None else int(parts[1])
        if not 0 <= low <= high or high == 0:
            raise self._wrong(f"{low} to {high} times; expected a range of at least one time", meta)
        return low, high

    def endless(self, _: Any, __: list[Any]) -> tuple[int, None]:
        return 0, None

    def optional(self, _: Any, __: list[Any]) -> tuple[int, int]:
        return 0, 1

    def call(self, meta: Any, parts: list[Any]) -> CallPattern:
        op, tests, site = parts
        name = str(op).removeprefix("MPI_")
        return CallPattern(
            name, tests or (), str(site)[1:-1] if site else "", SnippetPosition(meta.line, meta.column)
        )

    def tests(self, _: Any, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    def equal(self, meta: Any, parts: list[Any]) -> Range:
        return Range(str(parts[0]), parts[1], parts[1], SnippetPosition(meta.line, meta.column))

    def within(self, meta: Any, parts: list[Any]) -> Range:
        return Range(str(parts[0]), parts[1], parts[2], SnippetPosition(meta.line, meta.column))

    def distant(self, meta: Any, parts: list[Any]) -> Distance:
        return Distance(str(parts[0]), parts[1], SnippetPosition(meta.line, meta.column))

    def value(self, meta: Any, parts: list[Token]) -> int | Expr:
        token = parts[0]
        if token.type == "INT":
            return int(token)
        if token.type == "SPECIAL":
            return SPECIAL[str(token)]
        try:
            return parse_number(token[1:-1].strip())
        except FormulaError as error:
            raise self._wrong(str(error), meta) from None

    def distance(self, _: Any, parts: list[Token]) -> int | tuple[int, ...]:
        steps = tuple(map(int, parts))
        return steps[0] if len(steps) == 1 else steps


def _size(item: Item) -> tuple[int, int]:
    """Return the fewest calls that an item is, and how many it names."""
    if isinstance(item, CallPattern):
        return 1, 1
    if isinstance(item, Repetition):
        low, high = _size(item.item)
        return low * item.low, high * (item.low + 1 if item.high is None else item.high)
    if isinstance(item, CallSequence):
        sizes = [_size(part) for part in item.items]
        return sum(low for low, _ in sizes), sum(high for _, high in sizes)
    sizes = [_size(part) for part in item.choices]
    return min(low for low, _ in sizes), sum(high for _, high in sizes)
