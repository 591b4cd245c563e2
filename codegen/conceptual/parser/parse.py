"""Text -> tree (grammars/conceptual.lark)."""

from __future__ import annotations

import functools
import hashlib
from contextlib import suppress
from typing import Any

import lark
import msgpack  # type: ignore[import-untyped]
from lark import Lark
from lark.exceptions import VisitError
from lark.grammar import Rule
from lark.lexer import TerminalDef

from scalatrace import cache, grammars
from scalatrace.codegen.conceptual.errors import CompileStage, Note, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.parser.actions import Builder
from scalatrace.codegen.conceptual.parser.driver import Driver, UnexpectedTokenError
from scalatrace.codegen.conceptual.parser.expected import expected, hint, unknown_word
from scalatrace.codegen.conceptual.parser.lexer import NoLexer, SourceToken, scan, token
from scalatrace.codegen.conceptual.parser.repeated import NotByLinesError, is_repetitive, parse_lines
from scalatrace.codegen.conceptual.spelling import typed
from scalatrace.codegen.conceptual.tree import Program
from scalatrace.codegen.conceptual.words import KEYWORDS
from scalatrace.garbage import without_collection

__all__ = ["parse"]

MAX_AT_ONCE = 100_000
"""Characters of a text that is parsed without a look for repeated lines."""

_TABLES_FORMAT = 1
"""Of the cached tables; to be raised when `_tables` changes."""


@functools.cache
def _parser() -> Lark:
    grammar = grammars.text("conceptual")
    key = hashlib.sha256(f"{_TABLES_FORMAT} {lark.__version__} {grammar}".encode()).hexdigest()[:16]
    name = f"conceptual-{key}.tables"
    data = cache.read(name)
    # Loading is not part of lark's documented interface: when it fails, the grammar is parsed.
    with suppress(Exception):
        if data is not None:
            return _from_tables(data)
    parser = Lark(grammar, parser="lalr", lexer=NoLexer, transformer=Builder(), maybe_placeholders=False)
    with suppress(Exception):
        cache.store(name, _tables(parser))
    return parser


def _tables(parser: Lark) -> bytes:
    """Return a parser's tables, which take a second to compute, as plain data: loading them runs no code."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    options = {**data["options"], "lexer": None, "transformer": None}
    lexer = {**data["parser"]["lexer_conf"], "lexer_type": None}
    plain = {**data, "options": options, "parser": {**data["parser"], "lexer_conf": lexer}}
    return bytes(msgpack.packb([plain, memo]))


def _from_tables(packed: bytes) -> Lark:
    data, memo = msgpack.unpackb(packed, strict_map_key=False)
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = NoLexer
    parser: Lark = Lark._load_from_dict(data, memo, transformer=Builder())  # type: ignore[no-untyped-call]
    return parser


@functools.cache
def _driver() -> Driver:
    return Driver(_parser())


def parse(text: str, path: str = "", notes: list[Note] | None = None) -> Program:
    """Return the program; warnings go to `notes`. Raises ProgramError with line and column."""
    found: list[Note] = [] if notes is None else notes
    try:
        with without_collection():
            headers, sentences = _headers_and_sentences(text, found)
    except ProgramError as error:
        error.path = path
        raise
    except RecursionError:
        raise ProgramError(
            "the program is nested too deeply", SourcePlace(1, 1), CompileStage.SYNTAX, path
        ) from None
    return Program(headers, sentences, text, place=SourcePlace(1, 1))


def _headers_and_sentences(text: str, notes: list[Note]) -> Any:
    if len(text) > MAX_AT_ONCE and is_repetitive(text):
        with suppress(NotByLinesError):
            return parse_lines(_driver(), text, _end(text))
    return _tree(text, scan(text, notes))


def _end(text: str) -> SourcePlace:
    lines = text.rstrip().split("\n")
    return SourcePlace(len(lines), len(lines[-1]) + 1)


def _tree(text: str, tokens: list[SourceToken]) -> Any:
    try:
        return _driver().parse(tokens, token("$END", "", *_end(text)))
    except UnexpectedTokenError as error:
        wrong, place = error.token, SourcePlace(error.token.line, error.token.column)
        unknown = unknown_word(text, tokens, error.index, error.accepted)
        if unknown is not None:
            raise ProgramError(*unknown, CompileStage.SYNTAX) from None
        shown = _shown(text, wrong)
        reason = "the program ends too early" if wrong.type == "$END" else f"unexpected {shown}"
        if error.accepted == {"IDENT"} and wrong.type in KEYWORDS.values():
            reason = f"{shown} is a reserved word"
        wanted = expected(error.accepted) + hint(wrong.type, str(wrong))
        raise ProgramError(f"{reason}; expected {wanted}", place, CompileStage.SYNTAX) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ProgramError):
            raise error.orig_exc from None
        raise


def _shown(text: str, token: SourceToken) -> str:
    if token.type == "STRING":
        return "a string"
    if token.type == "IDENT":
        return repr(typed(str(token), text, SourcePlace(token.line, token.column)))
    return repr(str(token)) if token.type == "INTEGER" else repr(str(token).upper())
