"""Text of a program -> tokens.

What no grammar could say is done here: one terminal per word however it is spelled, the deletion of a
hyphen before a reserved word, and the mark on a star that closes a dimension of a torus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lark.lexer import Lexer

from scalatrace.codegen.conceptual.errors import CompileStage, Note, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.words import KEYWORDS

__all__ = ["NoLexer", "SourceToken", "scan", "token"]

_TOKEN = re.compile(
    r"""(?:(?P<space>[ \t\r\n]+|\#[^\n]*)
      |(?P<number>\d+(?:[KMG]|E\d+)?(?:ST|[NR]D|TH?)?)
      |(?P<word>[A-Z][A-Z0-9_]*)
      |(?P<string>"(?:\\.|[^"\\])*")
      |(?P<operator>\.\.\.|/\\|\\/|>=|>>|<<|<=|<>|\*\*|[,{}\[\]()&/=><\-*|+.]))[ ]*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"(\d+)(?:([KMG])|E(\d+))?(ST|[NR]D|TH|T)?", re.IGNORECASE)
_POWERS = {"K": 2**10, "M": 2**20, "G": 2**30}
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r", "\n": ""}
MAX_EXPONENT = 18
"""Powers of ten beyond it do not fit an integer of 64 bits."""

_OPERATORS = {
    ",": "COMMA", "...": "ELLIPSIS", "{": "LBRACE", "}": "RBRACE", "[": "LSQUARE", "]": "RSQUARE",
    "(": "LPAR", ")": "RPAR", "/\\": "CONJUNCTION", "\\/": "DISJUNCTION", "&": "AMPERSAND", "/": "SLASH",
    "=": "EQUAL", ">=": "GREATEREQUAL", ">": "MORE", "<<": "SHIFTLEFT", "<=": "LESSEQUAL", "<": "FEWER",
    "-": "HYPHEN", "*": "STAR", "<>": "UNEQUAL", "|": "PIPE", "+": "CROSS", "**": "POWER", ".": "STOP",
    ">>": "SHIFTRIGHT",
}  # fmt: skip


_KEYWORD_TERMINALS = frozenset(KEYWORDS.values())


class NoLexer(Lexer):
    """Stands where lark wants a lexer: tokens are fed one by one."""

    def __init__(self, _conf: Any) -> None:
        pass

    def lex(self, _lexer_state: Any, _parser_state: Any = None) -> Iterator[Any]:
        """Yield nothing."""
        return iter(())


class SourceToken(str):
    """A token: its value, its terminal `type`, and where it stands. lark's own takes four times as long."""

    __slots__ = ("column", "line", "type")

    type: str
    line: int
    column: int


def token(kind: str, value: str, line: int, column: int) -> SourceToken:
    """Return a token."""
    lexed = SourceToken(value)
    lexed.type, lexed.line, lexed.column = kind, line, column
    return lexed


def scan(text: str, notes: list[Note]) -> list[SourceToken]:
    """Return a program's tokens; what is odd in it goes to `notes`. Raises ProgramError."""
    return _mark_stars(_drop_hyphens(_tokens(text, notes)))


def _tokens(text: str, notes: list[Note]) -> list[SourceToken]:
    offset, line, line_start = 0, 1, 0
    tokens: list[SourceToken] = []
    # Terminal and value of each spelling, with the blanks behind it: a program has few of them.
    meanings: dict[str, tuple[str, str]] = {}
    while offset < len(text):
        # Characters of no token end the search, which is faster than a match for each token.
        for match in _TOKEN.finditer(text, offset):
            start, end = match.span()
            if start != offset:
                break
            offset, raw = end, text[start:end]
            meaning = meanings.get(raw)
            if meaning is None:
                kind, place = match.lastgroup, SourcePlace(line, start - line_start + 1)
                word = raw.rstrip(" ")
                if kind == "string":
                    # Not kept: a note on its escapes belongs to each place.
                    meaning = "STRING", _unescape(word[1:-1], place, notes)
                elif kind != "space":
                    meaning = meanings[raw] = _meaning(kind, word, place)
            if meaning is not None:
                lexed = SourceToken(meaning[1])
                lexed.type, lexed.line, lexed.column = meaning[0], line, start - line_start + 1
                tokens.append(lexed)
                if meaning[0] != "STRING":
                    continue
            if "\n" in raw:
                line += raw.count("\n")
                line_start = start + raw.rindex("\n") + 1
        if offset < len(text):
            raise ProgramError(
                _stray(text[offset]), SourcePlace(line, offset - line_start + 1), CompileStage.SYNTAX
            )
    return tokens


def _meaning(kind: str | None, raw: str, place: SourcePlace) -> tuple[str, str]:
    """Return terminal and value of an operator, a word or a number."""
    if kind == "operator":
        return _OPERATORS[raw], raw
    if kind == "number":
        return "INTEGER", _number(raw, place)
    value = raw.lower()
    return KEYWORDS.get(value, "IDENT"), value


def _stray(character: str) -> str:
    if character == '"':
        return "this string is not closed"
    hints = {"'": '; strings stand in double quotes ("...")', "!": '; "not equal" is <>'}
    hints[";"] = "; sentences end with a full stop"
    return f"no part of the language starts with {character!r}{hints.get(character, '')}"


def _number(raw: str, place: SourcePlace) -> str:
    if len(raw) < MAX_EXPONENT and raw.isdigit():
        return raw.lstrip("0") or "0"
    match = _NUMBER.fullmatch(raw)
    assert match is not None
    digits, power, exponent, suffix = match.groups()
    if len(digits) > 30 or int(exponent or 0) > MAX_EXPONENT:
        raise ProgramError(f"{raw} does not fit an integer of 64 bits", place, CompileStage.SYNTAX)
    value = int(digits) * (_POWERS[power.upper()] if power else 10 ** int(exponent or 0))
    value *= 2**40 if suffix and suffix.upper() == "T" else 1
    if value >= 2**63:
        raise ProgramError(f"{raw} does not fit an integer of 64 bits", place, CompileStage.SYNTAX)
    return str(value)


def _unescape(raw: str, place: SourcePlace, notes: list[Note]) -> str:
    def meaning(escape: re.Match[str]) -> str:
        after = escape.group(1)
        if after not in _ESCAPES:
            notes.append(Note(f'there is no escape "\\{after}"; it is left out', place))
        return _ESCAPES.get(after, "")

    return re.sub(r"\\(.)", meaning, raw.replace("\\\r\n", "\\\n"), flags=re.DOTALL)


def _drop_hyphens(tokens: list[SourceToken]) -> list[SourceToken]:
    """A hyphen before a reserved word joins words (64-BYTE): it is no minus sign."""
    words = _KEYWORD_TERMINALS
    hyphens = [n for n, lexed in enumerate(tokens[:-1]) if lexed.type == "HYPHEN"]
    dropped = {n for n in hyphens if tokens[n + 1].type in words}
    return [lexed for n, lexed in enumerate(tokens) if n not in dropped] if dropped else tokens


def _mark_stars(tokens: list[SourceToken]) -> list[SourceToken]:
    """A star before a comma or a closing parenthesis says that a dimension wraps around."""
    for n in [n for n, lexed in enumerate(tokens[:-1]) if lexed.type == "STAR"]:
        if tokens[n + 1].type in ("COMMA", "RPAR"):
            tokens[n].type = "WRAPS"
    return tokens
