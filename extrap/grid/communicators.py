"""Fit tables of communicators: slices of the grid (rows, columns, planes), or formulas for member lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.solve.features import Names
from scalatrace.extrap.solve.points import Basis, PointSolver
from scalatrace.formula import Called, Const, Expr, Var
from scalatrace.formula.functions import prime_factors
from scalatrace.trace.model.symbolic import BLOCKS, CYCLIC, FamilyRule
from scalatrace.trace.model.tables import Family
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.shapes import Parts, vec_from, vec_parts
from scalatrace.trace.symbolic.special_values import as_int
from scalatrace.trace.values.from_arrays import vec_of_array
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace import Trace

PARTS = ("sizes", "members", "remote_sizes", "remote_members")
"""What a family of communicators is given by."""

Rival = tuple[Expr, Expr]
"""A formula, and another one with the same values in all traces."""

MAX_SINGLE_VALUES = 4
"""Values of a vector, such as the sizes of two parts of all ranks, that have a formula each."""

MAX_PROGRESSION = 1 << 16
"""Ranks of a communicator that are compared with a sequence of equal steps."""

MIN_DIVIDED = 2
"""Sizes on which there must be several instances before they are taken for a division of all ranks."""

MAX_CHAIN = 1 << 12
"""Families that are made from each other."""


__all__ = ["expanded", "families_of", "fit_families", "has_factor_chain"]


def fit_families(traces: Sequence[Trace], runs: Sequence[Run]) -> tuple[FamilyRule, ...]:
    """Fit a rule per communicator family.

    Raises:
        ExtrapolationError: the traces have other communicators, or one follows no rule.
    """
    counts = {len(trace.comms) for trace in traces}
    split = _chain(traces) if len(counts) != 1 else None
    if len(counts) != 1 and split is None:
        counted = ", ".join(f"{len(t.comms)} with {t.nprocs} ranks" for t in traces)
        raise ExtrapolationError(f"the traces do not have the same communicators: {counted}")
    inputs = tuple(sorted(runs[0].inputs))
    names = Names(runs[0].grid.sizes, (), inputs, structure=runs[0].structure)
    columns = {name: np.array([_size(run, name) for run in runs]) for name in _all(names)}
    points = PointSolver(Basis(names, columns, np.arange(len(runs))))
    if split is None:
        rules = [_fit(traces, runs, points, number) for number in range(len(traces[0].comms))]
        for start, length in _full_splits(traces):
            rival = Const(length), Called("prime_factors", (Var("P"),))
            rules[start] = replace(rules[start], rivals=(*rules[start].rivals, rival))
        return tuple(rules)
    start, lengths = split
    before = [_fit(traces, runs, points, number) for number in range(start)]
    without = [
        replace(trace, comms=[*trace.comms[:start], *trace.comms[start + length :]])
        for trace, length in zip(traces, lengths, strict=True)
    ]
    after = [_fit(without, runs, points, number) for number in range(start, len(without[0].comms))]
    return (*before, _fit_chain(traces, runs, start, lengths), *after)


def has_factor_chain(traces: Sequence[Trace]) -> bool:
    """Return whether splits are nested as deep as the number of ranks has prime factors."""
    split = _chain(traces)
    return split is not None and split[1] == [prime_factors(trace.nprocs) for trace in traces]


def _chain(traces: Sequence[Trace]) -> tuple[int, list[int]] | None:
    """Return where communicators that are each split from the one before begin, and how many each trace has.

    None unless traces differ in these only. Communicators after them may be made from those before them.
    """
    least = min(len(trace.comms) for trace in traces)
    extra = [len(trace.comms) - least for trace in traces]
    for start in range(1, least):
        lengths = [_chain_length(trace, start) for trace in traces]
        if all(lengths) and [length - lengths[extra.index(0)] for length in lengths] == extra:
            tails = [
                [(family.kind, family.parent) for family in trace.comms[start + length :]]
                for trace, length in zip(traces, lengths, strict=True)
            ]
            if all(
                families == tails[0] and all(parent < start for _, parent in families) for families in tails
            ):
                return start, lengths
    return None


def _full_splits(traces: Sequence[Trace]) -> Iterator[tuple[int, int]]:
    """Where communicators begin that are split from each other down to single ranks, and how many they are.

    Only those which all traces have, and which are as many as the numbers of ranks have prime factors.
    """
    counts = {prime_factors(trace.nprocs) for trace in traces}
    for start in range(1, len(traces[0].comms)):
        lengths = {_chain_length(trace, start) for trace in traces}
        if lengths == counts and len(counts) == 1:
            (length,) = lengths
            if all(trace.comms[start + length - 1].sizes[0] == 1 for trace in traces):
                yield start, length


def _chain_length(trace: Trace, start: int) -> int:
    """Return the number of families from one on are split, each from the one before."""
    length = 0
    for number, family in enumerate(trace.comms[start:], start):
        if family.kind != "split" or family.parent != (number - 1 if length else 0):
            break
        length += 1
    return length


def _fit_chain(
    traces: Sequence[Trace], runs: Sequence[Run], start: int, lengths: Sequence[int]
) -> FamilyRule:
    """Return the rule of families that are each split from the one before. Raises ExtrapolationError."""
    names = Names(runs[0].grid.sizes, (), tuple(sorted(runs[0].inputs)), factors=runs[0].factors)
    columns = {name: np.array([_size(run, name) for run in runs]) for name in _all(names)}
    count = PointSolver(Basis(names, columns, np.arange(len(runs)))).solve(np.array(lengths))
    families = [
        trace.comms[number]
        for trace, length in zip(traces, lengths, strict=True)
        for number in range(start, start + length)
    ]
    at = np.repeat(np.arange(len(runs)), lengths)
    repeated = {name: column[at] for name, column in columns.items()}
    repeated["i"] = np.concatenate([np.arange(length) for length in lengths])
    points = PointSolver(Basis(replace(names, index="i"), repeated, at))
    rivals: list[Rival] = []
    vecs = [_formulas([getattr(family, part) for family in families], points, rivals) for part in PARTS]
    if count is None or () in vecs:
        counted = ", ".join(
            f"{length} with {t.nprocs} ranks" for length, t in zip(lengths, traces, strict=True)
        )
        raise ExtrapolationError(f"no formula found for communicators split from each other: {counted}")
    return FamilyRule("split", 0, None, tuple(vecs), count.formula, (*count.pairs, *rivals))


def _all(names: Names) -> tuple[str, ...]:
    return (*names.sizes, *names.inputs, "P")


def _size(run: Run, name: str) -> int:
    return int(run.inputs[name] if name in run.inputs else run.grid.columns[name])


def _fit(traces: Sequence[Trace], runs: Sequence[Run], points: PointSolver, number: int) -> FamilyRule:
    families = [trace.comms[number] for trace in traces]
    first = families[0]
    if any((f.kind, f.parent) != (first.kind, first.parent) for f in families):
        raise ExtrapolationError(f"communicator {number} was made in different ways: {_kinds(families)}")
    if first.remote_members is None:
        axes = _slices(traces, runs, number)
        if axes is not None:
            return FamilyRule(first.kind, first.parent, axes)
        divided = _find_division(
            [(trace.nprocs, family) for trace, family in zip(traces, families, strict=True)]
        )
        if divided is not None:
            return FamilyRule(first.kind, first.parent, None, (divided, divided, None, None))
    vecs, rivals = [], list[Rival]()
    for part in PARTS:
        vecs.append(_formulas([getattr(family, part) for family in families], points, rivals))
        if vecs[-1] == ():
            raise ExtrapolationError(
                f"no formula found for the {part.replace('_', ' ')} of communicator {number} ({first.kind}): "
                + "; ".join(
                    f"{trace.nprocs} ranks: {getattr(f, part)}"
                    for trace, f in zip(traces, families, strict=True)
                )
            )
    return FamilyRule(first.kind, first.parent, None, tuple(vecs), rivals=tuple(rivals))


def _kinds(families: Sequence[Family]) -> str:
    return ", ".join(sorted({family.kind for family in families}))


def _formulas(vecs: Sequence[Vec | None], points: PointSolver, rivals: list[Rival]) -> Any:
    """Shape and formulas; None where there is no vec, () when there is no rule.

    Args:
        rivals: those of the formulas are appended.
    """
    if all(vec is None for vec in vecs):
        return None
    if any(vec is None for vec in vecs):
        return ()
    parts: list[Parts] = [vec_parts(vec) for vec in vecs if vec is not None]
    if any(p.shape != parts[0].shape for p in parts):
        present = [vec for vec in vecs if vec is not None]
        parts = _few(present) or _progressions(present)
        if not parts:
            return ()
    solved = [points.solve(np.array(column)) for column in zip(*(p.slots for p in parts), strict=True)]
    if any(s is None for s in solved):
        return ()
    rivals.extend(pair for s in solved if s is not None for pair in s.pairs)
    return parts[0].shape, tuple(s.formula for s in solved if s is not None)


def _few(vecs: Sequence[Vec]) -> list[Parts]:
    """Return the same few values in all traces, one by one; none if there are others."""
    lengths = {vec.length for vec in vecs}
    length = lengths.pop()
    if lengths or length is None or not 1 < length <= MAX_SINGLE_VALUES:
        return []
    return [Parts((None,) * length, vec.first(length)) for vec in vecs]


def _progressions(vecs: Sequence[Vec]) -> list[Parts]:
    """Ranks at equal distances as the parts of a loop each, however few they are; none if they are others."""
    result = []
    for vec in vecs:
        length = 1 if vec.length is None else vec.length
        ranks = vec.first(length) if length <= MAX_PROGRESSION else ()
        step = ranks[1] - ranks[0] if len(ranks) > 1 else 0
        if not ranks or ranks != tuple(ranks[0] + k * step for k in range(length)):
            return []
        result.append((length, step, ranks[0]))
    step = max((step for _, step, _ in result), default=0)  # one rank has any
    return [
        Parts(((None, None, None),), (n, step if n == 1 else own_step, first))
        for n, own_step, first in result
    ]


def _slices(traces: Sequence[Trace], runs: Sequence[Run], number: int) -> tuple[int, ...] | None:
    """Return the dimensions that vary within an instance, if all instances are slices along the same ones."""
    for k in range(len(runs[0].grid.dims), 0, -1):
        for axes in permutations(range(len(runs[0].grid.dims)), k):
            if all(_is_slice(t, run.grid, number, axes) for t, run in zip(traces, runs, strict=True)):
                return axes
    return None


def _is_slice(trace: Trace, grid: Grid, number: int, axes: tuple[int, ...]) -> bool:
    family = trace.comms[number]
    members, size = slices(grid, axes)
    if family.members.constant is not None:
        return False
    return (
        family.members.length == grid.nprocs
        and family.sizes[0] == size
        and _instances(family) == grid.nprocs // size
        and family.members.first(grid.nprocs) == tuple(members.tolist())
        and set(family.sizes.first(grid.nprocs // size)) == {size}
    )


def _find_division(families: Sequence[tuple[int, Family]]) -> tuple[str, tuple[Const]] | None:
    """Return the shape and the formula of communicators of blocks of ranks, or of ranks assigned round robin.

    Args:
        given: the number of ranks of each trace, and its family.
    """
    if any(family.sizes.terms == () for _, family in families):
        return None
    several = {nprocs for nprocs, family in families if _first_size(family) < nprocs}
    if len(several) < MIN_DIVIDED:
        return None
    _, largest = max(families, key=lambda pair: pair[0])
    for shape, number in ((BLOCKS, _first_size(largest)), (CYCLIC, _instances(largest))):
        if number and all(_are_groups(family, _groups(shape, n, number)) for n, family in families):
            return shape, (Const(number),)
    return None


def _first_size(family: Family) -> int:
    return int(family.sizes[0])


def _instances(family: Family) -> int:
    """Return the number of communicators of a family."""
    if family.sizes.length is not None:
        return family.sizes.length
    return (family.members.length or 0) // max(_first_size(family), 1)


def _groups(shape: str, nprocs: int, number: int) -> list[range]:
    """The ranks of each block of `number` ranks, or of each of `number` instances with ranks round robin."""
    if shape == BLOCKS:
        return [range(at, min(at + number, nprocs)) for at in range(0, nprocs, number)]
    return [range(at, nprocs, number) for at in range(min(number, nprocs))]


def _are_groups(family: Family, groups: Sequence[range]) -> bool:
    """Return whether these are the instances of a family, in order."""
    total = sum(map(len, groups))
    return (
        family.members.length == total
        and _instances(family) == len(groups)
        and family.sizes.first(len(groups)) == tuple(map(len, groups))
        and family.members.first(total) == tuple(chain.from_iterable(groups))
    )


def slices(grid: Grid, axes: tuple[int, ...]) -> tuple[Ints, int]:
    """Return the members of all slices, ordered by the first member's rank, and the size of each."""
    ranks = np.arange(grid.nprocs).reshape(grid.dims, order="F" if grid.column_major else "C")
    fixed = [axis for axis in range(len(grid.dims)) if axis not in axes]
    size = int(np.prod([grid.dims[axis] for axis in axes]))
    table = ranks.transpose(*fixed, *axes).reshape(-1, size)
    return table[np.argsort(table[:, 0], kind="stable")].reshape(-1), size


def expanded(rules: Sequence[FamilyRule], env: Mapping[str, Any]) -> list[tuple[FamilyRule, int]]:
    """Return each family's rule on a grid, and its index in the chain of its rule.

    Raises:
        ExtrapolationError: a chain is too long.
    """
    if any(rule.count is not None and as_int(rule.count, env) > MAX_CHAIN for rule in rules):
        raise ExtrapolationError(f"more than {MAX_CHAIN} communicators would be split from each other")
    return [(rule, i) for rule in rules for i in range(1 if rule.count is None else as_int(rule.count, env))]


def families_of(
    rules: Sequence[FamilyRule], grid: Grid, env: Mapping[str, Any], check: bool = True
) -> list[Family]:
    """Return the families on a grid.

    Args:
        check: whether formulas with rivals of other values are refused.

    Raises:
        UndeterminedError: the traces do not determine the communicators of the grid.
        ExtrapolationError: a chain is too long.
    """
    result: list[Family] = []
    for rule, i in expanded(rules, env):
        for formula, rival in rule.rivals if check else ():
            if as_int(formula, {**env, "i": i}) != as_int(rival, {**env, "i": i}):
                what = f"communicator {len(result)} ({rule.kind})"
                raise UndeterminedError(formula, rival, 0, grid, what)
        family = _family_of(rule, grid, {**env, "i": i})
        result.append(replace(family, parent=len(result) - 1) if i else family)
    return result


def _family_of(rule: FamilyRule, grid: Grid, env: Mapping[str, Any]) -> Family:
    if rule.slices is not None:
        members, size = slices(grid, rule.slices)
        return Family(rule.kind, rule.parent, Vec(size), vec_of_array(members))
    if (vec := rule.vecs[0]) is not None and vec[0] in (BLOCKS, CYCLIC):
        number = as_int(vec[1][0], env)
        if number < 1:
            raise ExtrapolationError(
                f"communicators of kind {rule.kind!r}: {number} ranks or instances, must be at least 1"
            )
        groups = _groups(vec[0], grid.nprocs, number)
        lengths = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
        ranks = np.fromiter(chain.from_iterable(groups), dtype=np.int64, count=grid.nprocs)
        return Family(rule.kind, rule.parent, vec_of_array(lengths), vec_of_array(ranks))
    sizes, members_vec, remote_sizes, remote_members = (
        None if vec is None else vec_from(vec[0], iter([as_int(formula, env) for formula in vec[1]]))
        for vec in rule.vecs
    )
    assert sizes is not None
    assert members_vec is not None
    return Family(rule.kind, rule.parent, sizes, members_vec, remote_sizes, remote_members)
