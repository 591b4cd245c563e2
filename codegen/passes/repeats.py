"""Write sequences of statements that a long program repeats as functions.

Two sequences are equal if they differ in the times of computations only. Times that differ become arguments.
The longest sequences are found first, in the suffix array of all blocks of statements (Manber and Myers 1993,
Kasai et al. 2001). The next search finds what is left, and what functions have in common.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, count

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.codegen.passes.split import MAX_STATEMENTS, names_of, nstatements
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    Duration,
    LoopStatement,
    MpiCall,
    ProgramPart,
    Stmt,
    statements,
)
from scalatrace.formula import Var

__all__ = ["with_repeats"]

MIN_STATEMENTS = 8
"""Statements of a sequence that is worth a function."""

SHOWN_FRAMES = 1
"""Frames of a call site that a program shows: its callers differ between equal sequences."""

MAX_SEARCHES = 8

MAX_SCANNED_STARTS = 1 << 25
"""Places of sequences that one search looks at."""

Body = tuple[Stmt, ...]


def with_repeats(program: BenchmarkProgram, drawn: bool) -> BenchmarkProgram:
    """The program with functions for what it repeats; the same object if it is short.

    Args:
        drawn: times are drawn from histograms: computations with different ones are not equal.
    """
    if nstatements(program.body) <= MAX_STATEMENTS:
        return program
    return program.with_body(_Repeats(program.body, drawn).body())


@dataclass(eq=False)
class _Node:
    """A statement; what is in it stands in blocks.

    Attributes:
        own: equal for statements that are equal but for what is in them.
        number: equal for equal statements.
        weight: statements, those in it too.
    """

    stmt: Stmt
    blocks: tuple[_RepeatedBlock, ...]
    own: int
    number: int = 0
    weight: int = 1


@dataclass(eq=False)
class _RepeatedBlock:
    """Statements one after the other.

    Attributes:
        scope: the variables from around, by name.
        start: position of the first statement among those of all blocks.
        parent: position of the statement that the block is in; -1: of none.
    """

    nodes: list[_Node]
    scope: Mapping[str, Var]
    start: int = 0
    parent: int = -1


@dataclass
class _BlockLayout:
    """All blocks one after the other, each with a separator behind it.

    Attributes:
        owners: the block of each position.
        numbers: of the statements; separators are all different.
        weights: statements before each position.
        covered: positions that are in a sequence that was found.
    """

    owners: list[_RepeatedBlock] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=lambda: [0])
    covered: bytearray = field(default_factory=bytearray)

    def add(self, block: _RepeatedBlock) -> None:
        """Append a block, and those in it."""
        block.start = len(self.owners)
        self.owners += [block] * (len(block.nodes) + 1)
        self.numbers += [*(node.number for node in block.nodes), -1 - block.start]
        weights = (*(node.weight for node in block.nodes), 0)
        self.weights += accumulate(weights, initial=self.weights.pop())
        self.covered += bytes(len(block.nodes) + 1)
        for position, node in enumerate(block.nodes, block.start):
            for inner in node.blocks:
                inner.parent = position
                self.add(inner)

    def nodes(self, start: int, length: int) -> list[_Node]:
        """The statements of a sequence."""
        block = self.owners[start]
        return block.nodes[start - block.start : start - block.start + length]

    def weight(self, start: int, length: int) -> int:
        """Statements of a sequence."""
        return self.weights[start + length] - self.weights[start]

    def cover(self, start: int, length: int) -> None:
        """Let no other sequence have these statements, those in them, or those that they are in."""
        self.covered[start : start + length] = b"\1" * length
        for node in self.nodes(start, length):
            for inner in node.blocks:
                self.cover(inner.start, len(inner.nodes))
        parent = self.owners[start].parent
        while parent >= 0 and not self.covered[parent]:
            self.covered[parent] = 1
            parent = self.owners[parent].parent

    def free(self, starts: Ints, length: int) -> list[int]:
        """Those of the starts whose sequences are not covered and do not overlap."""
        result, end = list[int](), 0
        begun = np.frombuffer(self.covered, dtype=np.uint8)[starts] == 0
        for start in np.sort(starts[begun]).tolist():
            if start >= end and self.covered.find(1, start, start + length) < 0:
                result.append(start)
                end = start + length
        return result

    def shortened(self, start: int, length: int) -> int:
        """The length of the longest beginning of a sequence that has no more than MAX_STATEMENTS."""
        limit = self.weights[start] + MAX_STATEMENTS
        return min(length, bisect_right(self.weights, limit) - 1 - start)


class _Repeats:
    """The search in a program.

    Attributes:
        top: the statements of the program.
        functions: the statements of each function, by its name.
        marks: predecessors that computations tell apart.
    """

    def __init__(self, body: Body, drawn: bool) -> None:
        self.drawn = drawn
        self.names = (f"sequence{n}" for n in count(1))
        self.functions: dict[str, _RepeatedBlock] = {}
        self.made: dict[str, Body] = {}
        self.keys: dict[object, int] = {}
        self.marks = {
            mark
            for stmt in statements(body)
            if isinstance(stmt, ComputeStatement) and not self.has_arguments(stmt)
            for context in stmt.contexts
            for mark in context.marks
        }
        self.top = self.block(body, {})
        for _ in range(MAX_SEARCHES):
            if not self.search():
                break

    def block(self, body: Body, scope: Mapping[str, Var]) -> _RepeatedBlock:
        """A block of statements."""
        return _RepeatedBlock([self.node(stmt, scope) for stmt in body], scope)

    def node(self, stmt: Stmt, scope: Mapping[str, Var]) -> _Node:
        """A statement and its blocks."""
        match stmt:
            case LoopStatement(variable, _, body):
                inner = self.block(body, {**scope, variable.name: variable})
                return self.numbered(replace(stmt, body=()), inner)
            case Branch(_, then, otherwise):
                branches = self.block(then, scope), self.block(otherwise, scope)
                return self.numbered(replace(stmt, then=(), otherwise=()), *branches)
            case MpiCall():
                mark = stmt.mark if stmt.mark in self.marks else None
                return self.numbered(replace(stmt, mark=mark, site=stmt.site[:SHOWN_FRAMES]))
        return self.numbered(stmt)

    def numbered(self, stmt: Stmt, *blocks: _RepeatedBlock) -> _Node:
        """A node of a statement."""
        return _Node(stmt, blocks, self.keys.setdefault(self.key(stmt), len(self.keys)))

    def body(self) -> Body:
        """The statements of the program, with calls of functions."""
        return self.statements(self.top)

    def statements(self, block: _RepeatedBlock) -> Body:
        """The statements of a block."""
        return tuple(map(self.statement, block.nodes))

    def statement(self, node: _Node) -> Stmt:
        """A statement with what is in it."""
        match node.stmt, tuple(map(self.statements, node.blocks)):
            case LoopStatement() as loop, (body,):
                return replace(loop, body=body)
            case Branch() as branch, (then, otherwise):
                return replace(branch, then=then, otherwise=otherwise)
            case ProgramPart() as part, _:
                part = self.direct(part)
                if part.name not in self.made:
                    self.made[part.name] = self.statements(self.functions[part.name])
                return replace(part, body=self.made[part.name])
        return node.stmt

    def direct(self, part: ProgramPart) -> ProgramPart:
        """A call of a function, or of the function that is all that this one calls."""
        nodes = self.functions[part.name].nodes
        if len(nodes) > 1 or not isinstance(inner := nodes[0].stmt, ProgramPart):
            return part
        times = (t if t.argument is None else part.times[t.argument] for t in inner.times)
        return self.direct(replace(inner, times=tuple(times)))

    # -- search --------------------------------------------------------------------------------------------

    def search(self) -> bool:
        """Put calls of functions in place of what is repeated; return whether there was anything."""
        layout, numbers = _BlockLayout(), dict[object, int]()
        for block in (self.top, *self.functions.values()):
            block.parent = -1
            self.enumerate(block, numbers)
            layout.add(block)
        uses: dict[_RepeatedBlock, list[tuple[int, int, ProgramPart]]] = {}
        for length, starts in _find_repeated(layout):
            parts = self.function([layout.nodes(start, length) for start in starts], layout.owners[starts[0]])
            for start, part in zip(starts, parts, strict=True):
                block = layout.owners[start]
                uses.setdefault(block, []).append((start - block.start, length, part))
        for block, block_starts in uses.items():
            for at, length, part in sorted(block_starts, key=lambda use: -use[0]):
                block.nodes[at : at + length] = [self.numbered(part)]
        return bool(uses)

    def enumerate(self, block: _RepeatedBlock, numbers: dict[object, int]) -> None:
        """Set the numbers and weights of statements."""
        for node in block.nodes:
            for inner in node.blocks:
                self.enumerate(inner, numbers)
            inside = tuple(tuple(n.number for n in inner.nodes) for inner in node.blocks)
            node.number = numbers.setdefault((node.own, inside), len(numbers))
            node.weight = 1 + sum(n.weight for inner in node.blocks for n in inner.nodes)

    def key(self, stmt: Stmt) -> object:
        """What equal statements have in common, but for what is in them."""
        match stmt:
            case ComputeStatement(contexts, first) if self.has_arguments(stmt):
                return len(contexts), first
            case ProgramPart():
                return replace(stmt, times=())
        return stmt

    def has_arguments(self, compute: ComputeStatement) -> bool:
        """Whether the times of a computation may be arguments: they do not depend on the predecessor."""
        durations = [context.duration for context in compute.contexts]
        if any(duration.law or (self.drawn and duration.histogram) for duration in durations):
            return False
        return len(durations) == 1 or compute.first is not None

    def function(self, sequences: Sequence[list[_Node]], around: _RepeatedBlock) -> list[ProgramPart]:
        """Make a function of equal sequences of a block; return its call for each of them."""
        name, arguments = next(self.names), list(zip(*map(self.times, sequences), strict=True))
        differing = [
            n
            for n, times in enumerate(arguments)
            if len({t.ns for t in times}) > 1 or any(t.argument is not None for t in times)
        ]
        numbers = {n: argument for argument, n in enumerate(differing)}
        once = (
            replace(times[0], argument=numbers[n], histogram=None) if n in numbers else times[0]
            for n, times in enumerate(arguments)
        )
        self.set_times(sequences[0], once)
        used = self.variables(sequences[0])
        parameters = {name: variable for name, variable in around.scope.items() if name in used}
        self.functions[name] = _RepeatedBlock(sequences[0], parameters)
        return [
            ProgramPart(name, tuple(parameters.values()), (), tuple(arguments[n][k] for n in differing))
            for k in range(len(sequences))
        ]

    def times(self, nodes: Sequence[_Node]) -> Iterator[Duration]:
        """The times that may be arguments."""
        for node in nodes:
            if isinstance(node.stmt, ComputeStatement) and self.has_arguments(node.stmt):
                yield from (context.duration for context in node.stmt.contexts)
            elif isinstance(node.stmt, ProgramPart):
                yield from node.stmt.times
            for inner in node.blocks:
                yield from self.times(inner.nodes)

    def set_times(self, nodes: Sequence[_Node], times: Iterator[Duration]) -> None:
        """Replace them, in the same order."""
        for node in nodes:
            if isinstance(node.stmt, ComputeStatement) and self.has_arguments(node.stmt):
                contexts = tuple(replace(c, marks=(), duration=next(times)) for c in node.stmt.contexts)
                node.stmt = replace(node.stmt, contexts=contexts)
            elif isinstance(node.stmt, ProgramPart):
                node.stmt = replace(node.stmt, times=tuple(next(times) for _ in node.stmt.times))
            for inner in node.blocks:
                self.set_times(inner.nodes, times)

    def variables(self, nodes: Sequence[_Node]) -> set[str]:
        """The variables that statements use, their own loops' too."""
        inside = (self.variables(inner.nodes) for node in nodes for inner in node.blocks)
        return set().union(*(names_of(node.stmt) for node in nodes), *inside)


def _find_repeated(layout: _BlockLayout) -> Iterator[tuple[int, list[int]]]:
    """Length and starts of sequences that are repeated, those that save most statements first.

    A sequence is covered before the next one is searched.
    """
    order = _suffixes(np.array(layout.numbers, dtype=np.int64))
    heap: list[tuple[int, int, int, int]] = []
    for length, low, high in _intervals(_common(layout.numbers, order.tolist())):
        length = layout.shortened(int(order[low]), length)
        if (weight := layout.weight(int(order[low]), length)) >= MIN_STATEMENTS:
            heap.append(((low - high) * weight, length, low, high))
    heapq.heapify(heap)
    scanned = 0
    while heap and scanned < MAX_SCANNED_STARTS:
        saved, length, low, high = heapq.heappop(heap)
        scanned += high - low + 1
        starts = layout.free(order[low : high + 1], length)
        if len(starts) < 2:
            continue
        now = (1 - len(starts)) * layout.weight(starts[0], length)
        if now > saved and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, length, low, high))
            continue
        for start in starts:
            layout.cover(start, length)
        yield length, starts


def _suffixes(numbers: Ints) -> Ints:
    """The suffix array: where the suffixes of an array of numbers begin, in lexical order."""
    ranks = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    length = 1
    while True:
        following = np.full(len(ranks), -1, dtype=np.int64)
        following[: -length or None] = ranks[length:]
        order = np.lexsort((following, ranks))
        changes = (np.diff(ranks[order]) != 0) | (np.diff(following[order]) != 0)
        ranks[order] = np.concatenate([[0], np.cumsum(changes)])
        if ranks[order[-1]] == len(ranks) - 1 or length >= len(ranks):
            return order
        length *= 2


def _common(numbers: Sequence[int], order: Sequence[int]) -> list[int]:
    """The length of what each suffix has in common with the next one in the order."""
    ranks, result, length = [0] * len(order), [0] * (len(order) - 1), 0
    for rank, start in enumerate(order):
        ranks[start] = rank
    for start, rank in enumerate(ranks):
        if rank == len(order) - 1:
            length = 0
            continue
        next_suffix = order[rank + 1]
        end = len(order) - max(start, next_suffix)
        while length < end and numbers[start + length] == numbers[next_suffix + length]:
            length += 1
        result[rank] = length
        length = max(0, length - 1)
    return result


def _intervals(common: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Length, first and last number in the order of suffixes that have so much in common, and no more."""
    open_: list[tuple[int, int]] = []
    for k, length in enumerate((*common, 0)):
        low = k
        while open_ and open_[-1][0] > length:
            longer, low = open_.pop()
            yield longer, low, k
        if length and (not open_ or open_[-1][0] < length):
            open_.append((length, low))
