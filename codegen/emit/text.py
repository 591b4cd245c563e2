"""Texts as they may stand in a program: none can end a comment, a string or a name.

A text from a file is a `Foreign`, which only these functions turn into a part of a program. Each replaces in
one pass over its text: what one replacement makes is never read by another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scalatrace.codegen.foreign import Foreign

__all__ = ["Lines", "c_comment", "c_string", "hash_comment", "identifier", "ncptl_text", "python_string"]

_ODD_IN_C_COMMENT = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)|[^\x20-\x7e]|\\")
_ODD_IN_HASH_COMMENT = re.compile(r"(?<=coding)(?=[:=])|[^\x20-\x7e]|\\")
_ODD_IN_PYTHON_STRING = re.compile(r"[^\x20-\x7e]|[\"\\]")
_ODD_IN_NCPTL_STRING = re.compile(r"[^\x20-\x7e]|[\"\\]")


def c_comment(text: Foreign | str) -> str:
    """Return a text without the end or beginning of a C comment, trigraphs, backslashes and line ends."""
    return _ODD_IN_C_COMMENT.sub(lambda m: _code(m[0]) if m[0] else " ", _raw(text)).strip()


def hash_comment(text: Foreign | str) -> str:
    """Return a text for a comment behind a `#`: one line, and no declaration of a file's encoding."""
    spelled = {"": " ", "\\": "/"}
    return _ODD_IN_HASH_COMMENT.sub(lambda m: spelled.get(m[0]) or _code(m[0]), _raw(text)).strip()


def python_string(text: Foreign | str) -> str:
    """Return the literal of a Python string."""
    return f'"{_ODD_IN_PYTHON_STRING.sub(lambda m: _python_char(m[0]), _raw(text))}"'


def ncptl_text(text: Foreign | str) -> str:
    """Return a text for a coNCePTuaL string, with other characters in place of those it cannot hold."""
    spelled = {'"': "'", "\\": "/"}
    return _ODD_IN_NCPTL_STRING.sub(lambda m: spelled.get(m[0]) or _code(m[0]), _raw(text))


def c_string(text: Foreign | str) -> str:
    """Return a C string literal of the text's UTF-8 bytes; octal escapes, which end after three digits."""
    return '"' + "".join(_c_byte(b) for char in _raw(text) for b in _utf8(char)) + '"'


def _raw(text: Foreign | str) -> str:
    return text.raw if isinstance(text, Foreign) else text


def _code(char: str) -> str:
    return f"<{ord(char):x}>"


def _python_char(char: str) -> str:
    n = ord(char)
    if char in '"\\':
        return f"\\{char}"
    return f"\\x{n:02x}" if n < 0x100 else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}"


def _utf8(char: str) -> bytes:
    """The bytes of a character; of a surrogate that stands for a byte this byte."""
    escape = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return char.encode("utf-8", escape)


def _c_byte(b: int) -> str:
    char = chr(b)
    return (
        char
        if char.isascii() and (char.isalnum() or char in " _-./:,+=()[]{}<>;!#&~^|@$*'")
        else f"\\{b:03o}"
    )


def identifier(text: Foreign | str) -> str:
    """The text as a name: letters, digits, underscores."""
    name = re.sub(r"\W+", "_", _raw(text), flags=re.ASCII).strip("_")
    return name if name and not name[0].isdigit() else f"n{name}"


INDENT = "    "


class Lines:
    """Text that grows line by line, with indentation."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def add(self, *lines: str) -> None:
        """Add lines at the present depth; a line of several is split."""
        for line in lines:
            for part in line.split("\n"):
                self._lines.append(f"{INDENT * self._depth}{part}" if part else "")

    def extend(self, lines: Iterable[str]) -> None:
        """Add all of these."""
        self.add(*lines)

    def deeper(self) -> None:
        """Indent what follows."""
        self._depth += 1

    def back(self) -> None:
        """Indent no more."""
        self._depth -= 1

    def __len__(self) -> int:
        return len(self._lines)

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
