"""Random C functions of rank and iteration: the shapes that values of calls take in programs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

NRANKS = 4
MAX_ENTRIES = 13
"""Values of a rank in an irregular table."""

Shape = Callable[[Random, int, int], str]


def values(random: Random, name: str, low: int = 1, high: int = 40) -> str:
    """Return the definition of `static int NAME(int r, int i)`, whose values are between low and high."""
    shape = random.choice((_constant, _of_rank, _affine, _periodic, _irregular, _grouped, _changing))
    return f"static int {name}(int r, int i)\n{{\n{shape(random, low, high)}}}\n"


def _constant(random: Random, low: int, high: int) -> str:
    return f"    return {random.randint(low, high)};\n"


def _of_rank(random: Random, low: int, high: int) -> str:
    step = random.randint(0, (high - low) // NRANKS)
    return f"    return {random.randint(low, high - NRANKS * step)} + {step} * r;\n"


def _affine(random: Random, low: int, high: int) -> str:
    a, b = random.randint(1, 3), random.randint(0, 3)
    return f"    return {low} + ({a} * i + {b} * r) % {high - low + 1};\n"


def _periodic(random: Random, low: int, high: int) -> str:
    period = random.randint(2, 4)
    step = max(1, (high - low) // period)
    return f"    return {low} + (i + {random.randint(0, 2)} * r) % {period} * {step} % {high - low + 1};\n"


def _irregular(random: Random, low: int, high: int) -> str:
    """Return a table with other values, and another number of them, for each rank."""
    lengths = [random.randint(1, MAX_ENTRIES) for _ in range(NRANKS)]
    rows = [_row(random, low, high, length) for length in lengths]
    return _table(rows, lengths, "r")


def _grouped(random: Random, low: int, high: int) -> str:
    """Return a table of some ranks, of two lengths; the others have a constant."""
    first = random.randint(1, NRANKS - 1)
    lengths = [random.randint(2, MAX_ENTRIES) for _ in range(2)]
    table = _table([_row(random, low, high, length) for length in lengths], lengths, "(r % 2)")
    condition = f"r {random.choice(('<', '>='))} {first}"
    return f"    if ({condition})\n        return {random.randint(low, high)};\n{table}"


def _changing(random: Random, low: int, high: int) -> str:
    first, later = random.randint(low, high), random.randint(low, high)
    return f"    return i < {random.randint(1, 5)} + {random.randint(0, 1)} * r ? {first} : {later};\n"


def _row(random: Random, low: int, high: int, length: int) -> list[int]:
    return [random.randint(low, high) for _ in range(length)]


def _table(rows: list[list[int]], lengths: list[int], index: str) -> str:
    listed = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    return (
        f"    static const int table[][{max(lengths)}] = {{{listed}}};\n"
        f"    static const int length[] = {{{', '.join(map(str, lengths))}}};\n"
        f"    return table[{index}][i % length[{index}]];\n"
    )
