"""Lines of programs in C and Python, no longer than a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MAX_LINE_LENGTH", "wrap_lines"]

MAX_LINE_LENGTH = 160
"""Characters of a line that can be wrapped."""

MIN_TEXT = 40
"""Characters of a comment's line, however deep the loops around it."""

_TOKEN = re.compile(
    r"""
    "(?:[^"\\]|\\.)*"?                                   # a string
    | /\*.*?(?:\*/|$)                                     # a comment in C
    | [\[({] | [\])}] | ,[ ]
    | (?=[ ](?:\?|:|&&|\|\||and|or|if|else|\+|-)[ ])       # nothing, before an operator
    | [^"/\[\](){},\ ]+ | .
    """,
    re.VERBOSE,
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_STRING_PIECE = re.compile(r"(?:\\(?:[0-7]{3}|x..|u.{4}|U.{8}|.)|[^\\]){1,80}")
_COMMENTS = {
    "c": re.compile(r"(?P<code>.*\S) (?P<note>/\* .* \*/)$"),
    "python": re.compile(r"(?P<code>.*\S)  (?P<note># .*)$"),
}
"""A line of code and the comment at its end, by language."""


def wrap_lines(text: str, language: str) -> str:
    """A program without long lines.

    Breaks stand after commas and before operators, in Python within brackets only; comments go before their
    line. Lines of the preprocessor stay.

    Args:
        language: "c" or "python".
    """
    return "\n".join(part for line in text.split("\n") for part in _parts(line, language))


def _parts(line: str, language: str) -> Iterator[str]:
    if len(line) <= MAX_LINE_LENGTH or (language == "c" and line.startswith("#")):
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    if line.lstrip().startswith(("# ", "* ", "/* ")):
        yield from _comment(line.strip(), indent)
        return
    match = _COMMENTS[language].fullmatch(line)
    if match and ('"' not in match["note"] or _is_closed(match["code"])):
        yield from _comment(match["note"], indent)
        yield from _parts(match["code"], language)
        return
    yield from _code(line, indent, language == "python")


def _is_closed(code: str) -> bool:
    """Whether no string of a line is open at its end."""
    return '"' not in _STRING.sub("", code)


def _comment(note: str, indent: str) -> Iterator[str]:
    """A comment of one line as several, cut between words where that is possible."""
    start = "# " if note.startswith("#") else " * " if note.startswith("*") else "/* "
    end = " */" if note.startswith("/*") and note.endswith("*/") else ""
    text = note.removeprefix(start.strip()).removesuffix("*/" if end else "").strip()
    lead = indent.removesuffix(" ") if start == " * " else indent
    width = max(MIN_TEXT, MAX_LINE_LENGTH - len(lead) - len(start) - len(end))
    while text:
        at = len(text) if len(text) <= width else text.rfind(" ", 1, width + 1)
        at = at if at > 0 else width
        yield f"{lead}{start}{text[:at].rstrip()}{end}"
        text = text[at:].lstrip()
        if start == "/* " and not end:  # the comment goes on after this line
            start = " * "


def _code(line: str, indent: str, in_brackets: bool) -> Iterator[str]:
    """A line of code as several."""
    more, depth, now = indent + "    " * 2, 0, indent
    place = -1  # of the last possible break in `now`
    for token in _tokens(line[len(indent) :]):
        if token in ("[", "(", "{"):
            depth += 1
        elif token in ("]", ")", "}"):
            depth -= 1
        if len(now) + len(token) > MAX_LINE_LENGTH and place > len(more):
            yield now[:place].rstrip()
            now, place = more + now[place:].lstrip(), -1
        if (depth or not in_brackets) and token == "":
            place = len(now)
        now += token
        if (depth or not in_brackets) and token == ", ":
            place = len(now)
        if depth and token.startswith('"'):
            place = len(now)
    yield now


def _tokens(code: str) -> Iterator[str]:
    """The tokens of a line; "" where it can be broken before an operator; long strings in pieces."""
    for match in _TOKEN.finditer(code):
        token = match[0]
        if token.startswith('"') and len(token) > MAX_LINE_LENGTH // 2:
            for piece in _STRING_PIECE.findall(token[1:-1]):
                yield f'"{piece}"'
        else:
            yield token
