"""Hits: formulas over the bank with the values of a quantity on all samples.

A formula is in the bank, or a combination of few that are: a multiple and a constant, a sum of two multiples,
a sum or product of two, a block of a number that is no parameter, a choice between two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement, product
from math import gcd, isqrt

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.extrap.search.bank import LARGEST, Bank, Unit, columns_hash, columns_weights
from scalatrace.extrap.search.costs import BINARY, BLOCK, SELECT, line_bits, literal_bits
from scalatrace.extrap.search.library import DISTRIBUTIONS, Place
from scalatrace.extrap.search.rows import Rows
from scalatrace.formula import Compare, Const, Expr, Var, choose, evaluate, linear_combination
from scalatrace.formula.nodes import Choose

__all__ = ["FormulaSearch", "Hit"]

MAX_LINEAR = 500
"""The shortest formulas of which sums of two multiples are sought."""

MAX_CHOSEN = 4_000
MAX_CONDITIONS = 500
"""The shortest formulas and conditions of which choices are sought."""

MAX_HITS = 400
"""Hits of one kind that are kept, the shortest ones."""

MAX_NUMBERS = 4_096
"""Sizes of a problem that are tried for one kind of blocks."""

MAX_FACES = 4_000_000
"""Values of the products of the shortest formulas of elements, of which multiples are sought."""

MAX_SIZES, MAX_WITH_SIZES = 12, 2_000
"""The shortest formulas of ranks, such as sides of the grid, and those of elements that they multiply."""

SMALL = (0, 1, -1, 2, -2)
"""Constants beside a product and another formula."""

MAX_EQUAL = 3
"""Formulas with equal values on all samples that are tried within sums and products, the shortest ones."""

ENOUGH = 18
"""So short a formula needs no choices: these are longer."""

EXACT = 1e-6
"""What is left of a sum of squares, as a part of it, where multiples of two formulas fit."""

UNKNOWN = Var("n_")
"""Stands for the number of elements of unknown blocks."""


MakeFormula = Callable[[], Expr]
"""Builds a formula: of thousands of hits few are looked at."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A formula of so many bits, and its values on samples and probes."""

    formula: MakeFormula
    bits: int
    column: Ints


@dataclass(frozen=True, slots=True)
class _Faces:
    """Products of two formulas of the bank, by ascending bits; `order` sorts them by their hashes."""

    left: Ints
    right: Ints
    bits: Ints
    table: Ints
    hashes: Ints
    order: Ints


class FormulaSearch:
    """The search over one bank: for the quantities that have values on the same rows."""

    def __init__(self, bank: Bank, rows: Rows, parts: Sequence[Place], known: Mapping[Expr, int]) -> None:
        """Prepare a bank.

        Args:
            rows: that its columns are over.
            parts: what numbers without a parameter are divided into.
            known: the bits of the library's entries.
        """
        self.bank, self.known, self._rows, self._parts = bank, known, rows, parts
        self._known_hits: dict[bytes, list[Hit]] = {}
        self._count, self._total = rows.count, bank.table.shape[1]
        self._samples = np.ascontiguousarray(bank.table[:, : self._count])
        self._weights = columns_weights(self._count)
        hashes = columns_hash(self._samples, self._weights)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes, self._sorted = hashes, hashes[self._order]

    def hits(self, values: Ints) -> list[Hit]:
        """Return the formulas with these values on all samples, the shortest first."""
        key = values.tobytes()
        if (
            key not in self._known_hits
        ):  # both halves of an exchange, and several alignments, ask for the same
            self._known_hits[key] = self._hits(values)
        return self._known_hits[key]

    def _hits(self, values: Ints) -> list[Hit]:
        if values.min() < -LARGEST or values.max() > LARGEST:
            return []
        found = [*self._exact(values), *self._affine(values), *self._sums(values), *self._products(values)]
        found += self._unknown_blocks(values)
        found += [*self._affine_products(values), *self._parities(values)]
        if min((hit.bits for hit in found), default=ENOUGH + 1) > ENOUGH:
            found += self._linear(values)
            found += self._products_and_rests(values)
            found += self._choices(values)
        return sorted(found, key=lambda hit: hit.bits)[:MAX_HITS]

    def _of(self, wanted: Ints) -> Iterator[tuple[int, int]]:
        """Yield which of some hashes the bank has, and each of its formulas with that hash."""
        first = np.searchsorted(self._sorted, wanted, side="left")
        last = np.searchsorted(self._sorted, wanted, side="right")
        for at in np.flatnonzero(last > first):
            for k in range(int(first[at]), int(last[at])):
                yield int(at), int(self._order[k])

    def _hit(self, at: int) -> Hit:
        return Hit(lambda: self.bank.formula(at), int(self.bank.bits[at]), self.bank.table[at])

    def _exact(self, values: Ints) -> Iterator[Hit]:
        for _, at in self._of(columns_hash(values[None, :], self._weights)):
            yield self._hit(at)

    def _scaled(self, at: int, factor: int, constant: int) -> Hit:
        bits = int(self.bank.bits[at]) + line_bits(factor, constant)
        return Hit(
            self._combination(constant, [factor], [partial(self.bank.formula, at)]),
            bits,
            factor * self.bank.table[at] + constant,
        )

    @staticmethod
    def _combination(constant: int, factors: Sequence[int], terms: Sequence[MakeFormula]) -> MakeFormula:
        return lambda: linear_combination(constant, factors, [term() for term in terms])

    def _affine(self, values: Ints) -> Iterator[Hit]:
        """Yield a multiple of a formula plus a constant."""
        for at, factor, constant in _lines(self._samples, values):
            if (factor, constant) != (1, 0):
                yield self._scaled(at, factor, constant)

    def _affine_products(self, values: Ints) -> Iterator[Hit]:
        """Yield a multiple of a product of two formulas plus a constant: points of a face with its halo."""
        faces = self._faces
        for at, factor, constant in _lines(faces.table, values):
            bits = int(faces.bits[at]) + line_bits(factor, constant)
            of = self._combined("*", int(faces.left[at]), int(faces.right[at]))
            yield Hit(
                self._combination(constant, [factor], [of]),
                bits,
                factor * self._face_column(at) + constant,
            )

    def _face_column(self, at: int) -> Ints:
        left, right = self._faces.left[at], self._faces.right[at]
        column: Ints = np.multiply(self.bank.table[left], self.bank.table[right])
        return column

    def _products_and_rests(self, values: Ints) -> Iterator[Hit]:
        """Yield a product of two formulas plus or minus another one plus a small constant."""
        faces, bank = self._faces, self.bank
        if not len(faces.table):
            return
        whole = columns_hash(values[None, :], self._weights)
        ones = columns_hash(np.ones((1, self._count), dtype=np.int64), self._weights)
        found: list[tuple[int, int, int, int, int]] = []
        for sign, constant in product((1, -1), SMALL):
            wanted = whole - sign * self._hashes - constant * ones
            at = np.searchsorted(faces.hashes, wanted)
            at = np.minimum(at, len(faces.hashes) - 1)
            for rest in np.flatnonzero(faces.hashes[at] == wanted).tolist():
                face = int(faces.order[at[rest]])
                if bank.units[rest] == Unit.PURE:
                    continue
                bits = int(faces.bits[face] + bank.bits[rest]) + BINARY["+"] + line_bits(1, constant)
                found.append((bits, face, rest, sign, constant))
        for bits, face, rest, sign, constant in sorted(found)[:MAX_HITS]:
            of = self._combined("*", int(faces.left[face]), int(faces.right[face]))
            yield Hit(
                self._combination(constant, [1, sign], [of, partial(self.bank.formula, rest)]),
                bits,
                self._face_column(face) + sign * bank.table[rest] + constant,
            )

    @cached_property
    def _faces(self) -> _Faces:
        """Products of the shortest formulas of elements and ranks."""
        units = self.bank.units[self._varied]
        most = isqrt(MAX_FACES // self._count)
        elements, ranks = (self._varied[units == unit] for unit in (Unit.ELEMENTS, Unit.RANKS))
        elements, more_elements = elements[:most], elements[most:MAX_WITH_SIZES]
        pairs = [
            *combinations_with_replacement(elements.tolist(), 2),
            *product(elements.tolist(), ranks[: most // 2].tolist()),
            *product(more_elements.tolist(), ranks[:MAX_SIZES].tolist()),
            *combinations_with_replacement(ranks[: most // 2].tolist(), 2),
        ]
        sides = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        bits = self.bank.bits[sides].sum(axis=1) + BINARY["*"]
        sides = sides[np.argsort(bits, kind="stable")]
        table = self._samples[sides[:, 0]] * self._samples[sides[:, 1]]
        hashes = columns_hash(table, self._weights)
        order = np.argsort(hashes, kind="stable")
        return _Faces(sides[:, 0], sides[:, 1], np.sort(bits, kind="stable"), table, hashes[order], order)

    def _parities(self, values: Ints) -> Iterator[Hit]:
        """Yield sums of two formulas modulo 2, plus a constant: of a chessboard's colours."""
        least = int(values.min())
        if set(np.unique(values).tolist()) != {least, least + 1}:
            return
        bank = self.bank
        keys = np.packbits((self._samples & 1).astype(np.uint8), axis=1)
        wanted = np.packbits((values - least).astype(np.uint8))
        shortest: dict[bytes, int] = {}
        for at in np.argsort(bank.bits, kind="stable").tolist():
            if bank.units[at] != Unit.PURE:
                shortest.setdefault(keys[at].tobytes(), at)
        pairs = []
        for key, a in shortest.items():
            other = (np.frombuffer(key, dtype=np.uint8) ^ wanted).tobytes()
            b = shortest.get(other)
            if b is not None and a < b:
                pairs.append((int(bank.bits[a] + bank.bits[b]), a, b))
        for bits, a, b in sorted(pairs)[:MAX_HITS]:
            total = self._combined("+", a, b)
            yield Hit(
                self._combination(least, [1], [partial(_parity, total)]),
                bits + BINARY["+"] + BINARY["%"] + literal_bits(2) + line_bits(1, least),
                (bank.table[a] + bank.table[b]) % 2 + least,
            )

    def _sums(self, values: Ints) -> Iterator[Hit]:
        """Yield sums and differences of two formulas, found by their hashes, which add up."""
        whole = columns_hash(values[None, :], self._weights)[0]
        bank = self.bank
        for sign, wanted in ((1, whole - self._hashes), (-1, whole + self._hashes)):
            a, b = self._pairs_of(wanted, np.arange(len(bank)), sign > 0)
            units = bank.units[a], bank.units[b]
            mixed = (np.minimum(*units) == Unit.RANKS) & (np.maximum(*units) == Unit.ELEMENTS)
            a, b = a[~mixed], b[~mixed]
            for f, g in self._shortest_pairs(a, b):
                column = bank.table[g] + sign * bank.table[f]
                bits = int(bank.bits[f] + bank.bits[g]) + BINARY["+"]
                yield Hit(self._combined("+" if sign > 0 else "-", g, f), bits, column)

    def _pairs_of(self, wanted: Ints, owners: Ints, symmetric: bool) -> tuple[Ints, Ints]:
        """Return pairs of formulas: owners of hashes, and the shortest formulas that have these hashes."""
        first = np.searchsorted(self._sorted, wanted, side="left")
        last = np.searchsorted(self._sorted, wanted, side="right")
        found = [
            (owners[at], self._order[first[at] + k])
            for k in range(MAX_EQUAL)
            for at in [np.flatnonzero(last > first + k)]
        ]
        a, b = (np.concatenate(side) for side in zip(*found, strict=True))
        units = self.bank.units
        kept = (units[a] != Unit.PURE) & (units[b] != Unit.PURE) & ((a <= b) | (not symmetric))
        return a[kept], b[kept]

    def _shortest_pairs(self, a: Ints, b: Ints) -> Iterator[tuple[int, int]]:
        order = np.argsort(self.bank.bits[a] + self.bank.bits[b], kind="stable")[:MAX_HITS]
        yield from zip(a[order].tolist(), b[order].tolist(), strict=True)

    def _combined(self, op: str, a: int, b: int) -> MakeFormula:
        def formula() -> Expr:
            left, right = self.bank.formula(a), self.bank.formula(b)
            return {"+": left + right, "-": left - right, "*": left * right}[op]

        return formula

    def _products(self, values: Ints) -> Iterator[Hit]:
        """Yield products of two formulas, times the common factor of the values or not."""
        if not values.any():
            return
        common = int(np.gcd.reduce(np.abs(values)))
        for factor in {1, common}:
            rest = values // factor
            divides = (self._samples != 0) & (np.abs(self._samples) > 1)
            usable = np.flatnonzero(divides.all(axis=1))
            usable = usable[(rest % self._samples[usable] == 0).all(axis=1)]
            if not len(usable):
                continue
            quotients = columns_hash(rest // self._samples[usable], self._weights)
            for a, b in self._shortest_pairs(*self._pairs_of(quotients, usable, True)):
                bits = int(self.bank.bits[a] + self.bank.bits[b]) + BINARY["*"]
                bits += 0 if factor == 1 else literal_bits(factor) + BINARY["*"]
                column = factor * self.bank.table[a] * self.bank.table[b]
                yield Hit(self._scaled_product(factor, a, b), bits, column)

    def _scaled_product(self, factor: int, a: int, b: int) -> MakeFormula:
        of = self._combined("*", a, b)
        return of if factor == 1 else lambda: Const(factor) * of()

    @cached_property
    def _varied(self) -> Ints:
        """The formulas with different values on the samples, the shortest first."""
        varied = (self._samples != self._samples[:, :1]).any(axis=1)
        order = np.argsort(self.bank.bits, kind="stable")
        result: Ints = order[varied[order]]
        return result

    @property
    def _light(self) -> Ints:
        return self._varied[:MAX_LINEAR]

    @cached_property
    def _gram(self) -> tuple[Floats, Floats]:
        rows = self._samples[self._light].astype(np.float64)
        centred = rows - rows.mean(axis=1, keepdims=True)
        return centred, centred @ centred.T

    def _linear(self, values: Ints) -> Iterator[Hit]:
        """Yield sums of multiples of two formulas and a constant."""
        light = self._light
        if len(light) < 2 or len(np.unique(values)) < 3:
            return
        centred, gram = self._gram
        own = values - values.mean()
        norm = float(own @ own)
        along = centred @ own
        diagonal = np.diag(gram)
        determinant = diagonal[:, None] * diagonal[None, :] - gram**2
        independent = determinant > EXACT * diagonal[:, None] * diagonal[None, :]
        determinant = np.where(independent, determinant, 1)
        first = (diagonal[None, :] * along[:, None] - gram * along[None, :]) / determinant
        second = (diagonal[:, None] * along[None, :] - gram * along[:, None]) / determinant
        left = norm - first * along[:, None] - second * along[None, :]
        fits = np.triu(independent & (left < EXACT * norm + EXACT), 1)
        pairs = np.argwhere(fits)
        bits = self.bank.bits[light]
        order = np.argsort(bits[pairs[:, 0]] + bits[pairs[:, 1]], kind="stable")[:MAX_HITS]
        for i, k in pairs[order]:
            a, b = round(float(first[i, k])), round(float(second[i, k]))
            f, g = int(light[i]), int(light[k])
            constant = int(values[0] - a * self._samples[f, 0] - b * self._samples[g, 0])
            if not a or not b or (a * self._samples[f] + b * self._samples[g] + constant != values).any():
                continue
            total = int(self.bank.bits[f] + self.bank.bits[g]) + BINARY["+"]
            total += sum(literal_bits(c) + BINARY["*"] for c in (a, b) if c != 1)
            total += literal_bits(constant) + BINARY["+"] if constant else 0
            yield Hit(
                self._combination(constant, [a, b], [partial(self.bank.formula, at) for at in (f, g)]),
                total,
                a * self.bank.table[f] + b * self.bank.table[g] + constant,
            )

    def _unknown_blocks(self, values: Ints) -> Iterator[Hit]:
        """Yield blocks of a number of elements that is no parameter, along a dimension or over all ranks."""
        if (values <= 0).any():
            return
        rest = int(np.gcd.reduce(values - values[0])) or 1
        for factor in sorted({1, 2, 4, 8, rest, gcd(rest, int(values[0]))}):
            for constant in (0, 1, 2, -1):
                shares, over = np.divmod(values - constant, factor)
                if not over.any() and (shares > 0).all():
                    yield from self._blocks_of_numbers(shares, factor, constant)

    def _blocks_of_numbers(self, shares: Ints, factor: int, constant: int) -> Iterator[Hit]:
        for parts, index, own in self._parts:
            sides = np.broadcast_to(np.asarray(evaluate(parts, self._rows.columns)), (self._total,))
            samples = sides[: self._count]
            if (samples < 1).any() or (samples == samples[0]).all():
                continue
            least = int(((shares - 1) * samples).max())
            most = int(((shares + 1) * samples).min())
            if not 0 <= most - least <= MAX_NUMBERS:
                continue
            numbers = np.arange(max(least, 1), most + 1)[:, None]
            here = {name: column[None, : self._count] for name, column in self._rows.columns.items()}
            for kind in (_rounded_down, _rounded_up, *DISTRIBUTIONS.values()):
                table = np.asarray(evaluate(kind(UNKNOWN, parts, index), {**here, UNKNOWN.name: numbers}))
                holds = np.broadcast_to(table == shares, (len(numbers), self._count)).all(axis=1)
                for number in numbers[holds, 0].tolist():
                    block = kind(Const(number), parts, index)
                    bits = BLOCK + own + literal_bits(number) + line_bits(factor, constant)
                    yield self._evaluated(linear_combination(constant, [factor], [block]), bits)

    def _evaluated(self, formula: Expr, bits: int) -> Hit:
        column = np.broadcast_to(np.asarray(evaluate(formula, self._rows.columns)), (self._total,))
        return Hit(lambda: formula, bits, column.astype(np.int64))

    def _choices(self, values: Ints) -> Iterator[Hit]:
        """Yield choices between two formulas or numbers by a condition."""
        bank = self.bank
        truth = np.flatnonzero(bank.units == Unit.TRUTH)
        truth = truth[np.argsort(bank.bits[truth], kind="stable")][:MAX_CONDITIONS]
        if not len(truth):
            return
        order = np.argsort(bank.bits, kind="stable")
        order = order[bank.units[order] != Unit.TRUTH][:MAX_CHOSEN]
        numbers = [int(v) for v in np.unique(values)][:40]
        table = np.concatenate(
            [bank.table[order], np.repeat(np.array(numbers)[:, None], self._total, axis=1)]
        )
        bits = np.concatenate([bank.bits[order], [literal_bits(n) for n in numbers]])
        wrong = (table[:, : self._count] != values).astype(np.float32)
        inside = self._samples[truth].astype(np.float32)
        errors_inside, errors = wrong @ inside.T, wrong.sum(axis=1, keepdims=True)
        for k, condition in enumerate(truth):
            within = np.flatnonzero(errors_inside[:, k] < 0.5)
            without = np.flatnonzero(errors[:, 0] - errors_inside[:, k] < 0.5)
            if not len(within) or not len(without):
                continue
            for a in within[np.argsort(bits[within], kind="stable")][:3]:
                for b in without[np.argsort(bits[without], kind="stable")][:3]:
                    if a == b:
                        continue
                    holds = bank.table[condition] != 0
                    yield Hit(
                        self._chosen(int(condition), (order, numbers), int(a), int(b)),
                        int(bits[a] + bits[b] + bank.bits[condition]) + SELECT,
                        np.where(holds, table[a], table[b]),
                    )

    def _chosen(self, condition: int, known: tuple[Ints, list[int]], a: int, b: int) -> MakeFormula:
        order, numbers = known

        def part(at: int) -> Expr:
            return self.bank.formula(int(order[at])) if at < len(order) else Const(numbers[at - len(order)])

        def formula() -> Expr:
            holds = self.bank.formula(condition)
            if isinstance(holds, Choose):
                return choose(holds.cond, part(a), part(b))
            return choose(Compare("!=", holds, Const(0)), part(a), part(b))

        return formula


def _parity(of: MakeFormula) -> Expr:
    return of() % 2


def _rounded_down(n: Expr, parts: Expr, _: Expr) -> Expr:
    return n // parts


def _rounded_up(n: Expr, parts: Expr, _: Expr) -> Expr:
    return -(-n // parts)


def _lines(table: Ints, values: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield rows of which a multiple plus a constant are the values, with both, in the order of the rows."""
    high, low = int(np.argmax(values)), int(np.argmin(values))
    rise = values[high] - values[low]
    if not rise or not len(table):
        return
    own = table[:, high] - table[:, low]
    usable = np.flatnonzero((own != 0) & (rise % np.where(own == 0, 1, own) == 0))
    factors = rise // own[usable]
    constants = values[high] - factors * table[usable, high]
    holds = (factors[:, None] * table[usable] + constants[:, None] == values).all(axis=1)
    for k in np.flatnonzero(holds)[:MAX_HITS]:
        yield int(usable[k]), int(factors[k]), int(constants[k])
