"""Text -> tree (grammars/conceptual.lark)."""

from __future__ import annotations

import functools
import hashlib
from contextlib import suppress
from typing import Any

import lark
import msgpack  # type: ignore[import-untyped]
from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError
from lark.grammar import Rule
from lark.lexer import TerminalDef

from scalatrace import cache, grammars
from scalatrace.codegen.conceptual.errors import Note, Place, ProgramError, Stage
from scalatrace.codegen.conceptual.parser.actions import Builder
from scalatrace.codegen.conceptual.parser.expected import expected, hint
from scalatrace.codegen.conceptual.parser.lexer import NoLexer, scan
from scalatrace.codegen.conceptual.tree import Program
from scalatrace.codegen.conceptual.words import KEYWORDS

__all__ = ["parse"]

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


def parse(text: str, path: str = "", notes: list[Note] | None = None) -> Program:
    """Return the program; warnings go to `notes`. Raises ProgramError with line and column."""
    found: list[Note] = [] if notes is None else notes
    try:
        headers, sentences = _tree(scan(text, found), _end(text))
    except ProgramError as error:
        error.path = path
        raise
    except RecursionError:
        raise ProgramError("the program is nested too deeply", Place(1, 1), Stage.SYNTAX, path) from None
    return Program(headers, sentences, text, place=Place(1, 1))


def _end(text: str) -> Place:
    lines = text.rstrip().split("\n")
    return Place(len(lines), len(lines[-1]) + 1)


def _tree(tokens: list[Token], end: Place) -> Any:
    parsing = _parser().parse_interactive()
    try:
        for token in tokens:
            parsing.feed_token(token)
        return parsing.feed_eof(Token("$END", "", line=end.line, column=end.column))  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        token = error.token
        place = Place(token.line or end.line, token.column or end.column)
        accepted = parsing.accepts()  # type: ignore[no-untyped-call]
        reason = "the program ends too early" if token.type == "$END" else f"unexpected {_shown(token)}"
        if accepted == {"IDENT"} and token.type in KEYWORDS.values():
            reason = f"{_shown(token)} is a reserved word"
        wanted = expected(accepted) + hint(token.type, str(token))
        raise ProgramError(f"{reason}; expected {wanted}", place, Stage.SYNTAX) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ProgramError):
            raise error.orig_exc from None
        raise
    except UnexpectedInput as error:  # pragma: no cover - tokens are all there is
        raise ProgramError(str(error), end, Stage.SYNTAX) from None


def _shown(token: Token) -> str:
    if token.type == "STRING":
        return "a string"
    return repr(str(token)) if token.type in ("IDENT", "INTEGER") else repr(str(token).upper())
