"""Loops in a sequence of symbols, by the compressor that the recorder uses (§5.2.2)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from scalatrace.core.binding import Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import Vec

__all__ = ["collectives", "repeats", "skeleton"]


def skeleton(symbols: Sequence[int], frames: Sequence[Sequence[str]]) -> Trace:
    """A trace of one rank whose walk is the symbols; the smaller of two.

    Args:
        frames: a call stack for each symbol. Where iterations end can be seen from the lines in it, or better
            without them, where calls of several ranks are mixed.
    """
    named = _compress_symbols(symbols, frames)
    plain = _compress_symbols(symbols, [(f"symbol {i}",) for i in range(len(frames))])
    return min(named, plain, key=lambda trace: trace.nnodes)


def _compress_symbols(symbols: Sequence[int], frames: Sequence[Sequence[str]]) -> Trace:
    with Core(0, 1) as core, tempfile.TemporaryDirectory() as folder:
        ops = [core.define_op(f"op{i}", ()) for i in range(len(frames))]
        signatures = [core.define_signature(stack) for stack in frames]
        for symbol in symbols:
            core.append(ops[symbol], (), signatures[symbol])
        core.finish()
        path = Path(folder) / "skeleton.st"
        core.write(path)
        return load(path)


def repeats(node: Node) -> Vec:
    """How often a node of a skeleton runs, each time it is met."""
    vec = elastic.at(node.repeat, 0)
    assert vec is not None
    return vec


def collectives(nodes: Sequence[Node]) -> Iterator[tuple[Event, int]]:
    """Each time an event node of a skeleton is met, and how often it runs then, also 0 times."""
    coming: dict[int, Iterator[int]] = {}
    stack: list[tuple[Sequence[Node], int, int]] = [(nodes, 0, 1)]
    while stack:
        body, at, left = stack.pop()
        if at == len(body):
            if left > 1:
                stack.append((body, 0, left - 1))
            continue
        stack.append((body, at + 1, left))
        node = body[at]
        if id(node) not in coming:
            coming[id(node)] = iter(repeats(node))
        times = next(coming[id(node)])
        if isinstance(node, Event):
            yield node, times
        elif times > 0:
            stack.append((node.nodes, 0, times))
