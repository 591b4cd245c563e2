"""Fold the calls of each rank anew, so that ranks with equal sequences of calls have equal trees.

The recorder folds while the program runs, within a window and with a view to the values of parameters. So one
program may have other loops at another size. Here only operations and call sites decide. A repeated
sequence of calls is a loop; wherever such a sequence stands alone, in any trace, it is a loop of one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from scalatrace.extrap.alignment.rank_tree import Key, RankNode
from scalatrace.extrap.alignment.sources import Mark, Order, Shared, Sources
from scalatrace.extrap.alignment.stages import MAX_BODIES, Group, Stages, staged_calls
from scalatrace.trace.values.compress import vec_of

if TYPE_CHECKING:
    from scalatrace import Trace

Ints = np.ndarray[Any, np.dtype[np.int64]]

MAX_CALLS = 1 << 20
"""Calls of all ranks with different trees; more are left as they were recorded."""

MAX_MARKS = 16
"""Different marks of one call site; with more of them, its calls stay calls of one kind."""

MAX_PERIOD = 1 << 13
"""Calls and loops in the body of a loop that is sought."""

__all__ = ["MAX_CALLS", "folded_anew", "folded_by_marks", "folded_by_stages"]


def folded_anew(
    trees: Mapping[int, Sequence[RankNode]], trace_of: Callable[[int], tuple[Trace, int]]
) -> dict[int, tuple[RankNode, ...]] | None:
    """The trees (point -> tree) in their canonical form; None when there are too many calls.

    Args:
        trees: as recorded.
        trace_of: the trace and the rank of a point.
    """
    shared: dict[Any, list[int]] = {}
    for point, tree in trees.items():
        shared.setdefault(_structure(tree), []).append(point)
    firsts = [points[0] for points in shared.values()]
    if sum(_calls(trees[point]) for point in firsts) > MAX_CALLS:
        return None
    symbols = _Symbols()
    orders = {point: _order(trees[point]) for point in firsts}
    keys = {point: _keys(list(_leaves(trees[point])), orders[point]) for point in firsts}
    lines = {point: _line(keys[point], symbols) for point in firsts}
    _fold_all(lines, symbols)
    result, known = {}, Shared()
    for points in shared.values():
        templates = [_template([token], symbols) for token in lines[points[0]]]
        for point in points:
            sources = Sources(*trace_of(point), list(_leaves(trees[point])), orders[points[0]], known)
            result[point] = tuple(_rank_node(template, sources, 1, keys[points[0]]) for template in templates)
    return {point: result[point] for point in trees}


def folded_by_marks(
    trees: Mapping[int, Sequence[RankNode]], trace_of: Callable[[int], tuple[Trace, int]]
) -> dict[int, tuple[RankNode, ...]] | None:
    """As `folded_anew`, with unlike calls of one call site as calls of their own; None also without them.

    A library that is called from one line of Python makes many different calls there: receives from any rank,
    and then receives from each neighbour with another tag. Together they follow no formula.
    """
    ranks = _Ranks.of(trees, trace_of)
    keys = None if ranks is None else ranks.marked_keys()
    if ranks is None or keys is None:
        return None
    symbols = _Symbols()
    lines = {point: _line(keys[point], symbols) for point in trees}
    _fold_all(lines, symbols)
    return ranks.trees(lines, keys, symbols)


def folded_by_stages(
    trees: Mapping[int, Sequence[RankNode]],
    trace_of: Callable[[int], tuple[Trace, int]],
    with_marks: bool = False,
) -> dict[int, tuple[RankNode, ...]] | None:
    """As `folded_anew`, with the stages of trees and butterflies as loops; None also when there are none.

    Args:
        with_marks: make unlike calls of one call site calls of their own, as `folded_by_marks` does.
    """
    ranks = _Ranks.of(trees, trace_of)
    calls = None if ranks is None else staged_calls(ranks.leaves, ranks.orders, ranks.sources)
    if ranks is None or calls is None:
        return None
    keys = ranks.marked_keys() if with_marks else ranks.keys()
    if keys is None:
        return None
    symbols, stages = _Symbols(), Stages(calls)
    lines = {point: _line(keys[point], symbols) for point in trees}
    found = {point: stages.trees(point) for point in trees}
    groups = ((p, group) for p in trees for tree in found[p] for group in tree)
    bodies = sorted({(group.comm, _body(lines[p], group, stages)) for p, group in groups})
    if len(bodies) > MAX_BODIES:
        return None
    blocks: dict[int, dict[tuple[int, ...], int]] = {}
    for comm, body in bodies:
        blocks.setdefault(comm, {})[body] = symbols.of_loop(body, comm)
    loops = {comm: symbols.of_stages(tuple(own.values())) for comm, own in blocks.items()}
    for point in trees:
        lines[point] = _staged(lines[point], found[point], stages, blocks, loops)
    _fold_all(lines, symbols)
    return ranks.trees(lines, keys, symbols)


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The calls of all ranks, by point: leaves of their trees, order of the calls, and sources of events."""

    leaves: Mapping[int, Sequence[RankNode]]
    orders: Mapping[int, Order]
    sources: Mapping[int, Sources]

    @classmethod
    def of(
        cls, trees: Mapping[int, Sequence[RankNode]], trace_of: Callable[[int], tuple[Trace, int]]
    ) -> _Ranks | None:
        """The calls of these trees; None when there are too many."""
        if sum(map(_calls, trees.values())) > MAX_CALLS:
            return None
        leaves = {point: list(_leaves(tree)) for point, tree in trees.items()}
        orders = {point: _order(tree) for point, tree in trees.items()}
        known = Shared()
        sources = {point: Sources(*trace_of(point), leaves[point], orders[point], known) for point in trees}
        return cls(leaves, orders, sources)

    def keys(self) -> dict[int, list[Key]]:
        """The key of each call: that of its leaf."""
        return {point: _keys(self.leaves[point], order) for point, order in self.orders.items()}

    def marked_keys(self) -> dict[int, list[Key]] | None:
        """The key of each call with its mark; None if no call site has different marks.

        Tags are part of the marks of a call site unless it has too many of them.
        """
        marks = {
            point: [self.sources[point].marks(leaf) for leaf in range(len(leaves))]
            for point, leaves in self.leaves.items()
        }
        seen: dict[Key, set[Mark]] = {}
        for point, rows in marks.items():
            for leaf, row in zip(self.leaves[point], rows, strict=True):
                assert leaf.key is not None
                seen.setdefault(leaf.key, set()).update(row)
        with_tags = {key for key, found in seen.items() if 1 < len(found) <= MAX_MARKS}
        others = {key: {mark.without_tags() for mark in found} for key, found in seen.items()}
        without = {key for key, found in others.items() if 1 < len(found) <= MAX_MARKS} - with_tags
        if not with_tags and not without:
            return None

        def marked(key: Key, mark: Mark) -> Key:
            if key in without:
                mark = mark.without_tags()
            return key._replace(mark=str(mark)) if key in with_tags or key in without else key

        return {
            point: [
                marked(key, marks[point][leaf][k])
                for key, (leaf, k) in zip(keys, self.orders[point], strict=True)
            ]
            for point, keys in self.keys().items()
        }

    def trees(
        self, lines: Mapping[int, Line], keys: Mapping[int, Sequence[Key]], symbols: _Symbols
    ) -> dict[int, tuple[RankNode, ...]]:
        """The trees of folded sequences of calls."""
        return {
            point: tuple(
                _rank_node(_template([token], symbols), self.sources[point], 1, keys[point]) for token in line
            )
            for point, line in lines.items()
        }


def _body(line: Line, group: Group, stages: Stages) -> tuple[int, ...]:
    return tuple(token.symbol for token in line[group.start : group.start + stages.width])


def _staged(
    line: Line,
    trees: Sequence[Sequence[Group]],
    stages: Stages,
    blocks_of: Mapping[int, Mapping[tuple[int, ...], int]],
    loops: Mapping[int, int],
) -> Line:
    """The sequence with each tree as a loop over all stages, in which each block runs once or not at all."""
    result, at = [], 0
    for tree in trees:
        count, blocks = tree[0].stages, blocks_of[tree[0].comm]
        trips = [[_Token(block) for block in blocks.values()] for _ in range(count)]
        for group in tree:
            stop = group.start + stages.width
            body = tuple(line[group.start : stop])
            number = list(blocks).index(_body(line, group, stages))
            iteration = count - 1 - group.stage if stages.down else group.stage
            trips[iteration][number] = _Token(blocks[_body(line, group, stages)], trips=(body,))
        result += [*line[at : tree[0].start], _Token(loops[tree[0].comm], trips=tuple(map(tuple, trips)))]
        at = tree[-1].start + stages.width
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


@dataclass(frozen=True, slots=True)
class _Token:
    """A call, or a loop, in the sequence of one rank.

    Attributes:
        symbol: equal for calls of one operation and call site, and for loops around equal symbols.
        calls: of a call: its position in the sequence.
        trips: of a loop: its iterations.
    """

    symbol: int
    call: int = -1
    trips: tuple[tuple[_Token, ...], ...] = ()


Line = list[_Token]


class _Symbols:
    """Numbers for calls and bodies of loops.

    Attributes:
        bodies: of each loop.
        stages: loops over stages.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.bodies: dict[int, tuple[int, ...]] = {}
        self.stages: set[int] = set()

    def of_call(self, key: Key) -> int:
        """The symbol of a call."""
        return self._numbers.setdefault(key, len(self._numbers))

    def of_loop(self, body: tuple[int, ...], comm: int | None = None) -> int:
        """The symbol of a loop around these symbols; of a block of stages, in this communicator."""
        number = self._numbers.setdefault(("loop", body, comm), len(self._numbers))
        self.bodies[number] = body
        return number

    def of_stages(self, body: tuple[int, ...]) -> int:
        """The symbol of a loop over stages, which stays a loop of its own."""
        number = self.of_loop(body)
        self.stages.add(number)
        return number


def _order(tree: Sequence[RankNode]) -> Order:
    """The calls of a rank in the order of their execution."""
    numbers = {id(leaf): number for number, leaf in enumerate(_leaves(tree))}
    repeats = {id(node): iter(node.repeat) for node in _nodes(tree)}
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
    """The key of each call of a rank."""
    keys = [leaf.key for leaf in leaves if leaf.key is not None]
    return [keys[leaf] for leaf, _ in order]


def _line(keys: Sequence[Key], symbols: _Symbols) -> Line:
    return [_Token(symbols.of_call(key), call) for call, key in enumerate(keys)]


def _nodes(tree: Iterable[RankNode]) -> Iterator[RankNode]:
    for node in tree:
        yield node
        yield from _nodes(node.children)


def _fold_all(lines: dict[int, Line], symbols: _Symbols) -> None:
    """Fold all sequences until none changes; what is a loop in one is a loop in all."""
    changed = True
    while changed:
        known = len(symbols.bodies)
        for point in lines:
            lines[point] = _folded(lines[point], symbols)
        wrapped = {point: _wrapped(line, symbols) for point, line in lines.items()}
        changed = any(len(wrapped[point]) != len(line) for point, line in lines.items())
        changed = changed or len(symbols.bodies) != known
        lines.update(wrapped)


def _folded(line: Line, symbols: _Symbols) -> Line:
    """The sequence with its repetitions as loops, short bodies first."""
    period = 1
    while 2 * period <= len(line) and period <= MAX_PERIOD:
        runs = list(_repetitions(np.array([token.symbol for token in line], dtype=np.int64), period))
        if not runs:
            period += 1
            continue
        result, at = [], 0
        for start, stop in runs:
            result += line[at:start]
            trips = tuple(tuple(line[k : k + period]) for k in range(start, stop, period))
            result.append(_loop(trips, symbols))
            at = stop
        line = [*result, *line[at:]]
        period = 1
    return line


def _repetitions(numbers: Ints, period: int) -> Iterator[tuple[int, int]]:
    """Start and end of the parts that repeat a body of `period` symbols, from left to right."""
    equal = np.concatenate([[False], numbers[period:] == numbers[:-period], [False]])
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    end = 0
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first = max(start, end)
        trips = 1 + (stop - first) // period
        if trips > 1:
            end = first + trips * period
            yield first, end


def _loop(trips: tuple[tuple[_Token, ...], ...], symbols: _Symbols) -> _Token:
    """A loop of these iterations; iterations that are a loop each are one loop."""
    body = tuple(token.symbol for token in trips[0])
    if len(body) == 1 and body[0] in symbols.bodies and body[0] not in symbols.stages:
        return _Token(body[0], trips=tuple(chain.from_iterable(trip[0].trips for trip in trips)))
    return _Token(symbols.of_loop(body), trips=trips)


def _wrapped(line: Line, symbols: _Symbols) -> Line:
    """The sequence with loops of one trip around the bodies that are loops elsewhere, long ones first."""
    for loop, body in sorted(symbols.bodies.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(body) > len(line):
            continue
        numbers = [token.symbol for token in line]
        result, at = [], 0
        while at < len(line):
            if numbers[at] == body[0] and tuple(numbers[at : at + len(body)]) == body:
                result.append(_Token(loop, trips=(tuple(line[at : at + len(body)]),)))
                at += len(body)
            else:
                result.append(line[at])
                at += 1
        line = result
    return line


@dataclass(frozen=True, slots=True)
class _Template:
    """A node of ranks with equal structure.

    Attributes:
        trips: iterations on each entry of a loop.
        calls: of an event: positions of its calls in the sequence.
        children: of a loop.
    """

    repeats: tuple[int, ...]
    calls: tuple[int, ...] = ()
    children: tuple[_Template, ...] = ()


def _template(entries: Sequence[_Token], symbols: _Symbols) -> _Template:
    """The node of equal tokens, one for each entry of what is around."""
    body = symbols.bodies.get(entries[0].symbol)
    if body is None:
        return _Template((1,) * len(entries), tuple(entry.call for entry in entries))
    trips = [trip for entry in entries for trip in entry.trips]
    repeats = tuple(len(entry.trips) for entry in entries)
    if not trips:
        return _Template(repeats)
    found = (_template([trip[k] for trip in trips], symbols) for k in range(len(body)))
    children = tuple(child for child in found if any(child.repeats))
    if len(children) == 1 and not children[0].children and entries[0].symbol not in symbols.stages:
        return _Template(repeats, children[0].calls)
    return _Template(repeats, (), children)


def _rank_node(template: _Template, sources: Sources, entry_count: int, keys: Sequence[Key]) -> RankNode:
    """The node of one rank.

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
