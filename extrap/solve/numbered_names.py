"""Names with numbers, such as `ck_007.1`: texts whose numbers follow formulas, some with leading zeros."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Widths", "parts_of_name", "text_of_name", "widths_of"]

_NUMBER = re.compile(r"\d+")

MAX_DIGITS = 18
"""Longer numbers, which might not fit into 64 bits, are words."""

Words = tuple[str, ...]
"""The texts around the numbers of a name."""

Widths = Mapping[Words, tuple[int, ...]]
"""For names with these words the width of each number that has leading zeros; 0: as long as it is."""


def widths_of(texts: Iterable[str]) -> Widths:
    """Return the widths of the numbers in names: that of `a003` and `a012` is 3, so 1000 is in `a1000`.

    Names whose numbers have leading zeros, but no one width, are left out.
    """
    numbers: dict[Words, list[list[str]]] = {}
    for text in texts:
        numbers.setdefault(tuple(_NUMBER.split(text)), []).append(_NUMBER.findall(text))
    found = {words: tuple(map(_width, zip(*rows, strict=True))) for words, rows in numbers.items()}
    return {words: tuple(one or 0 for one in widths) for words, widths in found.items() if None not in widths}


def _width(numbers: tuple[str, ...]) -> int | None:
    """Return the width of a number with leading zeros; 0 without such; None where there are several."""
    padded = {len(number) for number in numbers if len(number) > 1 and number[0] == "0"}
    if max(map(len, numbers)) > MAX_DIGITS or len(padded) > 1:
        return None
    width = max(padded, default=0)
    return width if min(map(len, numbers)) >= width else None


def parts_of_name(text: str, widths: Widths) -> tuple[Any, ...]:
    """Split a name into texts and integers; with a width, a pair of a format and a number."""
    words = tuple(_NUMBER.split(text))
    if words not in widths:
        return text, ""
    result: list[Any] = []
    for word, number, width in zip(words, _NUMBER.findall(text), widths[words], strict=False):
        result += [word, (f"%0{width}d", int(number)) if width else int(number)]
    return (*result, words[-1], "")


def text_of_name(parts: Iterable[Any]) -> str:
    """Join the parts that `parts_of_name` returns."""
    return "".join(part[0] % part[1] if type(part) is tuple else str(part) for part in parts)
