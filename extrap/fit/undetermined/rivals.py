"""Rival divisions: other ways to divide a parameter among ranks that give the same values in all traces.

`n//X`, the same rounded up, and block sizes are equal wherever X divides n, and on some ranks for small
remainders. A formula that was fitted only there does not determine other sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.fit_types import Samples
from scalatrace.extrap.grid.space import Run, Space, columns_of
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Cond,
    Const,
    Expr,
    Symbolic,
    Value,
    Var,
    add,
    children,
    evaluate,
    format_text,
    names_in,
    parse_number,
)
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.symbolic import SymbolicTrace, fields_of
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import Field, Part
from scalatrace.trace.symbolic.grid import Grid

__all__ = [
    "apart",
    "differing",
    "divides_numbers",
    "is_refuted",
    "points_of_parts",
    "probes_of",
    "rivals",
    "shares_of_numbers",
    "with_rivals",
    "with_rivals_that",
    "without_refuted",
]

BLOCKS = (
    "{n}//{s}",
    "-(-{n}//{s})",
    "({n}//{s}+({c}<{n}%{s}))",
    "(({c}+1)*{n}//{s}-{c}*{n}//{s})",
    "((2*{n}+{s})//(2*{s}))",
    "({n}//{s}+({c}=={s}-1)*({n}%{s}))",
)
"""Sizes of blocks: parameter n over size s, at coordinate c."""

OFFSETS = ("{c}*{n}//{s}", "{c}*({n}//{s})+min({c},{n}%{s})")
"""Where blocks begin."""

SQUARES = ("{n}//({s}*{s})", "-(-{n}//({s}*{s}))", "-(-(-(-{n}//{s}))//{s})", "(2*{n}+{s}*{s})//(2*{s}*{s})")
"""Sizes of blocks that are divided twice, as in a transposition."""

SIDES, SPACE_SIDES, MAX_LINE = (2, 3, 4, 5, 6, 7, 8, 11, 16), (2, 3, 5, 6, 8), 40
"""Sides of planes and of spaces, and lengths of lines, on which formulas are compared."""

LARGE_SIZE, MAX_FACTOR = 1 << 12, 64
"""A size at which formulas are multiples of what they divide, and the largest multiple."""

MAX_ITERATIONS = 8
"""Iterations of loops for which formulas over them are compared."""

Pairs = tuple[tuple[str, str], ...]
"""Sizes with the coordinate along each."""


@lru_cache(maxsize=1 << 14)
def rivals(formula: Value, inputs: tuple[str, ...], pairs: Pairs) -> tuple[tuple[Expr, Expr], ...]:
    """Return the divisions in a formula, each with other divisions of that parameter by that size."""
    result: dict[tuple[Expr, Expr], None] = {}
    if not inputs:
        return tuple(dict.fromkeys(shares_of_numbers(formula)))
    if not names_in(formula) & set(inputs):
        return ()
    for n in inputs:
        for s, c in pairs:
            for family in (BLOCKS, OFFSETS, SQUARES):
                others = _family(family, n, s, c)
                for part in _divisions(formula, others, n, s):
                    result |= dict.fromkeys((part, other) for other in _others(part, others) if other != part)
                if isinstance(formula, Expr):
                    result |= dict.fromkeys((formula, other) for other in _multiples(formula, n, s))
    return tuple(result)


def shares_of_numbers(part: Value | Cond) -> Iterator[tuple[Expr, Expr]]:
    """Yield numbers divided by a size, rounded down and up: the sizes of the traces divide the number."""
    if isinstance(part, Binary) and part.op == "//" and isinstance(part.left, Const):
        yield part, parse_number(f"-(-{format_text(part.left)}//({format_text(part.right)}))")
    else:
        for child in children(part):
            yield from shares_of_numbers(child)


def _in_one_division(e: Expr) -> Expr:
    """Return an expression with 1400//Y for 350*(4//Y), which is equal where Y divides 4."""
    if not isinstance(e, Binary):
        return e
    left, right = _in_one_division(e.left), _in_one_division(e.right)
    match e.op, left, right:
        case "*", Const(factor), Binary("//", Const(number), divisor) if factor > 0:
            return Binary("//", Const(factor * number), divisor)
    return replace(e, left=left, right=right)


def _whole_shares(part: Part, here: Mapping[str, Any]) -> Part:
    """Return the part with numbers divided whole among ranks, where that is equal; what it had are rivals.

    Args:
        here: the columns of its points.
    """
    known = [one for one in part.formulas or () if isinstance(one, Expr)]
    whole = {one: new for one in known if (new := _in_one_division(one)) != one}
    whole = {old: new for old, new in whole.items() if not differing(new, old, here).any()}
    formulas = tuple(whole.get(one, one) if isinstance(one, Expr) else one for one in part.formulas or ())
    pairs = ((new, old) for old, new in whole.items())
    return replace(part, formulas=formulas, rivals=(*part.rivals, *pairs)) if whole else part


def _multiples(formula: Expr, n: str, s: str) -> Iterator[Expr]:
    """The multiple of a parameter that a formula divides in pieces, divided at once: of 5*(n//X), 5*n//X."""
    if names_in(formula) != {n, s} or formula in _family(BLOCKS, n, s, "0"):
        return
    try:
        constant, one, two = (evaluate(formula, {n: k * LARGE_SIZE, s: LARGE_SIZE}) for k in range(3))
    except FormulaError:
        return
    factor = one - constant
    if two - one == factor and 1 < factor <= MAX_FACTOR:
        for text in (f"{factor}*{n}//{s}", f"-(-{factor}*{n}//{s})"):
            other = add(parse_number(text), Const(int(constant)))
            if other != formula:
                yield other


@lru_cache(maxsize=1 << 12)
def _family(notations: tuple[str, ...], n: str, s: str, c: str) -> tuple[Expr, ...]:
    return tuple(parse_number(one.format(n=n, s=s, c=c)) for one in notations)


def _divisions(part: Value | Cond, known: Sequence[Expr], n: str, s: str) -> Iterator[Expr]:
    """The outermost subexpressions that are one of some formulas, or `block` and `diagonal` of n and s."""
    if isinstance(part, Binary | Choose | Called) and (part in known or _divides(part, n, s)):
        yield part
    else:
        for child in children(part):
            yield from _divisions(child, known, n, s)


def _divides(part: Expr, n: str, s: str) -> bool:
    return isinstance(part, Called) and part.arguments[:2] == (Var(n), Var(s))


def _others(part: Expr, family: Sequence[Expr]) -> Sequence[Expr]:
    """Other ways to divide than a subexpression."""
    if not isinstance(part, Called):
        return family
    n, s, place = map(format_text, part.arguments[:3])
    if part.name == "diagonal":
        return [parse_number(f"{s}*({n}//{s})*({n}//{s})")]
    return _family(tuple(one for one in BLOCKS if "{c}" in one), n, s, f"(({place})%{s})")


def differing(formula: Expr, rival: Expr, env: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Return a mask over the ranks of `env` where two formulas differ, or one value for all."""
    counters = {name for name in names_in(formula, rival) if is_counter(name)}
    result: Any = np.zeros(1, dtype=bool)
    for k in range(MAX_ITERATIONS if counters else 1):
        here = {**env, **dict.fromkeys(counters, k)}
        try:
            result = result | (np.asarray(evaluate(formula, here)) != np.asarray(evaluate(rival, here)))
        except FormulaError:
            continue  # neither has a value for such an iteration
    return np.asarray(result, dtype=bool)


def apart(space: Space, pairs: Sequence[tuple[Expr, Expr]], condition: Cond) -> tuple[tuple[Expr, Expr], ...]:
    """Return the pairs of formulas that differ under a condition, on grids like those of the traces."""
    if not pairs:
        return ()
    columns = probes_of(space)
    holds = np.broadcast_to(np.asarray(evaluate(condition, columns), dtype=bool), columns["r"].shape)
    here = {name: column[holds] for name, column in columns.items()}
    return tuple(pair for pair in pairs if differing(*pair, here).any())


def probes_of(space: Space) -> Mapping[str, Any]:
    """Return the columns of the ranks of some grids, with other values of the parameters."""
    if "probes" not in space.memo:
        space.memo["probes"] = _probes(space)
    probes: Mapping[str, Any] = space.memo["probes"]
    return probes


def _probes(space: Space) -> Mapping[str, Any]:
    ndims = len(space.names.sizes)
    if all(len(set(run.grid.dims)) == 1 for run in space.runs):
        shapes = [(side,) * ndims for side in (SIDES if ndims > 1 else range(2, MAX_LINE))]
    else:
        shapes = list(product(SPACE_SIDES if ndims > 2 else SIDES, repeat=ndims))
    if space.names.butterflies:
        shapes = [(1 << a, 1 << b)[-ndims:] for a in range(4) for b in range(a, a + 2)]
    column_major = space.runs[0].grid.column_major
    runs = []
    for k, dims in enumerate(shapes):
        largest = {name: max(run.inputs[name] for run in space.runs) for name in space.inputs}
        inputs = {name: (n, 2 * n + 1, 97, 128)[k % 4] for name, n in largest.items()}
        runs.append(Run(Grid(dims, column_major), inputs))
    return columns_of(runs)


def _is_multiple(e: Expr) -> bool:
    """Return whether an expression is a number, or one times another, as `60*x` and `(x+1)*60` are."""
    return isinstance(e, Const) or (
        isinstance(e, Binary) and e.op == "*" and (_is_multiple(e.left) or _is_multiple(e.right))
    )


@lru_cache(maxsize=1 << 14)
def _divides_numbers(part: Value | Cond) -> bool:
    match part:
        case Called("block" | "block_start", (Const(), *_)):
            return True
        case Binary("//", left, _) if _is_multiple(left):
            return True
    return any(map(_divides_numbers, children(part)))


def divides_numbers(model: SymbolicTrace) -> bool:
    """Return whether a formula or a rival divides a number by sizes, like the size of the problem."""
    return any(
        _divides_numbers(formula)
        for field in fields_of(model.nodes)
        for part in field.parts
        for formula in (*(part.formulas or ()), *(rival for _, rival in part.rivals))
    )


MAX_NEAR = 8
"""By how much the sizes of a problem along two dimensions may differ, to be taken for each other."""


def _other_sizes(formula: Value, inputs: tuple[str, ...]) -> Iterator[tuple[Expr, Expr]]:
    """A formula of a size that was found, with other sizes in its place: there may be one per dimension."""
    if isinstance(formula, Symbolic):
        return
    for name, step in product(sorted(names_in(formula) & set(inputs)), range(-MAX_NEAR, MAX_NEAR + 1)):
        if step:
            yield formula, Substitution({name: add(Var(name), Const(step))}).number(formula)


def with_rivals_that(field: Field, keep: Callable[[Expr, Expr], bool]) -> Field:
    """Return the field with the pairs of formula and rival that pass a test."""
    parts = (replace(part, rivals=tuple(pair for pair in part.rivals if keep(*pair))) for part in field.parts)
    return replace(field, parts=tuple(parts))


def with_rivals(space: Space, field: Field, samples: Samples) -> Field:
    """Return the field with the alternative divisions that have the same values for all samples."""
    pairs = space.divisors
    found = any(run.found for run in space.runs)
    formulas = [formula for part in field.parts for formula in part.formulas or ()]
    if not any(rivals(formula, space.inputs, pairs) for formula in formulas) and not found:
        return field
    taking = [point for point, value in samples.items() if value is not None]
    parts = []
    for part, points in points_of_parts(space, field, taking):
        here = {name: column[points] for name, column in space.columns.items()}
        if not space.inputs:
            part = _whole_shares(part, here)
        others = dict.fromkeys(
            pair for formula in part.formulas or () for pair in rivals(formula, space.inputs, pairs)
        )
        for formula in part.formulas or () if found else ():
            others |= dict.fromkeys(_other_sizes(formula, space.inputs))
        equal = tuple(pair for pair in others if not differing(*pair, here).any())
        parts.append(replace(part, rivals=(*part.rivals, *equal)))
    return replace(field, parts=tuple(parts))


def points_of_parts(space: Space, field: Field, points: Iterable[int]) -> Iterator[tuple[Part, Ints]]:
    """Yield each part of a field with some of its points."""
    left = np.array(sorted(points), dtype=np.int64)
    for part in field.parts:
        columns = {name: space.columns[name][left] for name in names_in(part.condition)}
        mask = np.broadcast_to(np.asarray(evaluate(part.condition, columns), dtype=bool), left.shape)
        yield part, left[mask]
        left = left[~mask]


def is_refuted(space: Space, points: Ints, formula: Expr, rival: Expr) -> bool:
    """Return whether two formulas differ on some of these points, each with the inputs of its trace."""
    names = names_in(formula, rival)
    if not len(points) or any(map(is_counter, names)):
        return False
    columns = {name: space.columns[name][points] for name in names}
    return bool(differing(formula, rival, columns).any())


def without_refuted(space: Space, field: Field, samples: Samples) -> Field:
    """Return the field without rivals that differ from the formula in some trace."""
    taking = [point for point, value in samples.items() if value is not None]
    parts = [
        replace(part, rivals=tuple(pair for pair in part.rivals if not is_refuted(space, points, *pair)))
        for part, points in points_of_parts(space, field, taking)
    ]
    return replace(field, parts=tuple(parts))
