"""The points of a fit: all ranks of all traces with their grid coordinates, and classes of points.

The dissertation's critical nodes (§3.2.1) are the corners of a grid. Here every rank is a point, and ranks at
the same borders form a class. A class is a condition on coordinates, so it is defined on any grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, product
from math import lcm
from typing import Any

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.extrap.errors import InputError
from scalatrace.extrap.solve.directions import Sieve, sample_points
from scalatrace.extrap.solve.features import GRID_ONLY, Feature, Names, Structure, fits, parts_between
from scalatrace.extrap.solve.points import Basis, PointSolver, Solution
from scalatrace.formula import TRUE, Cond, Expr, evaluate, format_text, parse_condition, parse_number
from scalatrace.trace.symbolic.field import Field
from scalatrace.trace.symbolic.grid import Grid

MAX_INDEXED_SAMPLE = 600
"""Executions that a formula over their numbers is sought with; all of them check it."""


MAX_SAMPLED = 16
"""Sets of executions whose features are kept: the quantities of one loop share them."""


@dataclass(frozen=True)
class Run:
    """The grid and the parameters of one trace.

    Attributes:
        butterflies: whether partners are at powers of two in each dimension.
        factors: whether ranks are divided by the prime factors of their number.
        structure: of the ranks besides the grid.
        found: whether the parameter was found in the values: it is the size of some dimension at least.
    """

    grid: Grid
    inputs: Mapping[str, int]
    butterflies: bool = False
    factors: bool = False
    structure: Structure = GRID_ONLY
    found: bool = False


class Space:
    """The ranks of all runs: rank r of run k is point `starts[k] + r`.

    Attributes:
        varied: the parameters that are not the same in all traces.
        known: the rules of quantities that were fitted already, by all that decides them.
        memo: what the search for rules keeps for these ranks.
        shared_parts: parts of the formulas of other quantities, of which a formula may consist.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        partners: bool = True,
        stages: bool = False,
        accept_unconfirmed: bool = False,
        given: tuple[Feature, ...] = (),
    ) -> None:
        """Collect the ranks.

        Args:
            partners, stages: see Names.
            accept_unconfirmed: whether formulas count that the sizes do not confirm.
            given: if any, the only formulas that count, without other coefficients.
        """
        self.accept_unconfirmed = accept_unconfirmed
        self.runs = tuple(runs)
        grid = runs[0].grid
        self.inputs = tuple(sorted(runs[0].inputs))
        self.varied = frozenset(n for n in self.inputs if len({run.inputs[n] for run in runs}) > 1)
        square = len(grid.dims) == 2 and all(len(set(run.grid.dims)) == 1 for run in runs)
        powers = all(run.butterflies for run in runs)
        butterflies, stages = powers and partners, stages or (powers and not partners)
        self.names = Names(
            grid.sizes, grid.coords, self.inputs, square=square, butterflies=butterflies, partners=partners,
            stages=stages, factors=all(run.factors for run in runs),
            structure=runs[0].structure, multiples=() if self.inputs else _multiples(runs),
        )  # fmt: skip
        self.starts = np.cumsum([0, *(run.grid.nprocs for run in runs)])
        self.columns = columns_of(runs)
        self._given = given
        self._basis = Basis(self.names, self.columns, self.all_runs(), accept_unconfirmed, given)
        self._points: dict[bytes, PointSolver] = {}
        self.memo: dict[str, Any] = {}
        self.shared_parts: list[Expr] = []
        self.known: dict[Any, Field | None] = {}
        self._classes: dict[int, list[tuple[Cond, Ints]]] = {}
        self._sieves: dict[Any, Sieve] = {}
        self._sampled: dict[Any, PointSolver] = {}
        self._numbered: dict[Any, Solution | None] = {}

    def variant(
        self, runs: Sequence[Run] | None = None, given: tuple[Feature, ...] = (), **kinds: bool
    ) -> Space:
        """The space of these runs, or of the same ones, with some of the arguments changed."""
        names = self.names
        own = {name: getattr(names, name) for name in ("partners", "stages")}
        own["accept_unconfirmed"] = self.accept_unconfirmed
        result = Space(self.runs if runs is None else runs, **own | kinds, given=given)
        result.shared_parts = self.shared_parts
        return result

    @property
    def divisors(self) -> tuple[tuple[str, str], ...]:
        """What parameters are divided by: sizes, each with the coordinate along it."""
        pairs = tuple(zip(self.names.sizes, self.names.coords, strict=True))
        return (*pairs, ("P", "r")) if len(pairs) > 1 else pairs

    def steps(self) -> list[Expr]:
        """The distances, both ways, between the ranks of neighbours along each dimension but the fastest.

        Ways down are given modulo the number of ranks, too.
        """
        sizes = self.names.sizes[:: 1 if self.runs[0].grid.column_major else -1]
        strides = ["*".join(sizes[:n]) for n in range(1, len(sizes))]
        return [parse_number(sign + stride) for stride in strides for sign in ("", "-", "P-")]

    def one_sided(self, chosen: Ints) -> list[str]:
        """The dimensions of which some points have one side only, and the runs have several."""
        columns = ((size, self.columns[size]) for size in self.names.sizes)
        return [
            size
            for size, sides in columns
            if (sides[chosen] == sides[chosen[0]]).all() and (sides != sides[0]).any()
        ]

    def points(self, chosen: Ints) -> PointSolver:
        """Some of the points, to solve values over."""
        key = chosen.tobytes()
        if key not in self._points:
            self._points[key] = PointSolver(self._basis, chosen)
        return self._points[key]

    def solve_indexed(self, chosen: Ints, index: Ints, values: Ints) -> Solution | None:
        """The simplest formula over points and numbers of executions, from some of them and true for all."""
        names = replace(self.names, index="i")
        return self._over(names, chosen, {"i": index}, values)

    def solve_counted(self, chosen: Ints, counters: Mapping[str, Ints], values: Ints) -> Solution | None:
        """The simplest formula over points and iterations of loops, from some of them and true for all."""
        names = replace(self.names, counters=tuple(counters))
        return self._over(names, chosen, counters, values)

    def _over(self, names: Names, chosen: Ints, numbers: Mapping[str, Ints], values: Ints) -> Solution | None:
        where = names, _digest([chosen, *numbers.values()])  # the same for many a quantity of one loop
        key = *where, _digest([values])
        if key not in self._numbered:
            columns = {n: c[chosen] for n, c in self.columns.items()} | dict(numbers)
            self._numbered[key] = self._search(names, where, columns, self.all_runs()[chosen], values)
        return self._numbered[key]

    def _search(
        self, names: Names, where: Any, columns: Mapping[str, Ints], runs: Ints, values: Ints
    ) -> Solution | None:
        sample = np.unique(np.linspace(0, len(values) - 1, MAX_INDEXED_SAMPLE).astype(np.int64))
        tested = sample_points(len(sample))
        if where not in self._sieves:
            basis = self._at(names, columns, runs, sample)
            self._sieves[where] = Sieve(basis.table[:, tested])
            self._keep(where, PointSolver(basis))
        if not self._sieves[where].possible(values[sample[tested]]):
            return None
        if where not in self._sampled:
            self._keep(where, PointSolver(self._at(names, columns, runs, sample)))
        result = self._sampled[where].solve(np.ascontiguousarray(values[sample]))
        if result is None or not np.array_equal(
            np.broadcast_to(evaluate(result.formula, columns), values.shape), values
        ):
            return None
        return result

    def _at(self, names: Names, columns: Mapping[str, Ints], runs: Ints, some: Ints) -> Basis:
        chosen = {name: column[some] for name, column in columns.items()}
        return Basis(names, chosen, runs[some], self.accept_unconfirmed, self._given)

    def _keep(self, where: Any, points: PointSolver) -> None:
        """Keep points for the next quantity of the same loop, instead of the oldest ones."""
        if len(self._sampled) == MAX_SAMPLED:
            self._sampled.pop(next(iter(self._sampled)))
        self._sampled[where] = points

    def partitions(self) -> Iterator[list[tuple[Cond, Ints]]]:
        """Ways to divide all points into classes (a condition and its points), the coarsest first."""
        for number, conditions in enumerate(_partitions(self.names, _simplest(self.names.structure.borders))):
            if number not in self._classes:
                masks = [self._mask(cond) for cond in conditions]
                self._divides(conditions, masks)
                self._classes[number] = [
                    (cond, np.flatnonzero(mask)) for cond, mask in zip(conditions, masks, strict=True)
                ]
            yield [(cond, points) for cond, points in self._classes[number] if len(points)]

    def conditions(self) -> Iterator[tuple[float, list[Cond]]]:
        """The conditions of each way to divide the ranks, without the one that does not divide them.

        With their weight: on a side of three, the rank in the middle is most likely any inner rank, and on a
        plane of four rows, the last quarter of all ranks is the last row.
        """
        borders = self.names.structure.borders
        texts = [*_opposite(self.names), *(_in_parts(borders) if len(self.names.sizes) > 1 else ())]
        unlikely = [list(map(parse_condition, texts_of_partition)) for texts_of_partition in texts]
        for partition in _partitions(self.names, borders):
            if len(partition) > 1:
                yield 1.0 + 0.5 * len(partition) + UNLIKELY * (partition in unlikely), partition

    def _mask(self, condition: Cond) -> Mask:
        result = np.asarray(evaluate(condition, self.columns), dtype=bool)
        return np.broadcast_to(result, self.starts[-1:])

    def _divides(self, conditions: Sequence[Cond], masks: Sequence[Mask]) -> None:
        """Raise InputError unless just one of the conditions holds for each rank."""
        times = np.sum(masks, axis=0)
        if (times == 1).all():
            return
        point = int(np.argmax(times != 1))
        k = int(np.searchsorted(self.starts, point, side="right")) - 1
        grid, rank = self.runs[k].grid, point - self.starts[k]
        raise InputError(
            f"the partition {', '.join(map(format_text, conditions))} is none: {times[point]} of its "
            f"conditions hold for rank {rank} of {grid.nprocs} ({grid}), not one"
        )

    def all_runs(self) -> Ints:
        """Which run each point belongs to."""
        return np.repeat(np.arange(len(self.runs)), np.diff(self.starts))


MAX_MULTIPLE = 1 << 14
"""Larger common multiples of sizes are not the size of a problem that all of them divide."""


def _multiples(runs: Sequence[Run]) -> tuple[int, ...]:
    """The least common multiple of all sizes of each dimension; empty if one is too large."""
    found = tuple(lcm(*sides) for sides in zip(*(run.grid.dims for run in runs), strict=True))
    return found if max(found) <= MAX_MULTIPLE else ()


def columns_of(runs: Sequence[Run]) -> dict[str, Ints]:
    """For each name its numbers on all ranks of all runs."""
    grid = runs[0].grid
    names = (*grid.sizes, *grid.coords, *sorted(runs[0].inputs), "P", "r")
    return {name: np.concatenate([_column(run, name) for run in runs]) for name in names}


def _column(run: Run, name: str) -> Ints:
    value = run.inputs[name] if name in run.inputs else run.grid.columns[name]
    return np.broadcast_to(np.asarray(value, dtype=np.int64), (run.grid.nprocs,))


def _digest(rows: Sequence[Ints]) -> bytes:
    """What tells numbers from others; they themselves would be kept for long."""
    found = blake2b(digest_size=16)
    for row in rows:
        found.update(row.tobytes())
    return found.digest()


UNLIKELY = 1.5
"""What conditions weigh besides that have the same ranks as likelier ones on many grids."""

MAX_PLACES_IN_GROUP = 8
"""Ranks of a group whose places are classes of their own."""

EXTRA_PARTITIONS: list[list[str]] = []
"""What plug-ins add."""


def _simplest(borders: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The first formula of each border."""
    return [border[:1] for border in borders]


def _partitions(names: Names, borders: Sequence[Sequence[str]]) -> Iterator[list[Cond]]:
    """The conditions of each way to divide the ranks, the coarsest first; `borders`: of parts of them."""
    yield [TRUE]
    for texts in EXTRA_PARTITIONS:
        conditions = list(map(parse_condition, texts))
        if all(fits(condition, names) for condition in conditions):
            yield conditions
    yield from (list(map(parse_condition, texts)) for texts in _notations(names, borders))


def _notations(names: Names, borders: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    pairs = list(zip(names.coords, names.sizes, strict=True))
    yield ["r==0", "r>0"]
    yield ["r==P-1", "r<P-1"]
    yield from _in_parts(borders)
    yield from _by_structure(names.structure)
    for c, s in pairs:
        yield _borders(c, s)
    yield _product([_borders(c, s) for c, s in pairs])
    for c, _ in pairs:
        yield [f"{c}%2==0", f"{c}%2==1"]
    yield ["r%2==0", "r%2==1"]
    yield from _opposite(names)
    colours = [f"({'+'.join(names.coords)})%2=={k}" for k in (0, 1)]  # of a chessboard
    if len(pairs) > 1:
        yield colours
    if len(pairs) == 2:
        (a, b) = (pair[0] for pair in pairs)
        yield [f"{a}=={b}", f"{a}<{b}", f"{a}>{b}"]
        yield [f"{a}=={b}", f"{a}!={b}"]
    for n in names.inputs:
        rests = [[f"{c}<{n}%{s}", f"{c}>={n}%{s}"] for c, s in pairs]
        yield _product(rests)
        yield [f"r<{n}%P", f"r>={n}%P"]
    yield _product([_deep_borders(c, s) for c, s in pairs])
    if len(pairs) > 1:
        yield _product([*(_borders(c, s) for c, s in pairs), colours])
    for c, s in pairs:
        yield [f"2*{c}<{s}", f"2*{c}>={s}"]
    paired = "r<2*(P//2)"  # where an odd rank is left, it is the last one
    yield [paired, "r>=2*(P//2)"]
    yield ["r<P//2", f"(r>=P//2)*({paired})", "r>=2*(P//2)"]
    yield [f"({paired})*(r%2==0)", "r%2==1", "r>=2*(P//2)"]
    folded = "r<P-(1<<log2(P))"  # ranks with a partner beyond the largest power of two
    yield [folded, "(r>=P-(1<<log2(P)))*(r<(1<<log2(P)))", "r>=(1<<log2(P))"]
    merged = "r<2*(P-(1<<log2(P)))"  # ranks that a butterfly on any number of ranks puts together in pairs
    yield [f"({merged})*(r%2==0)", f"({merged})*(r%2==1)", "r>=2*(P-(1<<log2(P)))"]


def _in_parts(borders: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Parts of all ranks, and the first and last ranks of each; `borders`: the formulas of each border."""
    for border in chain.from_iterable(borders):
        yield [f"r<{border}", f"r>={border}"]
        yield ["r==0", f"(r>0)*(r<{border})", f"r=={border}", f"r>{border}"]
    for chosen in product(*borders) if len(borders) > 1 else ():
        yield [f"(r>={first})*(r<{end})" for first, end in parts_between(chosen)]
    for chosen in product(*borders) if borders else ():
        yield [text for first, end in parts_between(chosen) for text in _ends_of_part(first, end)]


def _ends_of_part(first: str, end: str) -> list[str]:
    """The first rank of a part, its inner ranks, and the last one if it is another one."""
    inner = f"(r>{first})*(r<({end})-1)"
    return [f"r=={first}", inner, f"(r>{first})*(r==({end})-1)"]


def _by_structure(structure: Structure) -> Iterator[list[str]]:
    """Leaders of groups, and leaves of trees."""
    if structure.group:
        yield from _in_groups(structure.group)
    if structure.arity:
        yield from _in_trees(structure.arity)


def _in_groups(k: int) -> Iterator[list[str]]:
    """Leaders and the others of groups of `k` ranks: which leader is the last one, and where a group ends."""
    leader, follower = f"(r%{k}==0)", f"(r%{k}>0)"
    yield [leader, follower]
    yield ["r==0", f"(r>0)*{leader}", follower]
    yield [f"{leader}*(r<P-1)", f"{leader}*(r==P-1)", follower]  # a leader alone
    yield ["r==0", f"(r>0)*{leader}*(r<P-1)", f"(r>0)*{leader}*(r==P-1)", follower]
    yield ["r==0", f"(r>0)*{leader}*(r+{k}<P)", f"(r>0)*{leader}*(r+{k}>=P)", follower]
    yield [leader, f"{follower}*(r%{k}<{k}-1)*(r<P-1)", f"{follower}*(1-(r%{k}<{k}-1)*(r<P-1))"]
    if k <= MAX_PLACES_IN_GROUP:
        yield [f"r%{k}=={place}" for place in range(k)]


def _in_trees(k: int) -> Iterator[list[str]]:
    """Ranks with children in a tree of `k` children each, with all of them, and without."""
    inner, full = f"({k}*r+1<P)", f"({k}*r+{k}<P)"
    yield [inner, f"{k}*r+1>=P"]
    yield ["r==0", f"(r>0)*{inner}", f"(r>0)*({k}*r+1>=P)"]
    yield [full, f"{inner}*({k}*r+{k}>=P)", f"{k}*r+1>=P"]


def _opposite(names: Names) -> Iterator[list[str]]:
    """Ranks on both sides of the middle, whose partners are opposite, and the rank in the middle."""
    lines = list(zip(names.coords, names.sizes, strict=True))
    for c, s in [*lines, ("r", "P")] if len(lines) > 1 else lines:
        yield [f"2*{c}=={s}-1", f"2*{c}!={s}-1"]
        yield [f"2*{c}<{s}-1", f"2*{c}=={s}-1", f"2*{c}>{s}-1"]


def _borders(coord: str, size: str) -> list[str]:
    return [f"{coord}==0", f"(0<{coord})*({coord}<{size}-1)", f"(0<{coord})*({coord}=={size}-1)"]


def _deep_borders(coord: str, size: str) -> list[str]:
    return [
        f"{coord}==0",
        f"{coord}==1",
        f"(1<{coord})*({coord}<{size}-2)",
        f"(1<{coord})*({coord}=={size}-2)",
        f"(1<{coord})*({coord}=={size}-1)",
    ]


def _product(parts: Sequence[Sequence[str]]) -> list[str]:
    return ["*".join(f"({text})" for text in chosen) for chosen in product(*parts)]
