"""Names from a trace as they may stand in a program's text: no name can end a comment or a string."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Lines", "c_comment", "c_string", "hash_comment", "identifier"]

_ODD = re.compile(r"[^\x20-\x7e]")


def _plain(text: str) -> str:
    """On one line, in printable ASCII."""
    return _ODD.sub(lambda match: f"<{ord(match[0]):x}>", text)


def c_comment(text: str) -> str:
    r"""What may stand in a C comment: no end, no beginning, no trigraph, no backslash."""
    safe = _plain(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\", "/")
    return safe.strip()


def hash_comment(text: str) -> str:
    """What may stand behind a `#`."""
    return _plain(text).replace("\\", "/").strip()


def c_string(text: str) -> str:
    """A C string literal of the text's UTF-8 bytes; octal escapes, which end after three digits."""
    raw = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(_c_byte(b) for b in raw) + '"'


def _c_byte(b: int) -> str:
    char = chr(b)
    return (
        char
        if char.isascii() and (char.isalnum() or char in " _-./:,+=()[]{}<>;!#&~^|@$*'")
        else f"\\{b:03o}"
    )


def identifier(text: str) -> str:
    """The text as a name: letters, digits, underscores."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return name if name and not name[0].isdigit() else f"n{name}"


class Lines:
    """Text that grows line by line, with indentation."""

    def __init__(self, step: str = "    ") -> None:
        self._lines: list[str] = []
        self._step, self._depth = step, 0

    def add(self, *lines: str) -> None:
        """Add lines at the present depth; a line of several is split."""
        for line in lines:
            for part in line.split("\n"):
                self._lines.append(f"{self._step * self._depth}{part}" if part else "")

    def extend(self, lines: Iterable[str]) -> None:
        """Add all of these."""
        self.add(*lines)

    def deeper(self) -> None:
        """Indent what follows."""
        self._depth += 1

    def back(self) -> None:
        """Indent no more."""
        self._depth -= 1

    def cut(self, length: int) -> None:
        """Forget what stands behind the first `length` lines."""
        del self._lines[length:]

    def mentions(self, word: str, start: int) -> bool:
        """Whether a word stands in the lines from one on."""
        return any(re.search(rf"\b{word}\b", line) for line in self._lines[start:])

    def replace(self, at: int, line: str) -> None:
        """Another line in the place of one at the present depth."""
        self._lines[at] = f"{self._step * self._depth}{line}"

    def without_last_then(self) -> None:
        """Take back the THEN of the last statement: nothing follows it."""
        for i in range(len(self._lines) - 1, -1, -1):
            text, mark, note = self._lines[i].partition("  # ")
            if text.strip().startswith("#"):
                continue
            if text.endswith(" THEN"):
                self._lines[i] = text.removesuffix(" THEN") + mark + note
            return

    def __len__(self) -> int:
        return len(self._lines)

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
