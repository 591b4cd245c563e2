"""What a parser would have taken, in words a person would use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.codegen.conceptual.parser.lexer import SourceToken
from scalatrace.codegen.conceptual.spelling import meant, typed
from scalatrace.codegen.conceptual.words import FUNCTIONS, KEYWORDS, TIME_UNITS, UNITS

__all__ = ["expected", "hint", "unknown_word"]

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
MAX_SHOWN_TERMINALS = 8

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


def hint(terminal: str, word: str) -> str:
    """Return a sentence that may help when a word does not fit, or ""."""
    result = _HINTS.get(word.lower()) or _HINTS.get(terminal)
    if result is None and terminal == "IDENT":
        result = _split(word.lower())
    return f" ({result})" if result else ""


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


def unknown_word(
    text: str, tokens: Sequence[SourceToken], index: int, accepted: set[str]
) -> tuple[str, SourcePlace] | None:
    """Return what is wrong, and where, if a function, an aggregate or a word is none of the language."""
    wrong = tokens[index] if index < len(tokens) else None
    before = tokens[index - 1] if index else None
    if wrong is not None and before is not None and before.type == "IDENT":
        place = SourcePlace(before.line, before.column)
        name = typed(str(before), text, place)
        if wrong.type == "LPAR":
            return f"there is no function {name}{meant(name, _CALLED)}", place
        if wrong.type == "OF" and index > 1 and tokens[index - 2].type in ("THE", "AND", "A"):
            other = _SYNONYMS.get(name.lower())
            asked = f"; did you mean {other}?" if other else meant(name, _AGGREGATES)
            return (
                f"there is no aggregate {name}{asked or f'; expected {_AGGREGATES[0]}, MEDIAN, SUM ...'}",
                place,
            )
    if wrong is not None and wrong.type == "IDENT" and not hint(wrong.type, str(wrong)):
        place = SourcePlace(wrong.line, wrong.column)
        name = typed(str(wrong), text, place)
        asked = meant(name, (form.upper() for form, terminal in KEYWORDS.items() if terminal in accepted))
        return (f"unexpected {name!r}{asked}", place) if asked else None
    return None


def _split(word: str) -> str | None:
    """Say why a word looks as if its beginning were missing: a number before it took it."""
    for taken in ("k", "m", "g", "t", "st", "nd", "rd", "th"):
        whole = taken + word
        if whole in KEYWORDS:
            return f"the number before it took its {taken.upper()!r}: leave a space before {whole.upper()}"
    return None


def expected(terminals: Iterable[str]) -> str:
    """Return "a comparison, AND or a statement" for what a parser accepts."""
    left = set(terminals)
    terms = []
    for group, name in _GROUPS:
        if group <= left:
            terms.append(name)
            left -= group
    terms += sorted(_MARKS.get(t) or _SPELLING.get(t, t) for t in left)
    if len(terms) > MAX_SHOWN_TERMINALS:
        terms = [*terms[: MAX_SHOWN_TERMINALS - 1], "..."]
    return terms[0] if len(terms) == 1 else f"{', '.join(terms[:-1])} or {terms[-1]}" if terms else "nothing"
