"""Find the grid of the ranks (§3.2.1) from Cartesian communicators or from the pairs that exchange messages.

Every grid that a number of ranks allows is tried. In the right one, all ranks at the same borders have the
same neighbours, and communicators are rows, columns and planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid.arguments import grids_in_arguments
from scalatrace.extrap.grid.communicators import slices
from scalatrace.extrap.grid.groups import group_size, may_be_groups
from scalatrace.extrap.grid.observed import Observed, join_pairs
from scalatrace.extrap.grid.patterns import Pairs, butterfly_grids, crosses_diagonal, on_a_line
from scalatrace.extrap.grid.plugins import DIMS, dims_by
from scalatrace.extrap.grid.tiles import tiled_grids
from scalatrace.trace.model.elastic import at
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.symbolic.grid import NAMES, Grid

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["MAX_DIMENSIONS", "Topology", "identify"]

MAX_DIMENSIONS = 3

MIN_SHARE, SHARE_MARGIN = 0.6, 0.02
"""Pairs of ranks with messages that are neighbours in a grid that only arguments name, as a part of all; and
how much more of them it has than any other such grid."""

Class = tuple[int, ...]
"""Per dimension: 0 at its lower border, 2 at its upper, 1 between."""

Splits = list[tuple[tuple[int, ...], ...]]
"""Families of communicators: the members of each instance."""

Offsets = frozenset[tuple[int, ...]]


@dataclass(frozen=True)
class Topology:
    """The grids of the input traces, and their origin.

    Attributes:
        butterflies: whether partners are at powers of two in each dimension.
    """

    grids: tuple[Grid, ...]
    evidence: str
    butterflies: bool = False


def identify(traces: Sequence[Trace], observed: Sequence[Observed]) -> Topology:
    """Find the grids of traces of one program.

    Raises:
        InputError: several kinds of grids explain them equally well; names them.
    """
    stated = _find_stated_grids(traces, observed)
    if stated is not None:
        return stated
    sites = [facts.sites for facts in observed]
    try:
        result = _grids(traces, observed)
    except InputError:
        group = group_size(sites)
        if not group:
            raise
    else:
        group = group_size(sites) if may_be_groups(result.grids) else 0
        if not group:
            return result
    line = tuple(Grid((trace.nprocs,)) for trace in traces)
    return Topology(line, f"a line of ranks in groups of {group}")


def _find_stated_grids(traces: Sequence[Trace], observed: Sequence[Observed]) -> Topology | None:
    """Return the grids of a plug-in, or of the program's Cartesian communicators."""
    for dims in DIMS:
        dims_of_plugin = [dims_by(dims, trace) for trace in traces]
        if all(sides is not None for sides in dims_of_plugin):
            grids = tuple(Grid(sides) for sides in dims_of_plugin if sides is not None)
            same_dimensions(grids)
            return Topology(grids, "a plug-in", has_butterflies(observed, grids))
    recorded = [cartesian_dims(trace) for trace in traces]
    if all(dims is not None for dims in recorded):
        grids = tuple(Grid(dims) for dims in recorded if dims is not None)
        if len({len(grid.dims) for grid in grids}) == 1 and all(
            grid.nprocs == trace.nprocs for grid, trace in zip(grids, traces, strict=True)
        ):
            return Topology(grids, "Cartesian communicators: " + _format_grids(grids))
    return None


def _grids(traces: Sequence[Trace], observed: Sequence[Observed]) -> Topology:
    """The grids that nobody states, whether or not ranks form groups. Raises InputError as `identify`."""
    sent = [facts.sent for facts in observed]
    splits = [_splits(trace) for trace in traces]
    if not any(map(len, sent)) and not any(splits) and (tiled := _find_tiled_grids(traces)) is not None:
        return Topology(tiled, f"ranks have the blocks of an array: {_format_grids(tiled)}")
    for ndims in range(1, MAX_DIMENSIONS + 1):
        explained = _find_explained_grids(traces, sent, splits, ndims)
        if len(explained) > 1:
            kinds = "; or ".join(_format_grids(grids) for grids in explained[:4])
            raise InputError(f"the traces fit several grids: {kinds}. Say which: --dims-of 4x4,...")
        if explained:
            return Topology(explained[0], _evidence(traces, sent, splits, explained[0]))
    squares = _find_transposed_grids(traces, observed, splits)
    if squares is not None:
        facts = "some partners are across the diagonal, all others are regular neighbours"
        return Topology(squares, f"{facts}: {_format_grids(squares)}")
    without = _without_sites(observed, lambda pairs, _: _is_tree(pairs))
    for ndims in range(1, MAX_DIMENSIONS + 1) if without is not None and any(map(len, without)) else ():
        assert without is not None
        explained = _find_explained_grids(traces, without, splits, ndims)
        if len(explained) == 1:
            evidence = _evidence(traces, without, splits, explained[0])
            return Topology(explained[0], f"apart from trees of messages, {evidence}")
    if any(splits):
        sliced = _by_communicators(traces, splits)
        if sliced is not None:
            return Topology(sliced, "communicators are its rows, columns or planes: " + _format_grids(sliced))
        nowhere: list[Splits] = [[] for _ in traces]
        for ndims in range(2, MAX_DIMENSIONS + 1) if all(map(len, sent)) else ():
            explained = _find_explained_grids(traces, sent, nowhere, ndims)
            if len(explained) == 1:
                return Topology(explained[0], _evidence(traces, sent, nowhere, explained[0]))
    pairs = [(trace.nprocs, sent_pairs) for trace, sent_pairs in zip(traces, sent, strict=True)]
    butterflies = butterfly_grids(pairs)
    if butterflies is not None:
        facts = "partners are at powers of two in rows and columns, or across the diagonal"
        return Topology(butterflies, f"{facts}: {_format_grids(butterflies)}", butterflies=True)
    named = {grids: _neighbours_share(grids, sent) for grids in grids_in_arguments(traces)}
    best = max(named.values(), default=0.0)
    likely = [grids for grids, share in named.items() if share > best - SHARE_MARGIN]
    if best > MIN_SHARE and len(likely) == 1:
        return Topology(
            likely[0], f"the arguments of the program, and most neighbours: {_format_grids(likely[0])}"
        )
    line = tuple(Grid((trace.nprocs,)) for trace in traces)
    evidence = "no grid has regular neighbours: ranks are taken as a line, with distances by exclusive-or"
    return Topology(line, evidence, on_a_line(pairs))


def _find_tiled_grids(traces: Sequence[Trace]) -> tuple[Grid, ...] | None:
    """Return the grids by which blocks of ranks cover an array; None unless these are one kind of grids."""
    found = [tiled_grids(trace) for trace in traces]
    if any(len(grids) != 1 for grids in found):
        return None
    grids = tuple(grid for (grid,) in found)
    kinds = {(len(grid.dims), grid.column_major) for grid in grids}
    return grids if len(kinds) == 1 and len(grids[0].dims) <= MAX_DIMENSIONS else None


def _without_sites(
    observed: Sequence[Observed], has_pattern: Callable[[Pairs, int], bool]
) -> list[Pairs] | None:
    """Return the pairs of all call sites but those with a pattern in each trace; None if no site has it.

    Args:
        has_pattern: decides by the pairs of a site and the number of the trace.
    """
    by_site = [one.by_site for one in observed]
    dropped = {
        key
        for key in set().union(*by_site)
        if all(has_pattern(pairs[key], k) for k, pairs in enumerate(by_site) if key in pairs)
    }
    if not dropped:
        return None
    return [join_pairs(rows for key, rows in pairs.items() if key not in dropped) for pairs in by_site]


def _find_transposed_grids(
    traces: Sequence[Trace], observed: Sequence[Observed], splits: Sequence[Splits]
) -> tuple[Grid, ...] | None:
    """Return the square grids across whose diagonals some sites send, and all others to neighbours."""
    sides = [isqrt(trace.nprocs) for trace in traces]
    if max(sides) < 3 or any(side**2 != trace.nprocs for side, trace in zip(sides, traces, strict=True)):
        return None
    others = _without_sites(observed, lambda pairs, k: crosses_diagonal(sides[k], pairs))
    squares = tuple(Grid((side, side)) for side in sides)
    explained = [] if others is None else _find_explained_grids(traces, others, splits, 2)
    return squares if explained == [squares] else None


def _is_tree(pairs: Pairs) -> bool:
    """Whether all messages are between ranks that differ in one bit, as in binomial trees, or with rank 0."""
    changed = pairs[:, 0] ^ pairs[:, 1]
    return bool(((changed & (changed - 1) == 0) | (pairs == 0).any(axis=1)).all())


def has_butterflies(observed: Sequence[Observed], grids: Sequence[Grid]) -> bool:
    """Return whether partners on given grids are at powers of two in rows and columns."""
    sent = [(grid.nprocs, one.sent) for grid, one in zip(grids, observed, strict=True)]
    if len(grids[0].dims) == 1:
        return on_a_line(sent)
    return butterfly_grids(sent) == tuple(grids)


def same_dimensions(grids: Sequence[Grid]) -> None:
    """Raise InputError if given grids cannot be compared."""
    if len({len(grid.dims) for grid in grids}) > 1:
        raise InputError("the given grids have different numbers of dimensions")
    if len(grids[0].dims) > len(NAMES):
        raise InputError(f"a grid has at most {len(NAMES)} dimensions; {grids[0]} has more")


def cartesian_dims(trace: Trace) -> tuple[int, ...] | None:
    """Return the dimensions of the first Cartesian communicator over all ranks."""
    for event, _ in executions_of(trace, 0):
        op = trace.ops[event.op]
        if op.name == "Cart_create":
            vec = at(event.params[op.index("dims") or 0], 0)  # type: ignore[arg-type]
            if vec is not None and vec.constant is not None:
                dims = trace.array(vec.constant)
                return dims if prod(dims) == trace.nprocs and len(dims) <= len(NAMES) else None
    return None


def _splits(trace: Trace) -> Splits:
    """Return the families of several communicators that all ranks are in."""
    result = []
    for number, family in enumerate(trace.comms):
        if family.kind in ("self", "null") or family.remote_members is not None:
            continue
        groups = tuple(trace.layout(number).groups)
        if len(groups) > 1 and sum(map(len, groups)) == trace.nprocs and len(groups) < trace.nprocs:
            result.append(groups)
    return result


def candidates(nprocs: int, ndims: int) -> Iterator[Grid]:
    """Yield all grids of `ndims` dimensions, each of at least 2 ranks (1 if there is only one)."""
    for dims in _factorizations(nprocs, ndims):
        yield Grid(dims)
    if ndims > 1:
        for dims in _factorizations(nprocs, ndims):
            yield Grid(dims, column_major=True)


def _factorizations(n: int, ndims: int) -> Iterator[tuple[int, ...]]:
    if ndims == 1:
        yield (n,)
        return
    for first in range(2, n // 2 + 1):
        if n % first == 0 and n // first > 1:
            yield from ((first, *rest) for rest in _factorizations(n // first, ndims - 1))


def _find_explained_grids(
    traces: Sequence[Trace], sent: Sequence[Pairs], splits: Sequence[Splits], ndims: int
) -> list[tuple[Grid, ...]]:
    """Return the grids, one per trace, in which alike ranks of all traces have alike neighbours."""
    per_trace = []
    for trace, pairs, groups in zip(traces, sent, splits, strict=True):
        mine = []
        for grid in candidates(trace.nprocs, ndims):
            seen = _neighbours(grid, pairs)
            if seen is not None and all(_has_slices(grid, group) for group in groups):
                mine.append((grid, seen))
        per_trace.append(mine)
    chosen = list(_compatible(per_trace))
    row_major = [tuple(grids) for grids in chosen if not grids[0].column_major]
    result = row_major or [tuple(grids) for grids in chosen]
    return result if len(result) < 2 else _closest(result)


def _by_communicators(traces: Sequence[Trace], splits: Sequence[Splits]) -> tuple[Grid, ...] | None:
    """The grids of which all communicators are slices, whoever sends to whom; None unless that is one."""
    for ndims in range(2, MAX_DIMENSIONS + 1):
        fitting = [
            [
                grid
                for grid in candidates(trace.nprocs, ndims)
                if not grid.column_major and all(_has_slices(grid, group) for group in groups)
            ]
            for trace, groups in zip(traces, splits, strict=True)
        ]
        if all(len(grids) == 1 for grids in fitting):
            return tuple(grids[0] for grids in fitting)
        if all(fitting):
            chosen = _closest([tuple(grids) for grids in product(*fitting)])
            return chosen[0] if len(chosen) == 1 else None
    return None


def _compatible(
    per_trace: Sequence[list[tuple[Grid, dict[Class, Offsets]]]],
    chosen: tuple[tuple[Grid, dict[Class, Offsets]], ...] = (),
) -> Iterator[list[Grid]]:
    """Grids, one per trace, of one order of ranks, whose equal classes have equal neighbours."""
    if len(chosen) == len(per_trace):
        yield [grid for grid, _ in chosen]
        return
    for grid, seen in per_trace[len(chosen)]:
        if all(
            grid.column_major == chosen_grid.column_major
            and _have_equal_offsets(grid, seen, chosen_grid, offsets)
            for chosen_grid, offsets in chosen
        ):
            yield from _compatible(per_trace, (*chosen, (grid, seen)))


def _have_equal_offsets(a: Grid, seen: dict[Class, Offsets], b: Grid, offsets: dict[Class, Offsets]) -> bool:
    """Return whether classes of both grids have the same neighbours.

    Offsets are known modulo the side of a grid: on a side of 2, the next and the previous rank are one.
    """
    sides = tuple(map(min, a.dims, b.dims))
    return all(_modulo(seen[c], sides) == _modulo(offsets[c], sides) for c in seen.keys() & offsets.keys())


@lru_cache(maxsize=1 << 14)
def _modulo(offsets: Offsets, sides: tuple[int, ...]) -> Offsets:
    return frozenset(tuple(step % side for step, side in zip(one, sides, strict=True)) for one in offsets)


def _closest(found: list[tuple[Grid, ...]]) -> list[tuple[Grid, ...]]:
    """Of several, those whose grids are as square as can be, as programs make them."""
    spread = {grids: sum(max(grid.dims) - min(grid.dims) for grid in grids) for grids in found}
    least = min(spread.values())
    kept = [grids for grids in found if spread[grids] == least]
    falling = [grids for grids in kept if all(tuple(sorted(g.dims, reverse=True)) == g.dims for g in grids)]
    return falling[:1] if len(falling) == 1 else kept


def _neighbours(grid: Grid, pairs: Pairs) -> dict[Class, Offsets] | None:
    """Per class of positions the neighbours' offsets; None when alike ranks differ, or for far ones."""
    places = np.array([grid.columns[name] for name in grid.coords])
    dims = np.array(grid.dims)[:, None]
    by_rank: list[set[tuple[int, ...]]] = [set() for _ in range(grid.nprocs)]
    if len(pairs):
        steps = _steps(grid, pairs)
        if np.abs(steps).max() > 2:
            return None
        for rank, step in zip(pairs[:, 0].tolist(), steps.T.tolist(), strict=True):
            by_rank[rank].add(tuple(step))
    classes = np.where(places == 0, 0, np.where(places == dims - 1, 2, 1)).T.tolist()
    result: dict[Class, Offsets] = {}
    for rank, position in enumerate(classes):
        offsets = frozenset(by_rank[rank])
        if result.setdefault(tuple(position), offsets) != offsets:
            return None
    return result


def _steps(grid: Grid, pairs: Pairs) -> Pairs:
    """Return the shorter way around from each sender to its receiver, a row for each side."""
    places = np.array([grid.columns[name] for name in grid.coords])
    dims = np.array(grid.dims)[:, None]
    steps = (places[:, pairs[:, 1]] - places[:, pairs[:, 0]]) % dims
    return np.asarray(np.where(2 * steps > dims, steps - dims, steps))


def _neighbours_share(grids: Sequence[Grid], sent: Sequence[Pairs]) -> float:
    """Return the part of all messages' pairs that are neighbours in grids, across faces, edges or corners."""
    near = total = 0
    for grid, pairs in zip(grids, sent, strict=True):
        near += int((np.abs(_steps(grid, pairs)) <= 1).all(axis=0).sum())
        total += len(pairs)
    return near / total if total else 0.0


def _has_slices(grid: Grid, groups: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether communicators are slices of the grid, as sets of ranks."""
    wanted = {frozenset(group) for group in groups}
    for mask in range(1, 1 << len(grid.dims)):
        axes = tuple(a for a in range(len(grid.dims)) if mask >> a & 1)
        members, size = slices(grid, axes)
        if {frozenset(row) for row in members.reshape(-1, size).tolist()} == wanted:
            return True
    return False


def _format_grids(grids: Sequence[Grid]) -> str:
    return ", ".join(map(str, grids))


def _evidence(
    traces: Sequence[Trace], sent: Sequence[Pairs], splits: Sequence[Splits], grids: tuple[Grid, ...]
) -> str:
    facts = []
    if any(len(pairs) for pairs in sent):
        facts.append("ranks at the same borders have the same neighbours")
    if any(splits):
        facts.append("communicators are its rows, columns or planes")
    return f"{' and '.join(facts) or 'collectives only: a line of ranks'}: {_format_grids(grids)}"
