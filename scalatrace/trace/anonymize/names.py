"""New names for those of an application, numbered in the order of appearance: `function1`, `source2`, ...

One table serves all traces of a program, so that equal names stay equal across them. Numbers tell nothing of
a name. A hash of it would: who guesses the name finds it by hashing guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from scalatrace.errors import FormatError
from scalatrace.trace.model.callsite import split_frame

__all__ = ["KINDS", "AnonymousNames"]

KINDS = frozenset({
    "argument", "communicator", "file", "function", "module", "name", "operation", "operator", "program",
    "source", "statistic",
})  # fmt: skip
"""Kinds of names; a new name is the kind and a number."""

_DIGITS = re.compile(r"([0-9]+)")
_INNER_KINDS = re.compile(r"(line|offset|number)s of .*", re.DOTALL)
MAX_DIGITS = 18
"""Longer numbers in file names are no ranks."""


class AnonymousNames:
    """Tables of new names: kind -> old text -> number."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, int]] = {}
        self._files: dict[str, str] = {}

    def name(self, kind: str, text: str) -> str:
        """Return the new name of a text; equal texts of a kind have equal ones."""
        return f"{kind}{self._number(kind, text)}"

    def frame(self, text: str) -> str:
        """Return a frame of the same form, `source1:2:function3` or `module1+0x2`.

        Lines and offsets are numbered within their file.
        """
        file, _, place = split_frame(text)
        suffix = text[len(file) :]
        if suffix.startswith("+"):
            module = self.name("module", file)
            return f"{module}+{self._number(f'offsets of {module}', place):#x}"
        source = self.name("source", file)
        if not suffix:
            return source
        line = self._number(f"lines of {source}", suffix[1:].partition(":")[0])
        return f"{source}:{line}:{self.name('function', place)}"

    def file(self, text: str, limit: int) -> str:
        """Return the new name of a file, with the numbers that can be ranks (`file1.3`).

        Args:
            limit: numbers up to it stay; larger ones become numbers in the order of appearance (`file1_2`).
        """
        if text not in self._files:
            pieces = _DIGITS.split(text)
            name, marks = self.pattern(pieces[::2]), []
            for position, digits in enumerate(pieces[1::2]):
                if len(digits) <= MAX_DIGITS and int(digits) <= limit:
                    marks.append(f".{digits}")
                else:
                    marks.append(f"_{self.number_in(name, position, digits)}")
            self._files[text] = name + "".join(marks)
        return self._files[text]

    def pattern(self, pieces: Sequence[str]) -> str:
        """Return the new name of a file's name without its numbers."""
        return self.name(
            "file", "#".join(piece.replace("\\", "\\\\").replace("#", "\\#") for piece in pieces)
        )

    def number_in(self, name: str, position: int, digits: str) -> int:
        """Return the new number for one that is no rank, in the file names of a pattern."""
        return self._number(f"numbers of {name}.{position}", digits)

    def _number(self, kind: str, text: str) -> int:
        table = self._tables.setdefault(kind, {})
        return table.setdefault(text, len(table) + 1)

    def counts(self) -> dict[str, int]:
        """Return how many names of each kind there are."""
        return {kind: len(table) for kind, table in sorted(self._tables.items()) if kind in KINDS}

    def to_json(self) -> str:
        """Return the tables, for the owner of the traces."""
        return json.dumps({"names": self._tables, "files": self._files}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str, path: str = "") -> AnonymousNames:
        """Read tables that `to_json` wrote. Raises FormatError."""
        names = cls()
        try:
            raw = json.loads(text)
            names._tables = {kind: dict(table) for kind, table in raw["names"].items()}
            names._files = dict(raw["files"])
            valid = all(_is_table(kind, dict(table)) for kind, table in raw["names"].items())
            valid = valid and all(isinstance(name, str) for name in names._files.values())
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            valid = False
        if not valid:
            raise FormatError("not a table of names of `scalatrace anonymize`; give another file", path)
        return names


def _is_table(kind: str, table: dict[str, object]) -> bool:
    """Return whether a table has the numbers 1, 2, ..."""
    is_kind = kind in KINDS or _INNER_KINDS.fullmatch(kind) is not None
    numbers = list(table.values())
    return is_kind and all(type(n) is int for n in numbers) and set(numbers) == set(range(1, len(table) + 1))
