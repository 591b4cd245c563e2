"""Parse a text to a tree (grammars/conceptual.lark); errors say which words could stand at their place."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
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
from scalatrace.codegen.conceptual.parser.actions import NodeBuilder
from scalatrace.codegen.conceptual.parser.driver import Driver, UnexpectedTokenError
from scalatrace.codegen.conceptual.parser.lexer import NoLexer, SourceToken, scan, token
from scalatrace.codegen.conceptual.parser.repeated import NotByLinesError, is_repetitive, parse_lines
from scalatrace.codegen.conceptual.spelling import find_spelling, meant
from scalatrace.codegen.conceptual.tree import ProgramTree
from scalatrace.codegen.conceptual.words import FUNCTIONS, KEYWORDS, TIME_UNITS, UNITS
from scalatrace.garbage import without_collection

__all__ = ["parse"]

_MARKS = {
    "COMMA": '","', "ELLIPSIS": '"..."', "LBRACE": '"{"', "RBRACE": '"}"', "LSQUARE": '"["', "RSQUARE": '"]"',
    "LPAR": '"("', "RPAR": '")"', "STOP": '"."', "STRING": "a string", "IDENT": "a name", "WRAPS": '"*"',
    "$END": "the end of the program", "INTEGER": "a number", "CONJUNCTION": '"/\\"', "DISJUNCTION": '"\\/"',
}  # fmt: skip
_OPERATORS = {
    "AMPERSAND", "SLASH", "SHIFTLEFT", "SHIFTRIGHT", "HYPHEN", "STAR", "PIPE", "CROSS", "POWER", "MOD", "XOR",
}  # fmt: skip
_COMPARISONS = {"EQUAL", "GREATEREQUAL", "MORE", "LESSEQUAL", "FEWER", "UNEQUAL", "DIVIDES"}
_STATEMENT = {"TASKS", "ALL", "FOR", "LET", "IF", "ASSERT", "LBRACE"}
_EXPRESSION = {"LPAR", "IDENT", "INTEGER", "REAL", "MY", "CROSS", "HYPHEN", "NOT", *FUNCTIONS}
_EXPRESSION |= {"MESH_NEIGHBOR", "MESH_COORDINATE", "MESH_DISTANCE", "FILE_DATA", "STATIC_FILE_DATA"}

_VERBS = {
    "AWAITS", "BACKEND", "COMPUTES", "IS", "LOGS", "OUTPUTS", "REDUCES", "RESETS", "RESTORES", "SLEEPS",
    "STORES", "SYNCHRONIZES", "TOUCHES",
}  # fmt: skip
_MESSAGES = {"SENDS", "MULTICASTS", "RECEIVES"}

_GROUPS: tuple[tuple[set[str], str], ...] = (
    (_STATEMENT, "a statement"),
    (_EXPRESSION, "an expression"),
    (_VERBS | _MESSAGES | {"ASYNCHRONOUSLY", "SYNCHRONOUSLY"}, "what the tasks do (SEND, LOG, COMPUTE ...)"),
    (_OPERATORS, "an operator"),
    (_COMPARISONS, "a comparison"),
    (set(UNITS), "a unit of size"),
    (set(UNITS) - {"BITS", "KILOBYTE", "MEGABYTE", "GIGABYTE"}, "a data type"),
    (set(TIME_UNITS), "a unit of time"),
)
_SPELLING: dict[str, str] = {}
for _form, _terminal in KEYWORDS.items():
    _SPELLING.setdefault(_terminal, _form.upper())
_MAX_SHOWN_TERMINALS = 8

_HINTS = {
    "or": 'conditions are joined by "\\/"',
    "AND": 'conditions are joined by "/\\"',
    "else": "the word is OTHERWISE",
    "nanoseconds": "MICROSECONDS are the shortest unit",
    "async": "the word is ASYNCHRONOUSLY",
    "kilobytes": "the word is KILOBYTE, also for several",
    "megabytes": "the word is MEGABYTE, also for several",
    "gigabytes": "the word is GIGABYTE, also for several",
    "do": "loops have no DO",
    "EQUAL": 'one "=" compares',
}
"""Word or terminal that does not fit -> what may have been meant."""


def _hint(terminal: str, word: str) -> str:
    """Return a sentence that may help when a word does not fit, or ""."""
    hint = _HINTS.get(word.lower()) or _HINTS.get(terminal)
    if hint is None and terminal == "IDENT":
        hint = _explain_split_word(word.lower())
    return f" ({hint})" if hint else ""


_AGGREGATES = (
    "MEAN", "HARMONIC MEAN", "GEOMETRIC MEAN", "MEDIAN", "STANDARD DEVIATION", "VARIANCE", "SUM", "MINIMUM",
    "MAXIMUM", "FINAL", "PERCENTILE", "HISTOGRAM", "MEDIAN ABSOLUTE DEVIATION",
)  # fmt: skip
_SYNONYMS = {
    "average": "MEAN",
    "avg": "MEAN",
    "last": "FINAL",
    "total": "SUM",
    "stddev": "STANDARD DEVIATION",
}
_CALLED = {
    *FUNCTIONS,
    "MESH_NEIGHBOR",
    "MESH_COORDINATE",
    "MESH_DISTANCE",
    "FILE_DATA",
    "STATIC_FILE_DATA",
    "REAL",
}


def _unknown_word(
    text: str, tokens: Sequence[SourceToken], index: int, accepted: set[str]
) -> tuple[str, SourcePlace] | None:
    """Return what is wrong, and where, if a function, an aggregate or a word is none of the language."""
    wrong = tokens[index] if index < len(tokens) else None
    before = tokens[index - 1] if index else None
    if wrong is not None and before is not None and before.type == "IDENT":
        place = SourcePlace(before.line, before.column)
        name = find_spelling(str(before), text, place)
        if wrong.type == "LPAR":
            return f"there is no function {name}{meant(name, _CALLED)}", place
        if wrong.type == "OF" and index > 1 and tokens[index - 2].type in ("THE", "AND", "A"):
            synonym = _SYNONYMS.get(name.lower())
            asked = f"; did you mean {synonym}?" if synonym else meant(name, _AGGREGATES)
            return (
                f"there is no aggregate {name}{asked or f'; expected {_AGGREGATES[0]}, MEDIAN, SUM ...'}",
                place,
            )
    if wrong is not None and wrong.type == "IDENT" and not _hint(wrong.type, str(wrong)):
        place = SourcePlace(wrong.line, wrong.column)
        name = find_spelling(str(wrong), text, place)
        asked = meant(name, (form.upper() for form, terminal in KEYWORDS.items() if terminal in accepted))
        return (f"unexpected {name!r}{asked}", place) if asked else None
    return None


def _explain_split_word(word: str) -> str | None:
    """Say why a word looks as if its beginning were missing: a number before it took it."""
    for taken in ("k", "m", "g", "t", "st", "nd", "rd", "th"):
        joined_word = taken + word
        if joined_word in KEYWORDS:
            return (
                f"the number before it took its {taken.upper()!r}: leave a space before {joined_word.upper()}"
            )
    return None


def _describe_expected(terminals: Iterable[str]) -> str:
    """Return "a comparison, AND or a statement" for what a parser accepts."""
    remaining = set(terminals)
    terms = []
    for group, name in _GROUPS:
        if group <= remaining:
            terms.append(name)
            remaining -= group
    terms += sorted(_MARKS.get(t) or _SPELLING.get(t, t) for t in remaining)
    if len(terms) > _MAX_SHOWN_TERMINALS:
        terms = [*terms[: _MAX_SHOWN_TERMINALS - 1], "..."]
    return terms[0] if len(terms) == 1 else f"{', '.join(terms[:-1])} or {terms[-1]}" if terms else "nothing"


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
    parser = Lark(grammar, parser="lalr", lexer=NoLexer, transformer=NodeBuilder(), maybe_placeholders=False)
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
    parser: Lark = Lark._load_from_dict(data, memo, transformer=NodeBuilder())  # type: ignore[no-untyped-call]
    return parser


@functools.cache
def _driver() -> Driver:
    return Driver(_parser())


def parse(text: str, path: str = "", notes: list[Note] | None = None) -> ProgramTree:
    """Return the program; warnings go to `notes`. Raises ProgramError with line and column."""
    collected: list[Note] = [] if notes is None else notes
    try:
        with without_collection():
            headers, sentences = _headers_and_sentences(text, collected)
    except ProgramError as error:
        error.path = path
        raise
    except RecursionError:
        raise ProgramError(
            "the program is nested too deeply", SourcePlace(1, 1), CompileStage.SYNTAX, path
        ) from None
    return ProgramTree(headers, sentences, text, place=SourcePlace(1, 1))


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
        unknown = _unknown_word(text, tokens, error.index, error.accepted)
        if unknown is not None:
            raise ProgramError(*unknown, CompileStage.SYNTAX) from None
        shown = _show_token(text, wrong)
        reason = "the program ends too early" if wrong.type == "$END" else f"unexpected {shown}"
        if error.accepted == {"IDENT"} and wrong.type in KEYWORDS.values():
            reason = f"{shown} is a reserved word"
        wanted = _describe_expected(error.accepted) + _hint(wrong.type, str(wrong))
        raise ProgramError(f"{reason}; expected {wanted}", place, CompileStage.SYNTAX) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ProgramError):
            raise error.orig_exc from None
        raise


def _show_token(text: str, token: SourceToken) -> str:
    if token.type == "STRING":
        return "a string"
    if token.type == "IDENT":
        return repr(find_spelling(str(token), text, SourcePlace(token.line, token.column)))
    return repr(str(token)) if token.type == "INTEGER" else repr(str(token).upper())
