"""Terms of formulas: the dissertation's {1, x, xy, xyz} first, then richer ones (§3.2.3 and beyond).

A feature is an expression with a weight. Among the formulas that fit, the one with the least weight is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, islice, pairwise, permutations, product
from math import prod

from scalatrace.formula import FUNCTIONS, Cond, Expr, names_in, parse_number
from scalatrace.trace.symbolic.counters import NAMED, counter_names
from scalatrace.trace.symbolic.grid import NAMES

__all__ = [
    "GRID_ONLY",
    "RESERVED",
    "Feature",
    "Names",
    "Structure",
    "features",
    "fits",
    "parts_between",
    "torus",
]

GRID_NAMES = frozenset([*NAMES, *map(str.lower, NAMES)])
"""Sizes of a grid, and a rank's coordinates in it."""

RESERVED = GRID_NAMES.union(["P", "r", "i", *counter_names(NAMED), "choose", "item", *FUNCTIONS])
"""Names that formulas use themselves."""


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
        lists: whether values may be lengths of lists of neighbours.
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
    lists: bool = False
    stages: bool = False
    factors: bool = False
    structure: Structure = GRID_ONLY
    multiples: tuple[int, ...] = ()


Term = tuple[str, float]
"""A feature in the notation of trace files, and its weight."""

FAR = ("3", "4")
"""Loops whose counters are features; those of loops further in are parts of features, too."""

MAX_PARTS = 4
"""Formulas of the parts of all ranks by which the place in a part is tried."""

EXTRA: list[Term] = []
"""What plug-ins add: expressions and their weights."""


def torus(names: Names) -> tuple[Feature, ...]:
    """The ranks of all neighbours on a torus, across faces, edges and corners; and the own rank.

    Whichever dimension is the fastest; on a line of ranks, neighbours are found by distance.
    """
    found = [Feature(parse_number("r"), 1.4)]
    for steps in product((0, 1, -1), repeat=len(names.sizes)) if len(names.sizes) > 1 else ():
        places = [
            f"({coord}{step:+d})%{size}" if step else coord
            for coord, step, size in zip(names.coords, steps, names.sizes, strict=True)
        ]
        for order in (1, -1) if any(steps) else ():
            text = ""
            for place, size in list(zip(places, names.sizes, strict=True))[::order]:
                text = f"({text})*{size}+{place}" if text else place
            found.append(Feature(parse_number(text), 2.4 + 0.2 * sum(map(abs, steps))))
    return tuple(found)


def fits(formula: Expr | Cond, names: Names) -> bool:
    """Whether a plug-in's expression is for grids of so many dimensions; it may be about others only."""
    return names_in(formula) & GRID_NAMES <= {*names.sizes, *names.coords}


def features(names: Names) -> tuple[Feature, ...]:
    """All candidates, the lightest first, no text twice."""
    return _features(names, tuple(EXTRA))


@lru_cache(maxsize=256)
def _features(names: Names, extra: tuple[Term, ...]) -> tuple[Feature, ...]:
    found: dict[str, float] = {}
    offered = [one for one in extra if fits(parse_number(one[0]), names)] if names.coords else []
    for text, weight in sorted([*offered, *_all(names)], key=lambda term: term[1]):
        found.setdefault(text, weight)
    return tuple(Feature(parse_number(text), weight) for text, weight in found.items())


def _all(names: Names) -> Iterator[Term]:
    sizes, coords, inputs = names.sizes, names.coords, names.inputs
    yield from ((name, 1) for name in (*sizes, *inputs))
    yield from ((name, 1.5) for name in (*coords, *((names.index,) if names.index else ())))
    if len(sizes) > 1:
        yield ("P", 1.2)
    if coords:
        yield ("r", 1.4)
    yield from _products(sizes, 1)
    yield from ((f"{a}//{b}", 1.9) for a, b in permutations(sizes, 2))
    yield from _strides(sizes, coords)
    yield from _diagonal_steps(sizes)
    for size in ("P", *sizes) if len(sizes) > 1 else sizes:
        logarithms = names.butterflies or names.stages
        yield from ((f"{size}//{n}", 3.2 if logarithms else 2.2) for n in (2, 4))
        yield (f"log2({size})", 1 if names.butterflies else 2)
        yield (f"ceil_log2({size})", 0.9 if names.stages else 2.2)
        yield (f"{size}%2", 2.6)
    yield from _blocks(sizes, coords, inputs)
    if not names.partners:
        yield from _shares(sizes, names.multiples)
    if names.square and not names.index and not names.counters:
        yield from _multipartition(sizes[0], coords[0], coords[1], inputs)
    if coords and names.partners:
        for place, size in _lines(names):
            yield from _trees(place, size)
    if names.lists:
        yield from _neighbour_counts(sizes, coords)
    if len(sizes) == 2 and coords:
        yield (_transposed(*sizes, *coords), 2.2)
    for a in inputs:
        yield from ((f"{a}*{size}", 2.5) for size in sizes)
    yield from _products(inputs, 1)
    for coord, size in zip(coords, sizes, strict=False):
        yield (f"({coord}+1)%{size}", 2.4)
        yield (f"({coord}-1)%{size}", 2.4)
        yield (f"{coord}%2", 2.4)
    yield from _of_structure(names)
    if names.factors:
        yield from _of_factors(names)
    if names.index:
        yield from _of_index(names)
    yield from _of_counters(names)


def _of_structure(names: Names) -> Iterator[Term]:
    """Parts of all ranks, groups of ranks, and trees over all ranks."""
    arity = names.structure.arity
    for border in (one for borders in names.structure.borders for one in borders if "P" in one):
        for part, weight in ((f"({border})", 1.8), (f"(P-({border}))", 1.9)):
            yield (part, weight)
            if names.index:
                yield (f"{names.index}%{part}", 2.4)
    for _, size in _parts(names) if names.coords and names.partners else ():
        yield (f"ceil_log2({size})", 1.2 if names.stages else 2.4)
    for lower, upper in pairwise(names.structure.borders):
        yield from ((f"({high}-({low}))", 2.0) for high in upper for low in lower)
    if names.structure.group:
        yield from _of_groups(names)
    if arity and names.coords:
        yield (f"(r-1)//{arity}", 1.8)
        children = f"min({arity},P-1-{arity}*r)"
        yield (children, 1.8)
        if names.index:
            yield (f"{names.index}%{children}", 2.2)


def _of_groups(names: Names) -> Iterator[Term]:
    """Groups of consecutive ranks: their number, a rank's group, its place there, and how many follow."""
    k = names.structure.group
    yield (f"(P+{k - 1})//{k}", 1.9)
    yield (f"P//{k}", 2.0)
    yield (f"P%{k}", 2.2)
    if names.coords:
        yield (f"r%{k}", 1.8)
        yield (f"r//{k}", 1.9)
        yield (f"(r-r%{k})", 1.9)
    if names.coords and names.partners:
        yield (f"min({k},P-r)", 2.0)
        yield (f"min({k},P-(r-r%{k}))", 2.2)
    for i in filter(None, (names.index, *names.counters)):
        yield from ((f"{i}%{period}", 2.0) for period in (k, k - 1) if period > 1)
        yield (f"{k}*{i}", 2.0)
        yield (f"{i}%((P+{k - 1})//{k}-1)", 2.2)
        yield (f"{k}*({i}%((P+{k - 1})//{k}-1))", 2.2)


def _of_factors(names: Names) -> Iterator[Term]:
    """Ranks divided by the prime factors of their number, the largest or the smallest first (miniAMR)."""
    yield ("prime_factors(P)", 2.0)
    for i in filter(None, (names.index, *names.counters)):
        yield (f"({i}==0)", 2.0)
        for parts, within in (
            (f"cofactor(P,{i})", f"cofactor(P,{i}+1)"),
            (f"cofactor(P,-{i})", f"cofactor(P,-{i}-1)"),
        ):
            yield (within, 2.4)
            yield (parts, 2.6)
            yield (f"P//{within}", 2.8)
            if names.coords:
                yield (f"r%{parts}", 2.4)
                yield (f"r%{parts}//{within}", 2.2)
                yield (f"r//{within}", 2.8)


def _trees(place: str, size: str) -> Iterator[Term]:
    """Binomial trees over the ranks: the parent, the distance to it, the number of children."""
    yield (f"({place}&({place}-1))", 2.2)
    yield (f"({place}-({place}&({place}-1)))", 2.2)
    yield (f"min(trailing_zeros({place}),ceil_log2({size}-{place}))", 2.2)


def _neighbour_counts(sizes: Sequence[str], coords: Sequence[str]) -> Iterator[Term]:
    """How many neighbours a rank has: along a dimension, across faces, and across edges and corners too.

    Along a dimension, those at a distance of two may be among them.
    """
    along = [f"((0<{c})+({c}<{size}-1))" for c, size in zip(coords, sizes, strict=False)]
    yield from ((text, 2.2) for text in along)
    deep = [f"(min({c},2)+min({size}-1-{c},2))" for c, size in zip(coords, sizes, strict=False)]
    yield from ((text, 2.4) for text in deep)
    if len(along) > 1:
        yield ("(" + "+".join(along) + ")", 2.0)
        yield ("(" + "+".join(deep) + ")", 2.2)
        yield ("(" + "*".join(f"({text}+1)" for text in along) + "-1)", 2.4)


def _transposed(size: str, other: str, a: str, b: str) -> str:
    """The rank across the diagonal, on a grid whose columns are a multiple of its rows."""
    width = f"({other}//{size})"
    return f"({b}//{width}*{other}+{a}*{width}+{b}%{width})"


def _products(names: Sequence[str], weight: float) -> Iterator[Term]:
    for n in (2, 3):
        yield from (("*".join(chosen), weight * n) for chosen in combinations(names, n))
    yield from ((f"{name}*{name}", weight * 2.2) for name in names)


def _strides(sizes: Sequence[str], coords: Sequence[str]) -> Iterator[Term]:
    """A coordinate times the size of the dimensions within it: parts of a rank."""
    for coord in coords:
        yield from ((f"{coord}*{size}", 2.5) for size in sizes)
    if len(sizes) == 3 and coords:
        yield (f"{coords[0]}*{sizes[1]}*{sizes[2]}", 3)


def _diagonal_steps(sizes: Sequence[str]) -> Iterator[Term]:
    """The distance to a neighbour across an edge or a corner, whichever dimension is the fastest."""
    for order in (sizes, sizes[::-1]):
        strides = ["*".join(order[i + 1 :]) or "1" for i in range(len(order))]
        for steps in product((1, 0, -1), repeat=len(order)):
            used = [(step, stride) for step, stride in zip(steps, strides, strict=True) if step]
            if len(used) > 1 and used[0][0] > 0:
                text = "".join(f"{'+' if step > 0 else '-'}{stride}" for step, stride in used)
                yield (f"({text[1:]})", 1.2 + 0.2 * len(used))


def _blocks(sizes: Sequence[str], coords: Sequence[str], inputs: Sequence[str]) -> Iterator[Term]:
    """Inputs divided by sizes: rounded down and up, and the blocks of a distribution with their offsets.

    Products of two blocks are faces: of the blocks, of their points inside the whole domain, and of the
    blocks with a halo of one or two points.
    """
    for n in inputs:
        parts, inside = [], []
        for i, size in enumerate(sizes if len(sizes) == 1 else (*sizes, "P")):
            own = [f"{n}//{size}", f"-(-{n}//{size})"]
            coord = coords[i] if i < len(coords) else "r" if coords else ""
            if coord:
                own.append(f"(({coord}+1)*{n}//{size}-{coord}*{n}//{size})")
                own.append(f"({n}//{size}+({coord}<{n}%{size}))")
                yield (f"({coord}*{n}//{size})", 3.2)
                yield (f"{coord}*({n}//{size})+min({coord},{n}%{size})", 3.4)
            yield from ((text, 2 + 0.2 * k) for k, text in enumerate(own))
            yield (f"{n}%{size}", 2.6)
            yield (f"({n}%{size})*({n}//{size}+1)", 3.4)
            yield (f"((2*{n}+{size})//(2*{size}))", 2.7)
            yield (f"{n}//({size}*{size})", 2.4)
            parts += [f"({text})" for text in own]
            if coord:
                inside += [_inside(text, coord, size) for text in own]
        if coords and len(sizes) == 1:
            yield (f"({n}-r)//({sizes[0]}-1)", 2.8)  # tasks of a worker, if rank 0 assigns them round robin
        yield from ((text, 2.8) for text in inside)
        yield from ((f"({text}+{halo})", 2.9 + 0.1 * halo) for text in parts for halo in (1, 2))
        yield from ((f"{a}*{b}", 4.2) for a, b in combinations(parts, 2))
        whole = [f"{n}//{size}" for size in sizes]
        for three in combinations_with_replacement(whole, 3):
            yield ("*".join(f"({a})" for a in three), 4.6)
        yield from ((f"{a}*{a}", 4.4) for a in parts)
        yield from ((f"{a}*{size}", 3.6) for a in parts for size in sizes)
        yield from ((f"{a}*{b}", 4.6) for a, b in combinations(inside, 2))
        for halo in (1, 2):
            wide = [f"({a}+{halo})" for a in parts]
            yield from ((f"{a}*{b}", 4.6 + 0.1 * halo) for a, b in combinations_with_replacement(wide, 2))


def _shares(sizes: Sequence[str], multiples: Sequence[int]) -> Iterator[Term]:
    """What is inversely proportional to sizes: blocks of a problem whose size is in no parameter."""
    divided = list(zip(multiples, sizes, strict=False))
    for n in range(1, 4):
        for chosen in combinations_with_replacement(divided, n):
            if n < 3 or len(set(chosen)) == n:
                number, divisor = prod(n for n, _ in chosen), "*".join(size for _, size in chosen)
                text = f"({number}//{divisor})" if n == 1 else f"({number}//({divisor}))"
                yield (text, 3.4 if n == 1 else 3.8 + 0.4 * n)


def _inside(block: str, coord: str, size: str) -> str:
    """The points of a block that are not at the border of the whole domain."""
    return f"({block}-({coord}==0)-({coord}=={size}-1))"


def _multipartition(size: str, a: str, b: str, inputs: Sequence[str]) -> Iterator[Term]:
    """A square of ranks with a diagonal of cells each (BT, SP): cells, their faces, and sums of faces."""
    yield from _cells(size, a, b, ("",))
    shifts = [f"{sign}{c}{by}" for c in (a, b, f"({a}+{b})") for sign in ("", "-") for by in ("", "+1", "-1")]
    for n in inputs:
        for sign in (1, -1):
            for shift in (a, b, f"{a}+{b}", f"{a}-{b}"):
                yield (f"diagonal({n},{size},{shift},{sign})", 4)
        for weight, face in ((4.5, _face), (4.7, _inside_face)):
            faces = [face(n, size, shift) for shift in shifts]
            for one, other in combinations_with_replacement(faces, 2):
                yield (f"{one}*{other}", weight)


def _cells(size: str, a: str, b: str, stages: Sequence[str]) -> Iterator[Term]:
    """The number of a cell in its line of cells, and of the first cell of that line."""
    for one, other in product(("", f"+{a}", f"-{a}"), ("", f"+{b}", f"-{b}")):
        for stage, by in product(stages, (-2, -1, 0, 1, 2)):
            if stage or f"{one}{other}" not in ("", f"+{a}", f"+{b}") or (by and (one or other)):
                cell = f"(({by}{one}{other}{stage})%{size})"
                yield (cell, 3.2)
                yield (f"{cell}*{size}", 3.6)


def _face(n: str, size: str, cell: str) -> str:
    """The points of a cell along one dimension."""
    return f"block({n},{size},{cell})"


def _inside_face(n: str, size: str, cell: str) -> str:
    """As `_face`, without points at the border of the whole domain."""
    return f"({_face(n, size, cell)}-(({cell})%{size}==0)-(({cell})%{size}=={size}-1))"


def _of_index(names: Names) -> Iterator[Term]:
    """What changes from execution to execution: round robin, halving and doubling."""
    i = names.index
    for size in (*names.sizes, "P"):
        yield (f"{i}%{size}", 2)
        yield (f"{i}//{size}", 2.2)
        yield (f"{size}*{i}", 2.4)
        yield (f"{i}//({size}-1)", 2.6)
        yield (f"{size}*({i}//({size}-1))", 2.8)
        yield (f"({size}>>{i})", 2.6)
        for period in (size, f"({size}-1)"):
            yield (f"({i}%{period}>0)", 2.2)
            yield (f"({i}%{period}<{period}-1)", 2.2)
            yield (f"{i}%{period}", 2.4)
        yield (f"(1<<({i}%log2({size})))", 2.4)
        yield (f"({size}>>({i}%log2({size})+1))", 2.4)
        stage = f"(1<<({i}%ceil_log2({size})))"
        yield (stage, 2.6)
        yield (f"min({stage},{size}-{stage})", 2.8)
    if names.coords and names.partners:
        yield (_doubling(f"({i}%log2(P))"), 3)
    yield (f"({i}+1)", 2.2 if names.butterflies else 1.6)
    yield (f"(1<<{i})", 2.2)
    yield (f"{i}*{i}", 2.4)
    yield (f"{i}%2", 2)
    for n in names.inputs if not names.partners else ():
        yield from _halves(n, f"({i}%log2(P))")
        for size in names.sizes if len(names.sizes) == 1 else (*names.sizes, "P"):
            yield from _blocks_in_turn(n, size, f"({i}%{size})")
            yield from _blocks_in_turn(n, size, f"({i}%({size}-1)+1)")
    if names.square:
        size, stage = names.sizes[0], f"{i}%({names.sizes[0]}-1)"
        yield from _stages(names, size, stage)
    for coord, size in zip(names.coords, names.sizes, strict=False):
        yield (f"({i}%{size}<{coord})", 3)
        yield (f"({i}%{size}=={coord})", 3)
        yield from _others(f"{i}%({size}-1)", coord, names)
        yield (f"({coord}+{i})%{size}", 3)
        yield (f"({coord}-{i})%{size}", 3)


def _halves(n: str, stage: str) -> Iterator[Term]:
    """What is exchanged in a stage of recursive halving or doubling: parts of a vector."""
    yield (f"({n}>>({stage}+1))", 2.6)
    yield (f"({n}//P)*(1<<{stage})", 2.8)


def _blocks_in_turn(n: str, size: str, place: str) -> Iterator[Term]:
    """The blocks of a distribution and their offsets, place by place: what a root sends to each rank."""
    yield (f"({place}<{n}%{size})", 2.6)
    yield (f"(({place}+1)*{n}//{size}-{place}*{n}//{size})", 3)
    yield (f"{place}*({n}//{size})", 3)
    yield (f"min({place},{n}%{size})", 3)
    yield (f"({place}*{n}//{size})", 3.2)


def _stages(names: Names, size: str, stage: str) -> Iterator[Term]:
    """The cell that a sweep over a diagonal of cells reaches in each stage, and its faces."""
    a, b = names.coords
    yield from _cells(size, a, b, (f"+{stage}", f"-{stage}"))
    for n in names.inputs:
        yield from _stage_faces(n, size, a, b, stage)


def _stage_faces(n: str, size: str, a: str, b: str, stage: str) -> Iterator[Term]:
    """Two sides of that cell, whichever way the sweep goes."""
    for sign, by in product("+-", (-2, -1, 0, 1, 2)):
        k = f"({by}{sign}{stage})"
        for one, other in (
            (f"{a}+{b}-{k}", f"{k}-{b}"),
            (f"{a}+{b}-{k}", f"{a}-{k}"),
            (f"{b}+{k}", f"{a}-{k}"),
        ):
            yield (f"{_face(n, size, one)}*{_face(n, size, other)}", 4)
            yield (f"{_inside_face(n, size, one)}*{_inside_face(n, size, other)}", 4.2)


def _of_counters(names: Names) -> Iterator[Term]:
    """What changes from iteration to iteration: whose turn it is, cyclic blocks, the first and the last."""
    near = [name for name in names.counters if name[1:] not in FAR]
    yield from ((name, 1.7 if name[0] == "i" else 1.9) for name in names.counters if name not in near)
    iterations = [name for name in near if name[0] == "i"]
    for i in iterations:
        yield (i, 1.5)
        yield (f"({i}+1)", 2.2 if names.butterflies else 1.6)
        for size in (*names.sizes, "P"):
            yield (f"{i}%{size}", 1.9)
            yield (f"{i}//{size}", 2.2)
            yield (f"{size}*{i}", 2.4)
            yield (f"({size}>>{i})", 1.3 if names.butterflies else 2.4)
            yield (f"({size}>>({i}+1))", 1.2 if names.butterflies else 2.4)
        yield (f"(1<<{i})", 1.2 if names.butterflies else 2.2)
        for coord, size in zip(names.coords, names.sizes, strict=False):
            yield from _turns(i, coord, size)
            yield from _others(i, coord, names)
        for n in names.inputs if not names.partners else ():
            yield from _halves(n, i)
    for counter in (name for name in near if name != "i" and names.partners and names.coords):
        for place, size in _lines(names):
            yield from _tree_stages(counter, place, size)
        yield (_doubling(counter), 3)
    for counter in (name for name in near if name != "i" and not names.partners and names.coords):
        for place, size in _lines(names):
            yield from ((f"min(1<<{counter},{size}-{place}{less})", 2.6) for less in ("", f"-(1<<{counter})"))
    if names.square and iterations:
        yield from _stages(names, names.sizes[0], iterations[0])
    for left in (name for name in near if name[0] == "l"):
        yield (left, 1.7)
        yield (f"(1<<{left})", 2.4)
        yield (f"({left}+1)", 2.2 if names.butterflies else 1.8)
        yield from _ends(names, left.replace("l", "i"), left)
    if len(iterations) > 1:
        yield ("*".join(iterations[:2]), 2.4)


def _lines(names: Names) -> list[tuple[str, str]]:
    """The place of a rank among all, in its row or column of a plane, and in its part, with their lengths."""
    rows = zip(names.coords, names.sizes, strict=False) if len(names.sizes) == 2 else ()
    return [("r", "P"), *rows, *_parts(names)]


def _parts(names: Names) -> list[tuple[str, str]]:
    """The place of a rank in its part of all ranks, and the size of the part, by formulas of the borders."""
    borders = names.structure.borders
    return [_in_part(chosen) for chosen in islice(product(*borders), MAX_PARTS)] if borders else []


def parts_between(borders: Sequence[str]) -> list[tuple[str, str]]:
    """The first rank and the end of each part of all ranks."""
    return list(pairwise(("0", *borders, "P")))


def _in_part(borders: Sequence[str]) -> tuple[str, str]:
    """The place of a rank in its part of all ranks, and the size of the part."""
    ends = parts_between(borders)
    first, end = ends.pop()
    place, size = f"r-({first})", f"{end}-({first})"
    for first, end in reversed(ends):
        place = f"choose(r<{end},r-({first}),{place})"
        size = f"choose(r<{end},{end}-({first}),{size})"
    return place, size


def _tree_stages(i: str, place: str, size: str) -> Iterator[Term]:
    """Whether a rank sends or receives in a stage of a binomial tree, or has a partner in a butterfly.

    In prefix sums the partner is at that distance, on all ranks, or only on those that remain.
    """
    there, back = f"({place}+(1<<{i})<{size})", f"({place}>=(1<<{i}))"
    yield from ((text, 2.2) for text in (there, back))
    yield from ((f"({place}%(1<<{i})==0)*{text}", 2.4) for text in (there, back))
    yield (f"(({place}+1)%(2<<{i})==0)", 2.4)
    yield (f"(({place}+1)%(2<<{i})==(1<<{i}))*{there}", 2.6)
    yield (f"(({place}>>{i})%2)", 2)
    yield (f"(({place}^(1<<{i}))<{size})", 2.2)
    yield (f"(({place}>>{i})%2==0)*{there}", 2.4)
    yield (f"({place}%(2<<{i})==(1<<{i}))", 2)
    yield (f"({place}%(2<<{i})==0)*{there}", 2.4)


def _doubling(i: str) -> str:
    """The partner in a stage of recursive doubling, as MPI libraries do it on any number of ranks.

    Of the first ranks, twice as many as the number exceeds a power of two, every other one takes part.
    """
    more = "(P-(1<<log2(P)))"
    partner = f"(choose(r<2*{more},r//2,r-{more})^(1<<{i}))"
    return f"choose({partner}<{more},2*{partner}+1,{partner}+{more})"


def _others(i: str, coord: str, names: Names) -> Iterator[Term]:
    """The coordinate of the i-th of the other ranks along a dimension, and what it adds to the rank."""
    other = f"({i}+({i}>={coord}))"
    yield (other, 2.6)
    within = names.sizes[names.coords.index(coord) + 1 :]
    if within:
        yield ("*".join((other, *within)), 2.8)


def _turns(i: str, coord: str, size: str) -> Iterator[Term]:
    """Whose turn an iteration is, and how many turns of a cycle are over, as a coordinate sees it."""
    for k, by in enumerate(("", "+1", "-1")):
        weight = 0.1 * k
        yield (_turn(i, by, coord, size), 2.3 + weight)
        for sign, more in (("-", 0.0), ("+", 0.2)):
            yield (f"({coord}{sign}{i}{by})//{size}", 2.6 + weight + more)
            yield (f"({coord}{sign}{i}{by})%{size}", 2.6 + weight + more)


def _turn(i: str, by: str, coord: str, size: str) -> str:
    return f"(({i}{by})%{size}=={coord})" if by else f"({i}%{size}=={coord})"


def _ends(names: Names, i: str, left: str) -> Iterator[Term]:
    """What only the first or the last iteration has, or lacks."""
    for end in (i, left):
        yield (f"({end}>0)", 1.8)
    for size in (*names.sizes, "P"):
        yield (f"({left}>0)*{size}", 2.6)
    for coord, size in zip(names.coords, names.sizes, strict=False):
        for k, by in enumerate(("", "+1", "-1")):
            yield (f"({left}>0)*{_turn(i, by, coord, size)}", 2.7 + 0.1 * k)
        for end in (i, left):
            yield (f"({end}==0)*{coord}", 2.7)
            yield (f"({end}==0)*({size}-{coord})", 2.8)
