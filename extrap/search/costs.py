"""Description lengths in bits: of a formula, of an integer, and of a table of values.

The less a formula takes, the likelier programs compute with it: a formula of b bits has the prior 2**-b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log2

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.formula import Binary, Called, Choose, Compare, Cond, Const, Expr, Value, Var, children

__all__ = [
    "BINARY", "BLOCK", "CONDITION", "LISTED", "NAME", "SELECT", "UNARY", "bits_of_literals", "formula_bits",
    "line_bits", "literal_bits", "table_bits",
]  # fmt: skip

NAME = 3
"""Of a size, a coordinate, a parameter, a counter."""

BINARY = {
    "+": 2, "-": 2, "*": 3, "//": 4, "%": 4, "min": 6, "max": 6, "^": 7, ">>": 6, "<": 3, "==": 3,
}  # fmt: skip
"""Of operators and functions of two operands."""

UNARY = {"1<<": 5, "log2": 8, "ceil_log2": 8, "trailing_zeros": 8}
"""Of functions of one operand."""

BLOCK = 8
"""Of the choice of a distribution's kind, besides its size, its number of parts and the part."""

ROUNDED = 4
"""Of a division that is rounded up."""

LISTED = 8
"""Of the choice of an entry of the library without operands of its own, such as the number of neighbours."""

OTHER = 8
"""Of any other operator or function."""

CONDITION, SELECT = 4, 3
"""Of a comparison between two sizes, besides the operator; of a choice between two formulas."""


@lru_cache(maxsize=1 << 14)
def literal_bits(number: int) -> int:
    """Return the bits of an integer: short for small ones, and for few digits before a power of 2 or 10."""
    sign = int(number < 0)
    number = abs(number)
    if number <= 4:
        return 2 + number + sign
    best = _direct(number)
    for base in (2, 10):
        digits, zeros = number, 0
        while digits % base == 0:
            digits, zeros = digits // base, zeros + 1
        if zeros > 1:
            best = min(best, 3 + _direct(digits) + _direct(zeros))
    return round(best) + sign


def _direct(number: int) -> float:
    size = log2(number + 1)
    return 2 + size + 2 * log2(size + 1)


def line_bits(factor: int, constant: int) -> int:
    """Return the bits of a factor and a constant besides those of a formula: `factor*formula + constant`."""
    bits = 0 if factor == 1 else literal_bits(factor) + BINARY["*"]
    if constant:
        shared = constant // factor if constant % factor == 0 else constant
        bits += min(literal_bits(constant), literal_bits(shared)) + BINARY["+"]
    return bits


def formula_bits(part: Value | Cond, known: Mapping[Expr, float]) -> float:
    """Return the bits of a formula or condition.

    Args:
        known: the bits of entries of the library.
    """
    if isinstance(part, Expr) and part in known:
        return known[part]

    def total(*parts: Value | Cond) -> float:
        return sum(formula_bits(inner, known) for inner in parts)

    match part:
        case Binary("+", Binary("*", Const(factor), inner), Const(constant)):
            return line_bits(factor, constant) + total(inner)
        case Var():
            return NAME
        case Const(number):
            return literal_bits(number)
        case Choose(cond, Const(1), Const(0)):
            return total(cond)
        case Choose(cond, then, otherwise):
            return SELECT + total(cond, then, otherwise)
        case Compare(_, left, right):
            return BINARY["<"] + total(left, right)
        case Binary("<<", Const(1), right):
            return UNARY["1<<"] + total(right)
        case Binary("*", Const(-1), Binary("//", Const(number), right)):
            return BINARY["//"] + ROUNDED + literal_bits(-number) + total(right)
        case Binary(op, left, right):
            return BINARY.get(op, OTHER) + total(left, right)
        case Called(name, (argument,)):
            return UNARY.get(name, OTHER) + total(argument)
        case Called(name, (left, right)):
            return BINARY.get(name, OTHER) + total(left, right)
    return OTHER + total(*children(part))


def bits_of_literals(part: Value | Cond) -> int:
    """Return the bits of all literals of a formula or condition."""
    match part:
        case Const(number):
            return literal_bits(number)
        case Binary("+", Binary("*", Const(factor), inner), Const(constant)) if constant % factor == 0:
            shared = min(literal_bits(constant), literal_bits(constant // factor))  # as factor*(inner+1)
            return literal_bits(factor) + bits_of_literals(inner) + shared
    return sum(map(bits_of_literals, children(part)))


def table_bits(values: Ints, arguments: Sequence[Ints]) -> float:
    """Return the bits of values without a rule: the different ones, then which each argument has.

    The different ones take half the bits of literals: those of one quantity are of a size.

    Args:
        arguments: columns of what the values may depend on. Rows that are equal there are one row.
    """
    if arguments:
        _, rows = np.unique(np.array(arguments), axis=1, return_index=True)
        values = values[rows]
    different = np.unique(values)
    return sum(literal_bits(int(value)) for value in different) / 2 + len(values) * log2(len(different))
