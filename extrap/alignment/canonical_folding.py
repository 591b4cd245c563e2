"""Fold the calls of each rank again, so that ranks with equal sequences of calls have equal trees.

The recorder folds while the program runs, within a window and with a view to the values of parameters. So one
program may have other loops at another size. Here only operations and call sites decide. A repeated
sequence of calls is a loop; wherever such a sequence stands alone, in any trace, it is a loop of one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from scalatrace.extrap.alignment.rank_tree import Key, RankNode, all_nodes, rank_tree
from scalatrace.extrap.alignment.sequences import Line, LineToken, Symbols, complete_trips, fold_all
from scalatrace.extrap.alignment.sources import Mark, Order, Shared, Sources
from scalatrace.extrap.alignment.stages import MAX_BODIES, StagedCalls, StageGroup, Stages, staged_calls
from scalatrace.trace.values.compress import vec_of

if TYPE_CHECKING:
    from scalatrace import Trace

MAX_CALLS = 1 << 20
"""Calls of all ranks with different trees; more are left as they were recorded."""

MAX_MARKS = 16
"""Different marks of one call site; with more of them, its calls stay calls of one kind."""

__all__ = ["MAX_CALLS", "Foldings", "Trees", "foldings_of"]

Body = tuple[int, ...]
"""The symbols of some calls of a stage."""

Trees = Mapping[int, tuple[RankNode, ...]]
"""The tree of each rank of each trace, by the number of its point."""


class Foldings:
    """The trees of all ranks in several foldings, which share their parts.

    Attributes:
        trees: as recorded.
    """

    def __init__(self, trees: Trees, trace_of: Callable[[int], tuple[Trace, int]]) -> None:
        """Keep the trees.

        Args:
            trace_of: the trace and the rank of a point.
        """
        self.trees, self._trace_of = trees, trace_of

    @cached_property
    def canonical(self) -> Trees | None:
        """The trees in their canonical form; None when there are too many calls."""
        return None if self._folded_lines is None else self._gathered(self._folded_lines.lines)

    @cached_property
    def with_partial_trips(self) -> Trees | None:
        """As `canonical`, with loops that end within their body; None where there are none.

        A program that exchanges with the left and the right neighbour in turn, once per rank, ends after the
        left one where the number of ranks is odd.
        """
        if self._folded_lines is None:
            return None
        lines, symbols = self._folded_lines.lines, self._folded_lines.symbols
        completed = {point: list(complete_trips(line, symbols)) for point, line in lines.items()}
        return None if completed == lines else self._gathered(completed)

    @cached_property
    def _folded_lines(self) -> _FoldedLines | None:
        shared: dict[Any, list[int]] = {}
        for point, tree in self.trees.items():
            shared.setdefault(_structure(tree), []).append(point)
        firsts = {point: self.trees[point] for point, *_ in shared.values()}
        if sum(map(_calls, firsts.values())) > MAX_CALLS:
            return None
        symbols = Symbols()
        orders = {point: _order(tree) for point, tree in firsts.items()}
        keys = {point: _keys(list(_leaves(tree)), orders[point]) for point, tree in firsts.items()}
        lines = {point: _line(keys[point], symbols) for point in firsts}
        fold_all(lines, symbols)
        return _FoldedLines(symbols, lines, orders, keys, tuple(map(tuple, shared.values())))

    def _gathered(self, lines: Mapping[int, Line]) -> Trees:
        """Return the trees of folded sequences, one for all ranks with equal recorded trees."""
        assert self._folded_lines is not None
        folded, result, known = self._folded_lines, {}, Shared()
        for points in folded.equal_points:
            first = points[0]
            templates = _templates(lines[first], folded.symbols)
            for point in points:
                leaves = list(_leaves(self.trees[point]))
                sources = Sources(*self._trace_of(point), leaves, folded.orders[first], known)
                result[point] = _tree(templates, sources, folded.keys[first])
        return {point: result[point] for point in self.trees}

    @cached_property
    def by_marks(self) -> Trees | None:
        """As `canonical`, with unlike calls of one call site as calls of their own; None also without them.

        A library that is called from one line of Python makes many different calls there: receives from any
        rank, and then receives from each neighbour with another tag. Together they follow no formula.
        """
        return None if self._marked_keys is None else self._folded(self._marked_keys)

    @cached_property
    def staged_sites(self) -> frozenset[Key]:
        """The keys of calls that are stages of trees or butterflies."""
        ranks, calls = self._ranks, self._staged_calls
        if ranks is None or calls is None:
            return frozenset()
        return frozenset(
            key
            for point, staged in calls.items()
            for key, stage in zip(ranks.keys[point], staged.stage, strict=True)
            if stage >= 0
        )

    def by_stages(self, with_marks: bool, by_site: bool) -> Trees | None:
        """Return the trees of `canonical` with stages of trees and butterflies as loops; None without stages.

        Args:
            with_marks: make unlike calls of one call site calls of their own, as `by_marks` does.
            by_site: see Stages.
        """
        ranks, calls = self._ranks, self._staged_calls
        if ranks is None or calls is None:
            return None
        keys = self._marked_keys if with_marks else ranks.keys
        if keys is None:
            return None
        stages = Stages(calls, keys, _equal_points(keys, calls), by_site)
        return self._folded(keys, stages) if stages.has_unequal_stages or not by_site else None

    def _folded(self, keys: Mapping[int, Sequence[Key]], stages: Stages | None = None) -> Trees | None:
        """Return the trees of calls with these keys; None when there are too many different stages."""
        assert self._ranks is not None
        symbols = Symbols()
        equal_points = _equal_points(keys) if stages is None else _equal_points(keys, self._staged_calls)
        lines = {points[0]: _line(keys[points[0]], symbols) for points in equal_points}
        if stages is not None:
            staged = _with_stages(lines, stages, symbols)
            if staged is None:
                return None
            lines = staged
        fold_all(lines, symbols)
        return self._ranks.trees(lines, equal_points, keys, symbols)

    @cached_property
    def _ranks(self) -> _CallsOfRanks | None:
        """The calls of all ranks; None when there are too many."""
        if sum(map(_calls, self.trees.values())) > MAX_CALLS:
            return None
        shared, known = Shared(), dict[tuple[tuple[int, int], ...], Order]()
        leaves = {point: list(_leaves(tree)) for point, tree in self.trees.items()}
        orders = {}
        for point, tree in self.trees.items():
            order = _order(tree)
            orders[point] = known.setdefault(tuple(order), order)
        sources = {
            point: Sources(*self._trace_of(point), leaves[point], orders[point], shared)
            for point in self.trees
        }
        return _CallsOfRanks(leaves, orders, sources)

    @cached_property
    def _marked_keys(self) -> Mapping[int, Sequence[Key]] | None:
        return None if self._ranks is None else self._ranks.marked_keys()

    @cached_property
    def _staged_calls(self) -> Mapping[int, StagedCalls] | None:
        ranks = self._ranks
        return None if ranks is None else staged_calls(ranks.leaves, ranks.orders, ranks.sources)


def foldings_of(traces: Sequence[Trace]) -> Foldings:
    """Return the trees of all ranks of the traces; points are numbered trace by trace."""
    ranks = [(trace, rank) for trace in traces for rank in range(trace.nprocs)]
    trees = {point: rank_tree(trace, rank) for point, (trace, rank) in enumerate(ranks)}
    return Foldings(trees, ranks.__getitem__)


@dataclass(frozen=True)
class _FoldedLines:
    """Folded sequences of calls: one for all ranks with equal trees, by the first of their points."""

    symbols: Symbols
    lines: Mapping[int, Line]
    orders: Mapping[int, Order]
    keys: Mapping[int, Sequence[Key]]
    equal_points: Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class _CallsOfRanks:
    """The calls of all ranks, by point: leaves of their trees, order of the calls, and sources of events."""

    leaves: Mapping[int, Sequence[RankNode]]
    orders: Mapping[int, Order]
    sources: Mapping[int, Sources]

    @cached_property
    def keys(self) -> dict[int, tuple[Key, ...]]:
        """The key of each call: that of its leaf. Ranks with equal keys share them."""
        return _shared({p: _keys(self.leaves[p], order) for p, order in self.orders.items()})

    def marked_keys(self) -> dict[int, tuple[Key, ...]] | None:
        """Return the key of each call with its mark; None if no call site has different marks.

        Tags are part of the marks of a call site unless it has too many of them.
        """
        marks = {
            point: [self.sources[point].marks(leaf) for leaf in range(len(leaves))]
            for point, leaves in self.leaves.items()
        }
        seen: dict[Key, set[Mark]] = {}
        different = {
            (leaf.key, id(row)): row
            for point, rows in marks.items()
            for leaf, row in zip(self.leaves[point], rows, strict=True)
        }
        for (key, _), row in different.items():
            assert key is not None
            seen.setdefault(key, set()).update(row)
        with_tags = {key for key, marks_of_key in seen.items() if 1 < len(marks_of_key) <= MAX_MARKS}
        untagged = {key: {mark.without_tags() for mark in marks_of_key} for key, marks_of_key in seen.items()}
        without = {
            key for key, marks_of_key in untagged.items() if 1 < len(marks_of_key) <= MAX_MARKS
        } - with_tags
        if not with_tags and not without:
            return None

        @cache
        def marked(key: Key, mark: Mark) -> Key:
            if key in without:
                mark = mark.without_tags()
            return key._replace(mark=str(mark)) if key in with_tags or key in without else key

        return _shared(
            {
                point: [
                    marked(key, marks[point][leaf][k])
                    for key, (leaf, k) in zip(keys, self.orders[point], strict=True)
                ]
                for point, keys in self.keys.items()
            }
        )

    def trees(
        self,
        lines: Mapping[int, Line],
        equal_points: Sequence[Sequence[int]],
        keys: Mapping[int, Sequence[Key]],
        symbols: Symbols,
    ) -> Trees:
        """Return the trees of folded sequences of calls; `lines`: of the first of equal points."""
        known: dict[Sequence[_Template], Sequence[_Template]] = {}  # equal ones share gathered values
        result = {}
        for points in equal_points:
            own = _templates(lines[points[0]], symbols)
            templates = known.setdefault(own, own)
            for point in points:
                result[point] = _tree(templates, self.sources[point], keys[point])
        return {point: result[point] for point in self.sources}


def _shared(keys: Mapping[int, Iterable[Key]]) -> dict[int, tuple[Key, ...]]:
    """Return the keys of the calls of each rank, of equal ones the same object."""
    known: dict[tuple[Key, ...], tuple[Key, ...]] = {}
    return {point: known.setdefault(own, own) for point, own in ((p, tuple(k)) for p, k in keys.items())}


def _equal_points(*rows: Mapping[int, object] | None) -> list[list[int]]:
    """Return the points that share the objects of all rows, in the order of the first of them."""
    found: dict[tuple[int, ...], list[int]] = {}
    given = [row for row in rows if row is not None]
    for point in given[0]:
        found.setdefault(tuple(id(row[point]) for row in given), []).append(point)
    return list(found.values())


def _with_stages(lines: Mapping[int, Line], stages: Stages, symbols: Symbols) -> dict[int, Line] | None:
    """The sequences with trees as loops; None: their stages have too many different calls, or orders."""
    trees_of = {point: stages.trees(point) for point in lines}
    numbers_of = {point: [token.symbol for token in line] for point, line in lines.items()}
    before: dict[tuple[int, ...], dict[Body, set[Body]]] = {}
    for point, trees in trees_of.items():
        for group in (group for tree in trees for group in tree):
            predecessors = before.setdefault(group.kind, {})
            bodies = [tuple(numbers_of[point][start:stop]) for start, stop in group.blocks]
            for at, body in enumerate(bodies):
                predecessors.setdefault(body, set()).update(bodies[:at])
    if sum(map(len, before.values())) > MAX_BODIES:
        return None
    loops = {}
    for kind, follow in sorted(before.items()):
        try:
            order = list(TopologicalSorter(dict(sorted(follow.items()))).static_order())
        except CycleError:
            return None
        loops[kind] = {body: symbols.of_loop(body, kind) for body in order}
    return {point: _fold_stages(line, trees_of[point], loops, symbols) for point, line in lines.items()}


def _fold_stages(
    line: Line,
    trees: Sequence[Sequence[StageGroup]],
    loops: Mapping[tuple[int, ...], Mapping[Body, int]],
    symbols: Symbols,
) -> Line:
    """The sequence with each tree as a loop over all stages, in which each block runs once or not at all."""
    result, at = [], 0
    numbers = {kind: {body: number for number, body in enumerate(blocks)} for kind, blocks in loops.items()}
    unused = {kind: [LineToken(block) for block in blocks.values()] for kind, blocks in loops.items()}
    for tree in trees:
        kind = tree[0].kind
        blocks = loops[kind]
        trips = [unused[kind].copy() for _ in range(tree[0].stages)]
        for group in tree:
            for start, stop in group.blocks:
                tokens = tuple(line[start:stop])
                body = tuple([token.symbol for token in tokens])
                trips[group.iteration][numbers[kind][body]] = LineToken(blocks[body], trips=(tokens,))
        loop = symbols.of_stages(tuple(blocks.values()))
        result += [*line[at : tree[0].start], LineToken(loop, trips=tuple(map(tuple, trips)))]
        at = tree[-1].stop
    return [*result, *line[at:]]


def _structure(tree: Sequence[RankNode]) -> Any:
    return tuple((node.key, node.repeat, node.entry_count, _structure(node.children)) for node in tree)


def _calls(tree: Sequence[RankNode]) -> int:
    return sum(node.runs for node in _leaves(tree))


def _leaves(tree: Iterable[RankNode]) -> Iterator[RankNode]:
    for node in tree:
        if node.key is not None:
            yield node
        else:
            yield from _leaves(node.children)


def _order(tree: Sequence[RankNode]) -> Order:
    """Return the calls of a rank in the order of their execution."""
    numbers = {id(leaf): number for number, leaf in enumerate(_leaves(tree))}
    repeats = {id(node): iter(node.repeat) for node in all_nodes(tree)}
    done = [0] * len(numbers)
    result: list[tuple[int, int]] = []

    def run(nodes: Sequence[RankNode]) -> None:
        for node in nodes:
            times = next(repeats[id(node)])
            if node.key is None:
                for _ in range(times):
                    run(node.children)
                continue
            number = numbers[id(node)]
            result.extend((number, k) for k in range(done[number], done[number] + times))
            done[number] += times

    run(tree)
    return result


def _keys(leaves: Sequence[RankNode], order: Order) -> list[Key]:
    """Return the key of each call of a rank."""
    keys = [leaf.key for leaf in leaves if leaf.key is not None]
    return [keys[leaf] for leaf, _ in order]


def _line(keys: Sequence[Key], symbols: Symbols) -> Line:
    return [LineToken(symbols.of_call(key), call) for call, key in enumerate(keys)]


@dataclass(frozen=True, slots=True)
class _Template:
    """A node that ranks with equal structure share.

    Attributes:
        trips: iterations on each entry of a loop.
        calls: of an event: positions of its calls in the sequence.
        children: of a loop.
    """

    repeats: tuple[int, ...]
    calls: tuple[int, ...] = ()
    children: tuple[_Template, ...] = ()


def _template(entries: Sequence[LineToken], symbols: Symbols) -> _Template:
    """Return the node of equal tokens, one for each entry of what is around."""
    body = symbols.bodies.get(entries[0].symbol)
    if body is None:
        calls = [entry.call for entry in entries]
        return _Template(tuple(int(call >= 0) for call in calls), tuple(call for call in calls if call >= 0))
    trips = [trip for entry in entries for trip in entry.trips]
    repeats = tuple(len(entry.trips) for entry in entries)
    if not trips:
        return _Template(repeats)
    templates = (_template([trip[k] for trip in trips], symbols) for k in range(len(trips[0])))
    children = tuple(child for child in templates if any(child.repeats))
    if len(children) == 1 and not children[0].children and entries[0].symbol not in symbols.stages:
        return _Template(repeats, children[0].calls)
    return _Template(repeats, (), children)


def _templates(line: Line, symbols: Symbols) -> tuple[_Template, ...]:
    return tuple(_template([token], symbols) for token in line)


def _tree(templates: Sequence[_Template], sources: Sources, keys: Sequence[Key]) -> tuple[RankNode, ...]:
    return tuple(_rank_node(template, sources, 1, keys) for template in templates)


def _rank_node(template: _Template, sources: Sources, entry_count: int, keys: Sequence[Key]) -> RankNode:
    """Return the node of one rank.

    Args:
        keys: of all its calls, by their position.
    """
    repeat = vec_of(template.repeats)
    runs = sum(template.repeats)
    if template.children:
        children = tuple(_rank_node(child, sources, runs, keys) for child in template.children)
        return RankNode(None, repeat, entry_count, runs, None, children)
    event = sources.event(template.calls)
    return RankNode(keys[template.calls[0]], repeat, entry_count, runs, event, ())
