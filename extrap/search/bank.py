"""The bank: all formulas of a grammar up to a description length, one per column of values on the rows.

Formulas are built bottom-up, the shortest first. Each has a unit: ranks and elements do not add up, and
nothing is divided by a coordinate. Those with equal values on all rows, samples and probes, are one formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.extrap.search.costs import BINARY, CONDITION, UNARY, literal_bits
from scalatrace.formula import Binary, Called, Compare, Const, Expr, indicator

__all__ = ["LARGEST", "Bank", "Leaf", "Unit", "columns_hash"]


class Unit(IntEnum):
    """What a formula counts: ranks, elements, iterations, nothing (a literal), truth (0 or 1), neighbours."""

    RANKS = 0
    ELEMENTS = 1
    LEVEL = 2
    PURE = 3
    TRUTH = 4
    COUNT = 5


@dataclass(frozen=True, slots=True)
class Leaf:
    """A formula that is not built of others here: a name, a literal or an entry of the library.

    Attributes:
        sized: whether it has one value in each trace.
    """

    formula: Expr
    bits: int
    unit: Unit
    column: Ints
    sized: bool


R, E, L, N, T, C = Unit

_SUMS = {
    (R, R): R, (E, E): E, (L, L): L, (R, L): R, (L, R): R, (N, R): R, (R, N): R, (N, E): E, (E, N): E,
    (N, L): L, (L, N): L, (C, N): C, (C, C): C, (T, R): R, (R, T): R, (T, E): E, (E, T): E,
    (T, L): L, (L, T): L, (T, T): L,
}  # fmt: skip
_PRODUCTS = {
    (R, R): R, (R, E): E, (E, R): E, (E, E): E, (L, R): R, (R, L): R, (L, E): E, (E, L): E,
    (N, R): R, (N, E): E, (N, L): L, (T, R): R, (T, E): E, (T, L): L, (T, T): T, (N, T): L,
    (N, C): C, (L, C): L, (E, C): E,
}  # fmt: skip
_QUOTIENTS = {
    (R, R): R, (E, R): E, (R, N): R, (E, N): E, (L, N): L, (L, R): L, (L, E): R, (E, E): R, (R, L): R,
}  # fmt: skip
_RESTS = {(R, R): R, (E, R): E, (R, N): R, (E, N): E, (L, N): L, (L, R): R, (R, E): R}
_LEAST = {(R, R): R, (E, E): E, (L, L): L, (R, L): R, (L, R): R, (R, N): R, (L, N): L, (E, N): E}
_ORDERS = {
    (R, R): T, (L, L): T, (R, L): T, (L, R): T, (R, E): T, (R, N): T, (N, R): T, (L, N): T, (N, L): T,
    (E, N): T, (L, C): T, (C, N): T,
}  # fmt: skip
_EQUALS = {(R, R): T, (L, L): T, (R, L): T, (R, N): T, (L, N): T, (C, N): T}

UNITS = {
    "+": _SUMS, "-": _SUMS, "*": _PRODUCTS, "//": _QUOTIENTS, "%": _RESTS, "min": _LEAST, "max": _LEAST,
    "^": {(R, R): R, (R, L): R, (R, N): R}, ">>": {(E, L): E, (R, L): R}, "<": _ORDERS, "==": _EQUALS,
}  # fmt: skip
"""For each operator the units of operands that it accepts, and of its value."""

LINEAR = frozenset(["+", "-"])
"""Operators whose values have the sum, or the difference, of the operands' hashes as hash."""

FIRST_ROWS = 1 << 12
"""Formulas that a bank has room for at first."""

CHUNK = 1 << 14
"""Formulas whose columns are computed at once."""

COMMUTATIVE = frozenset(["+", "*", "min", "max", "^", "=="])

MAX_FORMULAS = 40_000
MAX_TRIES = 500_000
MAX_BITS = 27
"""Limits of a bank: its formulas, those that are tried, and the bits of one."""

LARGEST = 1 << 40
"""Numbers beyond are no values of calls."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Formulas of one unit and description length."""

    indices: Ints
    table: Ints
    hashes: Ints
    sized: Mask


class Bank:
    """Formulas with their columns, by ascending bits.

    Attributes:
        table: a row per formula, a column per row of the search.
        bits, units, sized: of each formula.
    """

    def __init__(self, leaves: Sequence[Leaf], count: int) -> None:
        """Build all formulas; `count`: the rows that are samples, on which all must have a value."""
        self._samples = count
        self._nodes: list[tuple[str, int, int] | Expr] = []
        width = len(leaves[0].column) if leaves else 0
        self._rows = np.empty((FIRST_ROWS, width), dtype=np.int64)
        self._bits: list[int] = []
        self._units: list[int] = []
        self._sized: list[bool] = []
        self._seen: set[int] = set()
        self._of_bits: dict[tuple[int, int], list[int]] = {}
        self._groups: dict[tuple[int, int], _Group | None] = {}
        self._tries = 0
        self._weights = columns_weights(width)
        self._build(leaves)
        self.table = self._rows[: len(self._nodes)].copy()
        del self._rows, self._groups, self._of_bits, self._seen  # searches are kept, these are not needed
        self.bits = np.array(self._bits, dtype=np.int64)
        self.units = np.array(self._units, dtype=np.int64)
        self.sized = np.array(self._sized, dtype=bool)

    def __len__(self) -> int:
        return len(self._nodes)

    def formula(self, at: int) -> Expr:
        """Return a formula of the bank."""
        node = self._nodes[at]
        if not isinstance(node, tuple):
            return node
        op, a, b = node
        return applied(op, self.formula(a), None if b < 0 else self.formula(b))

    def _build(self, leaves: Sequence[Leaf]) -> None:
        by_bits: dict[int, list[Leaf]] = {}
        for leaf in leaves:
            by_bits.setdefault(leaf.bits, []).append(leaf)
        for bits in range(2, MAX_BITS + 1):
            for leaf in by_bits.get(bits, ()):
                self._add_all([leaf.formula], leaf.column[None, :], bits, leaf.unit, np.array([leaf.sized]))
            if self._tries > MAX_TRIES or len(self._nodes) > MAX_FORMULAS:
                continue  # the leaves only
            self._combine(bits)

    def _combine(self, bits: int) -> None:
        """Add the formulas of so many bits that are made of shorter ones."""
        for op, own in UNARY.items():
            unit = L if op == "1<<" else R
            group = self._group(bits - own, unit)
            if group is not None:
                nodes = [(op, int(i), -1) for i in group.indices]
                self._add_all(nodes, _unary(op, group.table), bits, R if op == "1<<" else L, group.sized)
        for op, units in UNITS.items():
            for first in range(2, bits - BINARY[op] - 1):
                second = bits - BINARY[op] - first
                if second < 2 or (op in COMMUTATIVE and second < first):
                    continue
                for (a, b), unit in units.items():
                    self._pairs(op, (first, a), (second, b), unit, bits)
                    if op in COMMUTATIVE and a != b and (b, a) not in units:
                        self._pairs(op, (first, b), (second, a), unit, bits)
                    if len(self._nodes) > MAX_FORMULAS or self._tries > MAX_TRIES:
                        return

    def _pairs(
        self, op: str, first: tuple[int, Unit], second: tuple[int, Unit], unit: Unit, bits: int
    ) -> None:
        left, right = self._group(*first), self._group(*second)
        if left is None or right is None:
            return
        literal = second[1] is N
        valid: Any = np.ones(len(right.indices), dtype=bool)
        if op in ("//", "%"):
            valid = (right.sized | literal) & np.all(right.table[:, : self._samples] > literal, axis=1)
        elif op == ">>":
            valid = (right.table[:, : self._samples] >= 0).all(axis=1)
        usable = np.broadcast_to(valid, (len(left.indices), len(right.indices))).copy()
        if op == "*" and first[1] not in (T, N):
            usable[~left.sized] &= right.sized | (second[1] in (N, T))
        if op in ("<", "==") and bits > MAX_BITS - CONDITION:
            usable[left.sized] &= ~right.sized
        owns, others = np.nonzero(usable)
        self._tries += len(owns)
        for start in range(0, len(owns), CHUNK):
            own, other = owns[start : start + CHUNK], others[start : start + CHUNK]
            if op in LINEAR:  # most sums are known: their hashes tell before their columns are made
                hashes = _FUNCTIONS[op](left.hashes[own], right.hashes[other])
                new = self._unknown(hashes)
                own, other, hashes = own[new], other[new], hashes[new]
                table = _FUNCTIONS[op](left.table[own], right.table[other])
            else:
                table = _binary(op, left.table[own], right.table[other])
                hashes = columns_hash(table, self._weights)
                new = self._unknown(hashes)
                own, other, hashes, table = own[new], other[new], hashes[new], table[new]
            pairs = zip(left.indices[own].tolist(), right.indices[other].tolist(), strict=True)
            nodes = [(op, i, k) for i, k in pairs]
            self._add(nodes, table, hashes, bits, unit, left.sized[own] & right.sized[other])

    def _unknown(self, hashes: Ints) -> Ints:
        """Return which hashes no formula has, in order, and each of them once."""
        different, first = np.unique(hashes, return_index=True)
        new = [
            at for key, at in zip(different.tolist(), first.tolist(), strict=True) if key not in self._seen
        ]
        return np.sort(np.array(new, dtype=np.int64))

    def _group(self, bits: int, unit: Unit) -> _Group | None:
        """Return the formulas of a unit with so many bits, all of which are known."""
        key = bits, int(unit)
        if key not in self._groups:
            indices = np.array(self._of_bits.get(key, ()), dtype=np.int64)
            self._groups[key] = self._group_of(indices) if len(indices) else None
        return self._groups[key]

    def _group_of(self, indices: Ints) -> _Group:
        table = self._rows[indices]
        sized = np.array([self._sized[i] for i in indices.tolist()], dtype=bool)
        return _Group(indices, table, columns_hash(table, self._weights), sized)

    def _add_all(
        self, nodes: Sequence[tuple[str, int, int] | Expr], table: Ints, bits: int, unit: Unit, sized: Mask
    ) -> None:
        """Add formulas of one operand or none."""
        self._tries += len(nodes)
        hashes = columns_hash(table, self._weights)
        new = self._unknown(hashes)
        self._add([nodes[i] for i in new.tolist()], table[new], hashes[new], bits, unit, sized[new])

    def _add(
        self,
        nodes: Sequence[tuple[str, int, int] | Expr],
        table: Ints,
        hashes: Ints,
        bits: int,
        unit: Unit,
        sized: Mask,
    ) -> None:
        """Add formulas that are not known, where their values are not too large."""
        fits: Any = np.ones(len(table), dtype=bool)
        if table.size and not -LARGEST < table.min() <= table.max() < LARGEST:
            fits = (np.abs(table) < LARGEST).all(axis=1)
        samples = table[:, : self._samples]
        if unit is T:
            fits &= (samples != samples[:, :1]).any(axis=1)
        chosen = np.flatnonzero(fits)
        start, end = len(self._nodes), len(self._nodes) + len(chosen)
        while end > len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[start:end] = table[chosen]
        self._seen.update(hashes[chosen].tolist())
        self._nodes += [nodes[i] for i in chosen.tolist()]
        self._of_bits.setdefault((bits, int(unit)), []).extend(range(start, end))
        self._bits += [bits] * len(chosen)
        self._units += [int(unit)] * len(chosen)
        self._sized += sized[chosen].tolist()


def columns_weights(count: int) -> Ints:
    """Return odd numbers by which columns are summed to a hash."""
    rng = np.random.default_rng(20)
    return rng.integers(-(2**62), 2**62, count, dtype=np.int64) * 2 + 1


def columns_hash(table: Ints, weights: Ints) -> Ints:
    """Return a linear hash of each row: that of a sum is the sum of the hashes, modulo 2**64."""
    result: Ints = table @ weights
    return result


def applied(op: str, a: Expr, b: Expr | None) -> Expr:
    """Return the formula of an operator over its operands."""
    if b is None:
        return Binary("<<", Const(1), a) if op == "1<<" else Called(op, (a,))
    if op in ("min", "max"):
        return Called(op, (a, b))
    if op in ("<", "=="):
        return indicator(Compare(op, a, b))
    return Binary(op, a, b)


def _unary(op: str, table: Ints) -> Ints:
    if op == "1<<":
        return 1 << np.clip(table, 0, 41)
    positive = np.maximum(table, 1)
    if op == "log2":
        return np.where(table > 0, np.floor(np.log2(positive)).astype(np.int64), -1)
    if op == "ceil_log2":
        return np.where(table > 0, np.ceil(np.log2(positive)).astype(np.int64), -1)
    low = table & -table
    return np.where(table != 0, np.log2(np.maximum(np.abs(low), 1)).astype(np.int64), 64)


_FUNCTIONS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum,
    "^": np.bitwise_xor,
}  # fmt: skip


def _binary(op: str, own: Ints, table: Ints) -> Ints:
    if op in _FUNCTIONS:
        return _FUNCTIONS[op](own, table)
    if op in ("//", "%"):
        divisor = np.where(table > 0, table, 1)
        return own // divisor if op == "//" else own % divisor
    if op == ">>":
        return own >> np.clip(table, 0, 62)
    return (own < table if op == "<" else own == table).astype(np.int64)


def literal(number: int, rows: int) -> Leaf:
    """Return a literal as a leaf."""
    return Leaf(Const(number), literal_bits(number), N, np.full(rows, number, dtype=np.int64), True)


def literals(rows: int) -> Iterator[Leaf]:
    """Yield the literals that formulas are built with; others are found as coefficients."""
    for number in (0, 1, 2, 3, 4):
        yield literal(number, rows)
