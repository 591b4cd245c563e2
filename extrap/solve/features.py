"""Terms of formulas: the dissertation's {1, x, xy, xyz} first, then richer ones (§3.2.3 and beyond).

A feature is an expression with a weight. Among the formulas that fit, the one with the least weight is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, combinations_with_replacement, islice, pairwise, permutations, product
from math import prod
from operator import mul

from scalatrace.formula import (
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Var,
    indicator,
    names_in,
    parse_number,
)
from scalatrace.trace.symbolic.grid import GRID_NAMES

__all__ = [
    "GRID_ONLY",
    "Feature",
    "Names",
    "Structure",
    "features",
    "fits",
    "parts_between",
    "torus",
]


@dataclass(frozen=True, slots=True)
class Feature:
    """An expression and its weight: what a formula that uses it costs."""

    formula: Expr
    weight: float


@dataclass(frozen=True, slots=True)
class Structure:
    """What a program makes of its ranks besides a grid.

    Attributes:
        group: ranks of a group, such as those of a node; 0: there are none.
        arity: children of a rank in a tree over all ranks; 0: there is none.
        borders: numbers of the first ranks that call what the others do not: each as a formula, followed by
            others that have its value in all traces.
    """

    group: int = 0
    arity: int = 0
    borders: tuple[tuple[str, ...], ...] = ()


GRID_ONLY = Structure()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a fit.

    Attributes:
        sizes: of the grid's dimensions, the slowest first.
        coords: of a rank in it, in the same order; empty where a value belongs to no rank.
        inputs: the user's parameters.
        index: `i` where a value depends on the execution, else "".
        counters: of the loops around a value, where it depends on them (trace/symbolic/counters.py).
        square: whether all grids are squares of ranks, so that each rank may have a diagonal of cells.
        butterflies: whether partners are at powers of two, so that loops run over the exponents of sizes.
        partners: whether values are partners or trip counts, which follow trees.
        stages: whether loops run over the stages of trees or butterflies, so that logarithms are likely.
        factors: whether ranks are divided by the prime factors of their number.
        structure: of the ranks besides the grid.
        multiples: without parameters, a multiple of all sizes of each dimension; else empty.
    """

    sizes: tuple[str, ...]
    coords: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    index: str = ""
    counters: tuple[str, ...] = ()
    square: bool = False
    butterflies: bool = False
    partners: bool = True
    stages: bool = False
    factors: bool = False
    structure: Structure = GRID_ONLY
    multiples: tuple[int, ...] = ()


Term = tuple[Expr, float]
"""A feature and its weight."""

Line = tuple[Expr, Expr]
"""The place of a rank among some ranks, and their number."""

P, R = Var("P"), Var("r")

FAR = ("3", "4")
"""Loops whose counters are features; those of loops further in are parts of features, too."""

MAX_PARTS = 4
"""Formulas of the parts of all ranks by which the place in a part is tried."""

EXTRA: list[Term] = []
"""What plug-ins add: expressions and their weights."""


def torus(names: Names) -> tuple[Feature, ...]:
    """Return the ranks of all neighbours on a torus, across faces, edges and corners; and the own rank.

    Whichever dimension is the fastest; on a line of ranks, neighbours are found by distance.
    """
    features = [Feature(R, 1.4)]
    coords, sizes = _variables(names.coords), _variables(names.sizes)
    for steps in product((0, 1, -1), repeat=len(sizes)) if len(sizes) > 1 else ():
        places = [
            (coord + step if step > 0 else coord - 1) % size if step else coord
            for coord, step, size in zip(coords, steps, sizes, strict=True)
        ]
        for order in (1, -1) if any(steps) else ():
            (first, _), *inner = list(zip(places, sizes, strict=True))[::order]
            rank = reduce(lambda outer, line: outer * line[1] + line[0], inner, first)
            features.append(Feature(rank, 2.4 + 0.2 * sum(map(abs, steps))))
    return tuple(features)


def fits(formula: Expr | Cond, names: Names) -> bool:
    """Return whether a plug-in's expression is for grids of so many dimensions."""
    return names_in(formula) & GRID_NAMES <= {*names.sizes, *names.coords}


def features(names: Names) -> tuple[Feature, ...]:
    """Return all candidates, the lightest first, no formula twice."""
    return _features(names, tuple(EXTRA))


@lru_cache(maxsize=256)
def _features(names: Names, extra: tuple[Term, ...]) -> tuple[Feature, ...]:
    weights: dict[Expr, float] = {}
    offered = [term for term in extra if fits(term[0], names)] if names.coords else []
    for formula, weight in sorted([*offered, *_all(names)], key=lambda term: term[1]):
        weights.setdefault(formula, weight)
    return tuple(Feature(formula, weight) for formula, weight in weights.items())


def _variables(names: Sequence[str]) -> list[Expr]:
    return [Var(name) for name in names]


def _call(function: str, *arguments: Expr | int) -> Expr:
    """Return a call of a function of formulas."""
    return Called(function, tuple(Const(a) if isinstance(a, int) else a for a in arguments))


def _holds(left: Expr | int, op: str, right: Expr | int) -> Expr:
    """Return 1 where a comparison holds, else 0."""
    return indicator(_compare(left, op, right))


def _compare(left: Expr | int, op: str, right: Expr | int) -> Cond:
    a, b = (Const(side) if isinstance(side, int) else side for side in (left, right))
    return Compare(op, a, b)


def _minimum(left: Expr | int, right: Expr | int) -> Expr:
    return _call("min", left, right)


def _product(factors: Sequence[Expr]) -> Expr:
    return reduce(mul, factors)


def _all(names: Names) -> Iterator[Term]:
    sizes, coords, inputs = (_variables(some) for some in (names.sizes, names.coords, names.inputs))
    yield from ((name, 1) for name in (*sizes, *inputs))
    yield from ((name, 1.5) for name in (*coords, *(_variables([names.index]) if names.index else ())))
    if len(sizes) > 1:
        yield (P, 1.2)
    if coords:
        yield (R, 1.4)
    yield from _products(sizes, 1)
    yield from ((a // b, 1.9) for a, b in permutations(sizes, 2))
    yield from _strides(sizes, coords)
    yield from _diagonal_steps(sizes)
    for size in (P, *sizes) if len(sizes) > 1 else sizes:
        logarithms = names.butterflies or names.stages
        yield from ((size // n, 3.2 if logarithms else 2.2) for n in (2, 4))
        yield (_call("log2", size), 1 if names.butterflies else 2)
        yield (_call("ceil_log2", size), 0.9 if names.stages else 2.2)
        yield (size % 2, 2.6)
    yield from _blocks(sizes, coords, inputs)
    if not names.partners:
        yield from _shares(sizes, names.multiples)
    if names.square and not names.index and not names.counters:
        yield from _multipartition(sizes[0], coords[0], coords[1], inputs)
    if coords and names.partners:
        for place, size in _lines(names):
            yield from _trees(place, size)
    if len(sizes) == 2 and coords:
        yield (_transposed(sizes[0], sizes[1], coords[0], coords[1]), 2.2)
    for a in inputs:
        yield from ((a * size, 2.5) for size in sizes)
    yield from _products(inputs, 1)
    for coord, size in zip(coords, sizes, strict=False):
        yield ((coord + 1) % size, 2.4)
        yield ((coord - 1) % size, 2.4)
        yield (coord % 2, 2.4)
    if coords and not (names.stages or names.butterflies):
        yield from _round_robin(names.partners)
    yield from _of_structure(names)
    if names.factors:
        yield from _of_factors(names)
    if names.index:
        yield from _of_index(names)
    yield from _of_counters(names)


def _round_robin(partners: bool) -> Iterator[Term]:
    """Yield the group of a rank if ranks are dealt out to a few groups, and how many of it follow.

    Of trees on any number of ranks, the ranks beyond the largest power of two have partners below it.
    """
    yield from ((R % n, 2.6) for n in (3, 4))
    if partners:
        yield from (((P - 1 - R) // n, 2.8) for n in (2, 3, 4))
        yield (1 << _call("log2", P), 2.6)


def _of_structure(names: Names) -> Iterator[Term]:
    """Yield parts of all ranks, groups of ranks, and trees over all ranks."""
    arity = names.structure.arity
    borders = [list(map(parse_number, texts)) for texts in names.structure.borders]
    index = Var(names.index) if names.index else None
    for border in (border for some in borders for border in some if "P" in names_in(border)):
        for part, weight in ((border, 1.8), (P - border, 1.9)):
            yield (part, weight)
            if index is not None:
                yield (index % part, 2.4)
    for _, size in _parts(names) if names.coords and names.partners else ():
        yield (_call("ceil_log2", size), 1.2 if names.stages else 2.4)
    for lower, upper in pairwise(borders):
        yield from ((high - low, 2.0) for high in upper for low in lower)
    if names.structure.group:
        yield from _of_groups(names)
    if arity and names.coords:
        yield ((R - 1) // arity, 1.8)
        children = _minimum(arity, P - 1 - arity * R)
        yield (children, 1.8)
        if index is not None:
            yield (index % children, 2.2)


def _of_groups(names: Names) -> Iterator[Term]:
    """Yield the number of groups of consecutive ranks, a rank's group, its place there, how many follow."""
    k = names.structure.group
    ngroups = (P + (k - 1)) // k
    yield (ngroups, 1.9)
    yield (P // k, 2.0)
    yield (P % k, 2.2)
    if names.coords:
        yield (R % k, 1.8)
        yield (R // k, 1.9)
        yield (R - R % k, 1.9)
    if names.coords and names.partners:
        yield (_minimum(k, P - R), 2.0)
        yield (_minimum(k, P - (R - R % k)), 2.2)
    for i in _variables([*filter(None, (names.index,)), *names.counters]):
        yield from ((i % period, 2.0) for period in (k, k - 1) if period > 1)
        yield (k * i, 2.0)
        yield (i % (ngroups - 1), 2.2)
        yield (k * (i % (ngroups - 1)), 2.2)


def _of_factors(names: Names) -> Iterator[Term]:
    """Yield ranks divided by the prime factors of their number, largest or smallest first (miniAMR)."""
    yield (_call("prime_factors", P), 2.0)
    for i in _variables([*filter(None, (names.index,)), *names.counters]):
        yield (_holds(i, "==", 0), 2.0)
        for parts, within in (
            (_call("cofactor", P, i), _call("cofactor", P, i + 1)),
            (_call("cofactor", P, -i), _call("cofactor", P, -i - 1)),
        ):
            yield (within, 2.4)
            yield (parts, 2.6)
            yield (P // within, 2.8)
            if names.coords:
                yield (R % parts, 2.4)
                yield (R % parts // within, 2.2)
                yield (R // within, 2.8)


def _trees(place: Expr, size: Expr) -> Iterator[Term]:
    """Yield binomial trees over the ranks: the parent, the distance to it, the number of children."""
    parent = place & (place - 1)
    yield (parent, 2.2)
    yield (place - parent, 2.2)
    yield (_minimum(_call("trailing_zeros", place), _call("ceil_log2", size - place)), 2.2)


def _transposed(size: Expr, other: Expr, a: Expr, b: Expr) -> Expr:
    """Return the rank across the diagonal, on a grid whose columns are a multiple of its rows."""
    width = other // size
    return b // width * other + a * width + b % width


def _products(names: Sequence[Expr], weight: float) -> Iterator[Term]:
    for n in (2, 3):
        yield from ((_product(chosen), weight * n) for chosen in combinations(names, n))
    yield from ((name * name, weight * 2.2) for name in names)


def _strides(sizes: Sequence[Expr], coords: Sequence[Expr]) -> Iterator[Term]:
    """Yield a coordinate times the size of the dimensions within it: parts of a rank."""
    for coord in coords:
        yield from ((coord * size, 2.5) for size in sizes)
    if len(sizes) == 3 and coords:
        yield (coords[0] * sizes[1] * sizes[2], 3)


def _diagonal_steps(sizes: Sequence[Expr]) -> Iterator[Term]:
    """Yield the distance to a neighbour across an edge or a corner, whichever dimension is the fastest."""
    for order in (sizes, sizes[::-1]):
        strides = [_product(order[i + 1 :]) if order[i + 1 :] else Const(1) for i in range(len(order))]
        for steps in product((1, 0, -1), repeat=len(order)):
            used = [(step, stride) for step, stride in zip(steps, strides, strict=True) if step]
            if len(used) > 1 and used[0][0] > 0:
                distance = used[0][1]
                for step, stride in used[1:]:
                    distance = distance + stride if step > 0 else distance - stride
                yield (distance, 1.2 + 0.2 * len(used))


def _blocks(sizes: Sequence[Expr], coords: Sequence[Expr], inputs: Sequence[Expr]) -> Iterator[Term]:
    """Yield inputs divided by sizes: rounded down and up, and blocks of a distribution with their offsets.

    Products of two blocks are faces: of the blocks, of their points inside the whole domain, and of the
    blocks with a halo of one or two points.
    """
    for n in inputs:
        parts: list[Expr] = []
        inside: list[Expr] = []
        for i, size in enumerate(sizes if len(sizes) == 1 else (*sizes, P)):
            blocks: list[Expr] = [n // size, -(-n // size)]
            coord = coords[i] if i < len(coords) else R if coords else None
            if coord is not None:
                blocks.append((coord + 1) * n // size - coord * n // size)
                blocks.append(n // size + _holds(coord, "<", n % size))
                yield (coord * n // size, 3.2)
                yield (coord * (n // size) + _minimum(coord, n % size), 3.4)
            yield from ((block, 2 + 0.2 * k) for k, block in enumerate(blocks))
            yield (n % size, 2.6)
            yield ((n % size) * (n // size + 1), 3.4)
            yield ((2 * n + size) // (2 * size), 2.7)
            yield (n // (size * size), 2.4)
            parts += blocks
            if coord is not None:
                inside += [_inside(block, coord, size) for block in blocks]
        if coords and len(sizes) == 1:
            yield ((n - R) // (sizes[0] - 1), 2.8)  # tasks of a worker, if rank 0 assigns them round robin
        yield from ((block, 2.8) for block in inside)
        yield from ((block + halo, 2.9 + 0.1 * halo) for block in parts for halo in (1, 2))
        yield from ((a * b, 4.2) for a, b in combinations(parts, 2))
        for three in combinations_with_replacement([n // size for size in sizes], 3):
            yield (_product(three), 4.6)
        yield from ((a * a, 4.4) for a in parts)
        yield from ((a * size, 3.6) for a in parts for size in sizes)
        yield from ((a * b, 4.6) for a, b in combinations(inside, 2))
        for halo in (1, 2):
            wide = [block + halo for block in parts]
            yield from ((a * b, 4.6 + 0.1 * halo) for a, b in combinations_with_replacement(wide, 2))


def _shares(sizes: Sequence[Expr], multiples: Sequence[int]) -> Iterator[Term]:
    """Yield what is inversely proportional to sizes: blocks of a problem whose size is in no parameter."""
    divided = list(zip(multiples, sizes, strict=False))
    for n in range(1, 4):
        for chosen in combinations_with_replacement(divided, n):
            if n < 3 or len(set(chosen)) == n:
                number, divisor = prod(n for n, _ in chosen), _product([size for _, size in chosen])
                yield (number // divisor, 3.4 if n == 1 else 3.8 + 0.4 * n)


def _inside(block: Expr, coord: Expr, size: Expr) -> Expr:
    """Return the points of a block that are not at the border of the whole domain."""
    return block - _holds(coord, "==", 0) - _holds(coord, "==", size - 1)


def _multipartition(size: Expr, a: Expr, b: Expr, inputs: Sequence[Expr]) -> Iterator[Term]:
    """Yield cells of a square of ranks with a diagonal of cells each (BT, SP), their faces, and sums."""
    yield from _cells(size, a, b)
    shifts = [
        signed + by if by > 0 else signed - 1 if by else signed
        for cell in (a, b, a + b)
        for signed in (cell, -cell)
        for by in (0, 1, -1)
    ]
    for n in inputs:
        for sign in (1, -1):
            for shift in (a, b, a + b, a - b):
                yield (_call("diagonal", n, size, shift, sign), 4)
        for weight, face in ((4.5, _face), (4.7, _inside_face)):
            faces = [face(n, size, shift) for shift in shifts]
            for left, right in combinations_with_replacement(faces, 2):
                yield (left * right, weight)


def _cells(size: Expr, a: Expr, b: Expr, stage: Expr | None = None) -> Iterator[Term]:
    """Yield the number of a cell in its line of cells, and of the first cell of that line.

    Args:
        stage: of a sweep, which is added or subtracted; None: there is none.
    """
    known = {(0, 0), (1, 0), (0, 1)}
    for signs in product((0, 1, -1), repeat=2):
        for turn, by in product((0,) if stage is None else (1, -1), (-2, -1, 0, 1, 2)):
            if turn or signs not in known or (by and any(signs)):
                cell = _signed_sum(Const(by), zip((a, b, stage), (*signs, turn), strict=True)) % size
                yield (cell, 3.2)
                yield (cell * size, 3.6)


def _signed_sum(start: Expr, terms: Iterable[tuple[Expr | None, int]]) -> Expr:
    """Return a sum of terms with signs 1, -1, or 0 where there is none."""
    for term, sign in terms:
        if term is not None and sign:
            start = start + term if sign > 0 else start - term
    return start


def _face(n: Expr, size: Expr, cell: Expr) -> Expr:
    """Return the points of a cell along one dimension."""
    return _call("block", n, size, cell)


def _inside_face(n: Expr, size: Expr, cell: Expr) -> Expr:
    """Return what `_face` does, without points at the border of the whole domain."""
    return _face(n, size, cell) - _holds(cell % size, "==", 0) - _holds(cell % size, "==", size - 1)


def _of_index(names: Names) -> Iterator[Term]:
    """Yield what changes from execution to execution: round robin, halving and doubling."""
    i = Var(names.index)
    sizes, coords = _variables(names.sizes), _variables(names.coords)
    for size in (*sizes, P):
        yield (i % size, 2)
        yield (i // size, 2.2)
        yield (size * i, 2.4)
        yield (i // (size - 1), 2.6)
        yield (size * (i // (size - 1)), 2.8)
        yield (size >> i, 2.6)
        for period in (size, size - 1):
            yield (_holds(i % period, ">", 0), 2.2)
            yield (_holds(i % period, "<", period - 1), 2.2)
            yield (i % period, 2.4)
        yield (1 << i % _call("log2", size), 2.4)
        yield (size >> i % _call("log2", size) + 1, 2.4)
        stage = 1 << i % _call("ceil_log2", size)
        yield (stage, 2.6)
        yield (_minimum(stage, size - stage), 2.8)
    if names.coords and names.partners:
        yield (_doubling(i % _call("log2", P)), 3)
    yield (i + 1, 2.2 if names.butterflies else 1.6)
    yield (1 << i, 2.2)
    yield (i * i, 2.4)
    yield (i % 2, 2)
    for n in _variables(names.inputs) if not names.partners else ():
        yield from _halves(n, i % _call("log2", P))
        for size in sizes if len(sizes) == 1 else (*sizes, P):
            yield from _blocks_in_turn(n, size, i % size)
            yield from _blocks_in_turn(n, size, i % (size - 1) + 1)
    if names.square:
        yield from _stages(names, sizes[0], i % (sizes[0] - 1))
    for coord, size in zip(coords, sizes, strict=False):
        yield (_holds(i % size, "<", coord), 3)
        yield (_holds(i % size, "==", coord), 3)
        yield from _others(i % (size - 1), coord, names)
        yield ((coord + i) % size, 3)
        yield ((coord - i) % size, 3)


def _halves(n: Expr, stage: Expr) -> Iterator[Term]:
    """Yield what is exchanged in a stage of recursive halving or doubling: parts of a vector."""
    yield (n >> stage + 1, 2.6)
    yield ((n // P) * (1 << stage), 2.8)


def _blocks_in_turn(n: Expr, size: Expr, place: Expr) -> Iterator[Term]:
    """Yield the blocks of a distribution and their offsets, place by place, as a root sends them."""
    yield (_holds(place, "<", n % size), 2.6)
    yield ((place + 1) * n // size - place * n // size, 3)
    yield (place * (n // size), 3)
    yield (_minimum(place, n % size), 3)
    yield (place * n // size, 3.2)


def _stages(names: Names, size: Expr, stage: Expr) -> Iterator[Term]:
    """Yield the cell that a sweep over a diagonal of cells reaches in each stage, and its faces."""
    a, b = _variables(names.coords)
    yield from _cells(size, a, b, stage)
    for n in _variables(names.inputs):
        yield from _stage_faces(n, size, a, b, stage)


def _stage_faces(n: Expr, size: Expr, a: Expr, b: Expr, stage: Expr) -> Iterator[Term]:
    """Yield two sides of that cell, whichever way the sweep goes."""
    for sign, by in product((1, -1), (-2, -1, 0, 1, 2)):
        k = _signed_sum(Const(by), [(stage, sign)])
        for cells in ((a + b - k, k - b), (a + b - k, a - k), (b + k, a - k)):
            yield (_product([_face(n, size, cell) for cell in cells]), 4)
            yield (_product([_inside_face(n, size, cell) for cell in cells]), 4.2)


def _of_counters(names: Names) -> Iterator[Term]:
    """Yield what changes from iteration to iteration: whose turn it is, cyclic blocks, first and last."""
    sizes, coords = _variables(names.sizes), _variables(names.coords)
    near = [name for name in names.counters if name[1:] not in FAR]
    yield from ((Var(name), 1.7 if name[0] == "i" else 1.9) for name in names.counters if name not in near)
    iterations = _variables([name for name in near if name[0] == "i"])
    for i in iterations:
        yield (i, 1.5)
        yield (i + 1, 2.2 if names.butterflies else 1.6)
        for size in (*sizes, P):
            yield (i % size, 1.9)
            yield (i // size, 2.2)
            yield (size * i, 2.4)
            yield (size >> i, 1.3 if names.butterflies else 2.4)
            yield (size >> i + 1, 1.2 if names.butterflies else 2.4)
        yield (1 << i, 1.2 if names.butterflies else 2.2)
        for coord, size in zip(coords, sizes, strict=False):
            yield from _turns(i, coord, size)
            yield from _others(i, coord, names)
        for n in _variables(names.inputs) if not names.partners else ():
            yield from _halves(n, i)
    counters = _variables([name for name in near if name != "i"]) if names.coords else []
    for counter in counters if names.partners else ():
        for place, size in _lines(names):
            yield from _tree_stages(counter, place, size)
        yield (_doubling(counter), 3)
    for counter in counters if not names.partners else ():
        for place, size in _lines(names):
            distance = 1 << counter
            yield from ((_minimum(distance, left), 2.6) for left in (size - place, size - place - distance))
    if names.square and iterations:
        yield from _stages(names, sizes[0], iterations[0])
    for name in (name for name in near if name[0] == "l"):
        left = Var(name)
        yield (left, 1.7)
        yield (1 << left, 2.4)
        yield (left + 1, 2.2 if names.butterflies else 1.8)
        yield from _ends(names, Var(name.replace("l", "i")), left)
    if len(iterations) > 1:
        yield (_product(iterations[:2]), 2.4)


def _lines(names: Names) -> list[Line]:
    """Return the place of a rank among all, in its row or column of a plane, and in its part of all ranks."""
    rows = zip(_variables(names.coords), _variables(names.sizes), strict=False)
    return [(R, P), *(rows if len(names.sizes) == 2 else ()), *_parts(names)]


def _parts(names: Names) -> list[Line]:
    """Return the place of a rank in its part of all ranks, by formulas of the borders."""
    borders = names.structure.borders
    return [_in_part(chosen) for chosen in islice(product(*borders), MAX_PARTS)] if borders else []


def parts_between(borders: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first rank and the end of each part of all ranks."""
    return list(pairwise(("0", *borders, "P")))


def _in_part(borders: Sequence[str]) -> Line:
    """Return the place of a rank in its part of all ranks, and the size of the part."""
    ends = [(parse_number(first), parse_number(end)) for first, end in parts_between(borders)]
    first, end = ends.pop()
    place: Expr = R - first
    size: Expr = end - first
    for first, end in reversed(ends):
        before = _compare(R, "<", end)
        place, size = Choose(before, R - first, place), Choose(before, end - first, size)
    return place, size


def _tree_stages(i: Expr, place: Expr, size: Expr) -> Iterator[Term]:
    """Yield whether a rank sends or receives in a stage of a binomial tree, or has a partner in a butterfly.

    In prefix sums the partner is at that distance, on all ranks, or only on those that remain.
    """
    distance, period = 1 << i, 2 << i
    there, back = _holds(place + distance, "<", size), _holds(place, ">=", distance)
    yield from ((partner, 2.2) for partner in (there, back))
    yield from ((_holds(place % distance, "==", 0) * partner, 2.4) for partner in (there, back))
    yield (_holds((place + 1) % period, "==", 0), 2.4)
    yield (_holds((place + 1) % period, "==", distance) * there, 2.6)
    yield ((place >> i) % 2, 2)
    yield (_holds(place ^ distance, "<", size), 2.2)
    yield (_holds((place >> i) % 2, "==", 0) * there, 2.4)
    yield (_holds(place % period, "==", distance), 2)
    yield (_holds(place % period, "==", 0) * there, 2.4)


def _doubling(i: Expr) -> Expr:
    """Return the partner in a stage of recursive doubling, as MPI libraries do it on any number of ranks.

    Of the first ranks, twice as many as the number exceeds a power of two, every other one takes part.
    """
    more = P - (1 << _call("log2", P))
    partner = Choose(_compare(R, "<", 2 * more), R // 2, R - more) ^ (1 << i)
    return Choose(_compare(partner, "<", more), 2 * partner + 1, partner + more)


def _others(i: Expr, coord: Expr, names: Names) -> Iterator[Term]:
    """Yield the coordinate of the i-th other rank of a row, and its offset in ranks."""
    coordinate = i + _holds(i, ">=", coord)
    yield (coordinate, 2.6)
    within = _variables(names.sizes)[_variables(names.coords).index(coord) + 1 :]
    if within:
        yield (_product([coordinate, *within]), 2.8)


def _turns(i: Expr, coord: Expr, size: Expr) -> Iterator[Term]:
    """Yield whose turn an iteration is, and how many turns of a cycle are over, as a coordinate sees it."""
    for k, by in enumerate((0, 1, -1)):
        weight = 0.1 * k
        yield (_turn(i, by, coord, size), 2.3 + weight)
        for sign, more in ((-1, 0.0), (1, 0.2)):
            place = _signed_sum(coord, [(i, sign), (Const(1), by)])
            yield (place // size, 2.6 + weight + more)
            yield (place % size, 2.6 + weight + more)


def _turn(i: Expr, by: int, coord: Expr, size: Expr) -> Expr:
    return _holds(_signed_sum(i, [(Const(1), by)]) % size, "==", coord)


def _ends(names: Names, i: Expr, left: Expr) -> Iterator[Term]:
    """Yield what only the first or the last iteration has, or lacks."""
    sizes, is_left = _variables(names.sizes), _holds(left, ">", 0)
    for end in (i, left):
        yield (_holds(end, ">", 0), 1.8)
    for size in (*sizes, P):
        yield (is_left * size, 2.6)
    for coord, size in zip(_variables(names.coords), sizes, strict=False):
        for k, by in enumerate((0, 1, -1)):
            yield (is_left * _turn(i, by, coord, size), 2.7 + 0.1 * k)
        for end in (i, left):
            yield (_holds(end, "==", 0) * coord, 2.7)
            yield (_holds(end, "==", 0) * (size - coord), 2.8)
