"""Text -> tree (grammars/conceptual.lark)."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

import grammars
from codegen.ncptl.build import Builder
from codegen.ncptl.errors import Note, Place, ProgramError, Stage
from codegen.ncptl.expected import expected, hint
from codegen.ncptl.lexer import NoLexer, scan
from codegen.ncptl.tree import Program
from codegen.ncptl.words import KEYWORDS

__all__ = ["parse"]


@cache
def _parser() -> Lark:
    return Lark(
        grammars.text("conceptual"),
        parser="lalr",
        lexer=NoLexer,
        transformer=Builder(),
        maybe_placeholders=False,
        cache=_cache() or False,
    )


def _cache() -> str | None:
    """Where lark keeps its tables, which take a second to make; None when there is no place for them."""
    folder = os.environ.get("SCALATRACE_CACHE")
    if not folder:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(home, "scalatrace")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return None
    return os.path.join(folder, "conceptual.tables") if os.access(folder, os.W_OK) else None


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
        said = "the program ends too early" if token.type == "$END" else f"unexpected {_shown(token)}"
        if accepted == {"IDENT"} and token.type in KEYWORDS.values():
            said = f"{_shown(token)} is a reserved word"
        wanted = expected(accepted) + hint(token.type, str(token))
        raise ProgramError(f"{said}; expected {wanted}", place, Stage.SYNTAX) from None
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
