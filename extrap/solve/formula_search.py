"""Find the formula of least weight, with one, two or three features and a constant, for given values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.extrap.solve.directions import (
    MAX_CANDIDATES,
    TRIPLE_FEATURES,
    Directions,
    Projection,
    centre_rows,
    out_of_reach,
    scale_rows,
    triples_of,
)
from scalatrace.extrap.solve.exact import (
    PLACES,
    SAMPLED,
    Fit,
    Solution,
    determined,
    enough_points,
    exact,
    fit_coefficients,
)
from scalatrace.extrap.solve.features import Feature
from scalatrace.formula import Binary, Cond, Const, Expr, Value, Var, children, names_in
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import RANKWISE
from scalatrace.trace.symbolic.grid import NAMES

__all__ = ["System"]


RIVAL_MARGIN = 0.5
"""How much more a formula may weigh than the lightest one and still be as credible."""

REQUIRED_BITS = {1: 1.0, 2: 8.0, 3: 10.0}
"""Evidence (bits) that a formula of k features needs: length of the values less that of the formula."""

REQUIRED_OF_PARTS = 8.0
"""As `REQUIRED_BITS`, besides, of a quarter of ranks that is no partner: P//4 has the values of
(Y//2)*ceil_log2(Y) on squares of 3 to 6 rows."""

REQUIRED_OF_LINES = 6.0
"""As `REQUIRED_BITS`, of a multiple of a feature plus a constant: three points are on a line by chance."""

REQUIRED_OF_CONSTANTS = 4.0
"""As `REQUIRED_BITS`, of a constant besides several features: five points have such formulas by chance."""

STRONG_BITS = 12.0
"""From so many bits on, only formulas of nearly the same weight are rivals."""

SIMPLE_WEIGHT = 3.0
"""Lighter formulas need not be compared with much heavier ones: they are what programs compute with."""

RIVAL_BITS, WEAK_MARGIN = 3.0, 2.0
"""Of weaker evidence: how many bits less a rival has at most, and how much more it may weigh."""

MAX_RIVALS = 6
"""Rivals of one formula that are kept, the lightest ones."""

MAX_MULTIPLES = 3
"""Of the multiples of single features that have the values of a formula with more unknowns."""

GRID_SIZES = frozenset(["P", *NAMES])

MAX_FEW_SIZES = 3
"""Traces that do not show two numbers of a sum of features of sizes."""

TESTED = 8
"""Points that are compared before all are."""


class System:
    """Features that tell points apart, and the points' names.

    Attributes:
        runs: the trace that each point is of.
    """

    def __init__(
        self,
        chosen: Sequence[Feature],
        table: Ints,
        columns: Mapping[str, Ints],
        runs: Ints,
        equal: Mapping[int, Sequence[Feature]],
        accept_unconfirmed: bool = False,
        partners: bool = True,
    ) -> None:
        """Prepare the search.

        Args:
            equal: for a feature, by number, others with the same values at all points.
            accept_unconfirmed: whether as many points as unknowns are enough.
            partners: whether values are partners or trip counts.
        """
        self._accept, self._partners = accept_unconfirmed, partners
        self.features, self.table, self.columns, self.runs, self._equal = chosen, table, columns, runs, equal
        self._weights: dict[frozenset[str], np.ndarray[Any, np.dtype[np.float64]]] = {}
        self._arguments: dict[tuple[int, ...], int] = {}
        self._distinct: dict[tuple[int, ...], tuple[int, int]] = {}
        self._determined: dict[tuple[tuple[int, ...], bool], tuple[bool, bool]] = {}
        self.sample = slice(None, None, max(1, table.shape[1] // SAMPLED) if table.size else 1)
        self._directions = Directions(centre_rows(table[:, self.sample]))

    def solve(self, values: Ints) -> Solution | None:
        """Find the lightest confirmed formula of the fewest features, else the lightest of all."""
        wanted = centre_rows(values[None, self.sample])[0]
        if not wanted.any() or not len(self.features):
            return _lightest(self._fitting([(i,) for i in range(len(self.features))], values, set()))
        directions = self._directions
        projection = directions.projected(wanted)
        best: Solution | None = None
        holding: set[frozenset[int]] = set()
        for search in (_singles, Directions.pairs, Directions.triples):
            subsets = search(directions, projection)
            solution = _lightest(self._fitting(subsets, values, holding))
            if solution is not None and len(subsets) >= MAX_CANDIDATES:
                solution = replace(solution, confirmed=False)  # among so many, some pass through all points
            if best is None or (solution is not None and solution.confirmed):
                best = solution
            if best is not None and best.confirmed:
                break
        return None if best is None else self._with_multiples(best, values)

    def _with_multiples(self, best: Solution, values: Ints) -> Solution:
        """The formula with the multiples of one feature that have all values, if it has more unknowns itself.

        They are credible however much they weigh: 960*(n//X)-9216 has the values of (n//X)*(n//X)*(n//Y) on
        2x2, 3x2 and 4x3 ranks.
        """
        if sum(c != 0 for c in best.coefficients[:-1]) < 2:
            return best
        multiples = [
            exact([self.features[i]], fit_coefficients(self.table[[i]], values), PLACES, PLACES)
            for i in _proportional(self.table, values)[:MAX_MULTIPLES]
        ]
        rivals = [
            multiple.formula for multiple in multiples if multiple is not None and not multiple.has_constant
        ]
        return replace(best, rivals=tuple(dict.fromkeys((*best.rivals, *rivals))))

    def _fitting(
        self, subsets: Iterable[tuple[int, ...]], values: Ints, holding: set[frozenset[int]]
    ) -> list[_Candidate]:
        """Return the formulas of these candidates that hold for all points, the lightest ones.

        Args:
            holding: features that make the values; others beside them would have the coefficient 0. New
                ones are added.
        """
        result: list[_Candidate] = []
        limit = math.inf
        ordered = sorted(subsets, key=self._weight)
        for subset, needs_constant in zip(ordered, self._need_constant(ordered, values), strict=True):
            if self._weight(subset) >= limit:
                break
            if holding and _has_part_in(subset, holding):
                continue
            evidence = self._evidence(subset)
            enough = enough_points(len(subset), *evidence)
            if len(subset) > 1 and not enough_points(len(subset) + needs_constant, *evidence):
                continue  # whatever its coefficients
            fit = fit_coefficients(self.table[list(subset)], values)
            if fit is not None:
                holding.add(frozenset(i for i, c in zip(subset, fit[0][1:], strict=True) if c))
            if not enough:
                continue
            solution = exact([self.features[i] for i in subset], fit, *evidence)
            if solution is None or solution.weight >= limit:
                continue
            by_some, by_all = self._determined_by(subset, solution.has_constant)
            if not by_some and not self._accept:
                continue
            surplus = self._surplus_bits(subset, solution, values)
            required = _required_bits(solution, len(subset))
            if not self._partners and _divides_by_a_number(solution.formula):
                required += REQUIRED_OF_PARTS
            credible = surplus >= required or _is_counter(solution.formula)
            if self._on_two_sizes and _has_factor(solution, len(subset)):
                credible = False
            if (
                self._on_few_sizes
                and self._has_free_numbers(solution, len(subset))
                and self._is_of_sizes(values)
            ):
                credible = False
            candidate = _Candidate(replace(solution, confirmed=by_all and credible), by_all, surplus)
            result.append(candidate)
            if by_all:
                result += self._with_equal_features(candidate, subset, fit, evidence)
            if candidate.solution.confirmed:
                margin = RIVAL_MARGIN if surplus >= STRONG_BITS else WEAK_MARGIN
                limit = min(limit, solution.weight + margin)
        return result

    def _need_constant(self, subsets: Sequence[tuple[int, ...]], values: Ints) -> list[bool]:
        """For each subset: true only if its features cannot give the values without a constant."""
        if not subsets or len(subsets[0]) < 2:
            return [False] * len(subsets)
        return out_of_reach(self._unit, np.array(subsets), values[self.sample])

    @cached_property
    def _unit(self) -> Floats:
        """The features at the sampled points, of length 1."""
        return scale_rows(self.table[:, self.sample].astype(np.float64))

    @cached_property
    def _on_two_sizes(self) -> bool:
        """Whether the points are of two traces, as where a class of ranks is on two of the grids only."""
        return len(np.unique(self.runs)) == 2

    @cached_property
    def _on_few_sizes(self) -> bool:
        """Return whether the points are of at most three traces."""
        return len(np.unique(self.runs)) <= MAX_FEW_SIZES

    def _has_free_numbers(self, found: Solution, count: int) -> bool:
        """Whether a formula has more numbers than three sizes show."""
        return _free_numbers(found, count) > 1 or (count == 1 and _is_beside_shares(found, self._idle))

    @cached_property
    def _idle(self) -> frozenset[str]:
        """The parameters that have one value in all traces."""
        inputs = self._size_names - GRID_SIZES
        return frozenset(name for name in inputs if (self.columns[name] == self.columns[name][0]).all())

    def _is_of_sizes(self, values: Ints) -> bool:
        """Return whether there is one value in each trace."""
        _, first, run_of = np.unique(self.runs, return_index=True, return_inverse=True)
        return bool((values[first][run_of] == values).all())

    def _surplus_bits(self, subset: tuple[int, ...], solution: Solution, values: Ints) -> float:
        """By how many bits the values are longer than the formula (minimum description length).

        Among many candidates some pass through a few points by chance. The choice of one of N sets of
        features takes log2(N) bits, and each coefficient its digits. L different values take their digits,
        and each further point the choice of one of them.
        """
        different = np.unique(values)
        repeated = max(self._different_arguments(subset) - len(different), 0)
        value_bits = repeated * math.log2(len(different))
        value_bits += float(np.log2(np.abs(different.astype(np.float64)) + 1).sum())
        digits = sum(math.log2(abs(c)) + (c < 0) for c in solution.coefficients if c)
        return value_bits - digits - math.log2(self._candidates(subset))

    def _candidates(self, subset: tuple[int, ...]) -> int:
        """Return the number of sets of as many features, of names of the same kinds, weigh as little."""
        limit = self._weight(subset) + 1e-9
        weights = self._weights_of(frozenset().union(*(self._kinds[i] for i in subset)))
        weights = weights if len(subset) < 3 else weights[:TRIPLE_FEATURES]
        if len(subset) == 1:
            return int(np.searchsorted(weights, limit, side="right"))
        if len(subset) == 2:
            return int(np.searchsorted(weights, limit - weights, side="right").sum()) // 2 + 1
        sums = weights[triples_of(len(weights))].sum(axis=1)
        return max(int((sums <= limit).sum()), 1)

    @cached_property
    def _kinds(self) -> list[frozenset[str]]:
        """For each feature the kinds of its names: sizes, coordinates, counters."""
        return [frozenset(map(_kind, names)) for names in self._names]

    def _weights_of(self, kinds: frozenset[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the weights of the features that use only names of these kinds, in order."""
        if kinds not in self._weights:
            given = zip(self.features, self._kinds, strict=True)
            self._weights[kinds] = np.sort(np.array([f.weight for f, own in given if own <= kinds]))
        return self._weights[kinds]

    def _weight(self, subset: tuple[int, ...]) -> float:
        return sum(self.features[i].weight for i in subset)

    def _with_equal_features(
        self, candidate: _Candidate, subset: tuple[int, ...], fit: Fit | None, evidence: tuple[int, int]
    ) -> Iterator[_Candidate]:
        """Yield the formulas in which a feature is another one that has the same values at all points."""
        chosen = [self.features[i] for i in subset]
        for at, i in enumerate(subset):
            for equal_feature in self._equal.get(i, ()):
                changed = [*chosen[:at], equal_feature, *chosen[at + 1 :]]
                solution = exact(changed, fit, *evidence)
                if solution is not None:
                    yield replace(candidate, solution=replace(solution, confirmed=False))

    def _evidence(self, subset: tuple[int, ...]) -> tuple[int, int]:
        """At how many points these features differ, and at how many iterations and sizes."""
        if subset not in self._distinct:
            places = PLACES if self._accept else self._places(subset)
            self._distinct[subset] = _different(self.table[list(subset)]), places
        return self._distinct[subset]

    def _determined_by(self, subset: tuple[int, ...], has_constant: bool) -> tuple[bool, bool]:
        """Return whether all sizes but some one, and but any one, determine these features' coefficients."""
        key = subset, has_constant
        if key not in self._determined:
            names = self._names_of(subset)
            sizes = _number_rows([self.columns[name] for name in sorted(names & self._size_names)])
            sizes = self.runs if sizes is None else sizes
            table = self.table[list(subset)][:, self.sample]
            self._determined[key] = determined(table, sizes[self.sample], has_constant)
        return self._determined[key]

    @cached_property
    def _size_names(self) -> frozenset[str]:
        """Names with one value in each trace: sizes of the grid, and parameters."""
        _, first, run_of = np.unique(self.runs, return_index=True, return_inverse=True)
        constant = (name for name, c in self.columns.items() if np.array_equal(c[first][run_of], c))
        return frozenset(name for name in constant if not is_counter(name) and name not in RANKWISE | {"i"})

    def _different_arguments(self, subset: tuple[int, ...]) -> int:
        """Different values of the names that these features use."""
        if subset not in self._arguments:
            names = self._names_of(subset)
            self._arguments[subset] = _different([self.columns[name] for name in sorted(names)])
        return self._arguments[subset]

    def _places(self, subset: tuple[int, ...]) -> int:
        """Different values of the names that these features use; 0 unless iterations are among them."""
        if not any(is_counter(name) for name in self._names_of(subset)):
            return 0
        return self._different_arguments(subset)

    def _names_of(self, subset: tuple[int, ...]) -> frozenset[str]:
        """Return the names that these features use."""
        return frozenset().union(*(self._names[i] for i in subset))

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        return [_names_in(feature.formula) for feature in self.features]


def _has_part_in(subset: tuple[int, ...], sets: set[frozenset[int]]) -> bool:
    """Return whether some of these features, or all of them, are one of the sets."""
    parts = (part for n in range(1, len(subset) + 1) for part in combinations(subset, n))
    return any(frozenset(part) in sets for part in parts)


@lru_cache(maxsize=1 << 16)
def _names_in(formula: Expr) -> frozenset[str]:
    return frozenset(names_in(formula))


def _kind(name: str) -> str:
    if is_counter(name):
        return "counter"
    return "coordinate" if name in RANKWISE else "size"


def _divides_by_a_number(formula: Expr) -> bool:
    """Whether a formula of sizes has a quotient of a size and a number, such as P//4, but for halves."""
    return not _depends_on_rank_or_iteration(formula) and any(map(_is_part_of_ranks, _all_parts(formula)))


def _is_part_of_ranks(part: Value | Cond) -> bool:
    if not isinstance(part, Binary) or part.op != "//" or not isinstance(part.right, Const):
        return False
    names = set(names_in(part.left))
    halved = isinstance(part.left, Var) and part.right.value == 2
    return bool(names) and names <= GRID_SIZES and not halved


def _all_parts(part: Value | Cond) -> Iterator[Value | Cond]:
    yield part
    for child in children(part):
        yield from _all_parts(child)


def _is_counter(formula: Expr) -> bool:
    """Return whether a formula is the number of an iteration: credible even in a loop of two."""
    return isinstance(formula, Var) and is_counter(formula.name)


def _depends_on_rank_or_iteration(formula: Expr) -> bool:
    return any(_kind(name) != "size" for name in _names_in(formula))


def _proportional(table: Ints, values: Ints) -> list[int]:
    """Return the rows of a table of which values are a multiple, by their numbers."""
    at = int(np.argmax(np.abs(values)))
    pivots = table[:, at]
    divided = np.divide(values[at], pivots, out=np.zeros(len(pivots)), where=pivots != 0)
    rows = np.flatnonzero((divided != 0) & (divided == np.round(divided)))
    for some in (slice(None, None, max(1, len(values) // TESTED)), slice(None)):
        rows = rows[(table[rows][:, some] * divided[rows, None] == values[some]).all(axis=1)]
    return [int(row) for row in rows]


def _singles(directions: Directions, projection: Projection) -> list[tuple[int, ...]]:
    return [(i,) for i in directions.singles(projection)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A formula that holds for all points.

    Attributes:
        determined: whether any size can be left out and the others still determine its coefficients.
        surplus_bits: see `System._surplus_bits`.
    """

    solution: Solution
    determined: bool
    surplus_bits: float

    def is_rival_of(self, best: _Candidate) -> bool:
        """Return whether it is about as simple, or has about as much of little evidence."""
        if best.determined and not self.determined:
            return False
        if self.solution.weight < best.solution.weight + RIVAL_MARGIN:
            return True
        if best.surplus_bits >= STRONG_BITS:
            return False
        solution = self.solution
        is_of_sizes = not _depends_on_rank_or_iteration(solution.formula)
        has_equal_form = solution.is_plain or solution.coefficients == best.solution.coefficients
        if is_of_sizes and has_equal_form and solution.weight < best.solution.weight + WEAK_MARGIN:
            return True  # traces have few sizes, but many ranks and iterations
        if best.solution.weight < SIMPLE_WEIGHT:
            return False
        return self.surplus_bits > best.surplus_bits - RIVAL_BITS


def _lightest(found: Sequence[_Candidate]) -> Solution | None:
    """Return the lightest formula, a confirmed one if there is any, with its rivals."""
    ordered = sorted(found, key=lambda one: one.solution.weight)
    if not ordered:
        return None
    best = next((one for one in ordered if one.solution.confirmed), ordered[0])
    near = [one.solution.formula for one in ordered if one.is_rival_of(best)]
    rivals = [formula for formula in dict.fromkeys(near) if formula != best.solution.formula]
    return replace(best.solution, rivals=tuple(rivals[:MAX_RIVALS]))


def _has_factor(found: Solution, count: int) -> bool:
    """Return whether one of several features has a factor, which two sizes determine and nothing confirms.

    Other features have the values of many ranks, which tell nothing about it: y+6*(X-2) has those of
    r+(P+1)//2 in the second row of 5x5 and 6x6 ranks.
    """
    return count > 1 and any(abs(c) > 1 for c in found.coefficients[1:-1])


def _free_numbers(solution: Solution, count: int) -> int:
    """How many numbers of a formula of sizes values determine: signs are free, equal factors are one.

    A sum of several features has those of its coefficients; a number that is divided among ranks, plus a
    constant, has these two. Three sizes do not show two of them: the ratios of blocks of any problem are near
    to those of small numbers.
    """
    constant, *factors, denominator = solution.coefficients
    if count > 1:
        return len({abs(c) for c in factors} - {1}) + (constant != 0) + (denominator > 0)
    return (constant != 0) + any(map(_divides_a_number, _all_parts(solution.formula)))


def _is_beside_shares(found: Solution, idle: frozenset[str]) -> bool:
    """Whether a number is added to a multiple of shares of idle parameters, and is no multiple of the factor.

    8*(k//X)+20 has the values of 100//X+X on 2, 3 and 12 ranks for k = 8; 8*(k//X)+16 is 8*(k//X+2).
    """
    constant, factor, _ = found.coefficients
    shares = [part for part in _all_parts(found.formula) if _divides(part, idle)]
    return bool(constant) and bool(shares) and (len(shares) > 1 or constant % abs(factor) != 0)


def _divides(part: Value | Cond, names: frozenset[str]) -> bool:
    return isinstance(part, Binary) and part.op == "//" and bool(names_in(part.left) & names)


def _divides_a_number(part: Value | Cond) -> bool:
    return isinstance(part, Binary) and part.op == "//" and isinstance(part.left, Const)


def _required_bits(found: Solution, count: int) -> float:
    """Return the evidence (bits) that a formula of `count` features needs."""
    if found.is_shifted:
        return 0.0
    if count == 1:
        return REQUIRED_OF_LINES if found.has_constant else REQUIRED_BITS[count]
    return REQUIRED_BITS[count] + REQUIRED_OF_CONSTANTS * found.has_constant


def _number_rows(rows: Sequence[Ints]) -> Ints | None:
    """For each column of rows a number, the same where columns are equal; None without rows."""
    if not rows:
        return None
    numbers: Ints = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(-1)
    return numbers


def _different(rows: Iterable[Ints]) -> int:
    """Return the number of different columns rows have."""
    return len(set(zip(*(row.tolist() for row in rows), strict=True)))
