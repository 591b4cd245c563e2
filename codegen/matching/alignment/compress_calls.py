"""Compress calls of all ranks, given in one order, as the recorder compresses those of one rank (§5.2.2).

Each entry of the order is a symbol: a collective call of several ranks, or another call of one rank. The
recorder's core finds the loops in the sequence of symbols: the skeleton. What each rank does at a node of the
skeleton goes into the elastic values of the new node.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from scalatrace.codegen.matching.alignment.entry_events import EntryComputeTimes, EntryEvent
from scalatrace.codegen.matching.alignment.order import Entry
from scalatrace.core.binding import Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Elastic, Groups
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["compress_calls"]


def compress_calls(trace: Trace, entries: AnySequence[Entry]) -> Trace:
    """The trace whose ranks make these calls, in this order; its tables and header are those of `trace`."""
    symbols, signatures = _symbols(entries)
    loops = _skeleton(symbols, [trace.stack(signature) for signature in signatures])
    entry_events: defaultdict[int, EntryEvent] = defaultdict(EntryEvent)
    times = EntryComputeTimes(trace)
    remaining = zip(entries, symbols, strict=True)
    for event, n in _executions(loops.nodes):
        merged = entry_events[id(event)]
        executed = list(islice(remaining, n))
        merged.add_execution([entry for entry, _ in executed])
        for entry, symbol in executed:
            merged.signature = signatures[symbol]
            times.note(merged, entry, merged.signature)
    ranks_of: dict[int, RankList] = {}
    for node in loops.nodes:
        _participants(node, entry_events, ranks_of)
    preds = times.preds()
    nodes = _nodes_that_run(trace, loops.nodes, trace.ranks, entry_events, ranks_of, times)
    return replace(trace, nodes=nodes, preds=preds)


def _symbols(entries: AnySequence[Entry]) -> tuple[list[int], list[int]]:
    """A number for each entry, equal for those that can be one node; and for each number a signature.

    Collective calls are alike when they come from the same set of lines.
    """
    numbers: dict[tuple[int, frozenset[int], bool], int] = {}
    signatures: list[int] = []
    symbols = []
    for entry in entries:
        first = entry.calls[0].node
        sites = (
            frozenset(call.node.signature for call in entry.calls)
            if entry.collective
            else frozenset([first.signature])
        )
        key = (first.op, sites, entry.collective)
        if key not in numbers:
            numbers[key] = len(signatures)
            signatures.append(first.signature)
        symbols.append(numbers[key])
    return symbols, signatures


def _participants(node: Node, entry_events: dict[int, EntryEvent], ranks_of: dict[int, RankList]) -> RankList:
    if isinstance(node, Event):
        result = entry_events[id(node)].ranks
    else:
        runs = [run for child in node.nodes for run in _participants(child, entry_events, ranks_of).runs]
        result = RankList.from_runs(runs)
    ranks_of[id(node)] = result
    return result


def _nodes_that_run(
    trace: Trace,
    nodes: AnySequence[Node],
    around: RankList,
    entry_events: dict[int, EntryEvent],
    ranks_of: dict[int, RankList],
    times: EntryComputeTimes,
) -> list[Node]:
    """The new nodes that some rank runs: the compressor may leave others, which always run 0 times."""
    return [
        _node(trace, node, around, entry_events, ranks_of, times) for node in nodes if len(ranks_of[id(node)])
    ]


def _node(
    trace: Trace,
    node: Node,
    around: RankList,
    entry_events: dict[int, EntryEvent],
    ranks_of: dict[int, RankList],
    times: EntryComputeTimes,
) -> Node:
    members = ranks_of[id(node)]
    if isinstance(node, Event):
        merged = entry_events[id(node)]
        repeat, op, params = merged.content(trace)
        return Event(
            _keep_present(repeat, members, around), op, merged.signature, params, times.stats(merged)
        )
    inner = _nodes_that_run(trace, node.nodes, members, entry_events, ranks_of, times)
    return Sequence(_keep_present(_repeats(node), members, around), tuple(inner))


def _keep_present(repeat: Elastic, members: RankList, around: RankList) -> Elastic:
    """Return a repeat without absent ranks."""
    return Groups([(members, repeat)]) if isinstance(repeat, Vec) and members != around else repeat


def _skeleton(symbols: AnySequence[int], frames: AnySequence[AnySequence[str]]) -> Trace:
    """A trace of one rank whose walk is the symbols; the smaller of two.

    Args:
        frames: a call stack for each symbol. Where iterations end can be seen from the lines in it, or better
            without them, where calls of several ranks are mixed.
    """
    named = _compress_symbols(symbols, frames)
    plain = _compress_symbols(symbols, [(f"symbol {i}",) for i in range(len(frames))])
    return min(named, plain, key=lambda trace: trace.nnodes)


def _compress_symbols(symbols: AnySequence[int], frames: AnySequence[AnySequence[str]]) -> Trace:
    with Core(0, 1) as core, tempfile.TemporaryDirectory() as folder:
        ops = [core.define_op(f"op{i}", ()) for i in range(len(frames))]
        signatures = [core.define_signature(stack) for stack in frames]
        for symbol in symbols:
            core.append(ops[symbol], (), signatures[symbol])
        core.finish()
        path = Path(folder) / "skeleton.st"
        core.write(path)
        return load(path)


def _repeats(node: Node) -> Vec:
    """How often a node of a skeleton runs, for each execution of the sequence around it."""
    vec = elastic.at(node.repeat, 0)
    assert vec is not None
    return vec


def _executions(nodes: AnySequence[Node]) -> Iterator[tuple[Event, int]]:
    """Each event node, in each execution of the sequence around it, and how often it runs then."""
    repeats: dict[int, Iterator[int]] = {}
    stack: list[tuple[AnySequence[Node], int, int]] = [(nodes, 0, 1)]
    while stack:
        body, at, runs_left = stack.pop()
        if at == len(body):
            if runs_left > 1:
                stack.append((body, 0, runs_left - 1))
            continue
        stack.append((body, at + 1, runs_left))
        node = body[at]
        if id(node) not in repeats:
            repeats[id(node)] = iter(_repeats(node))
        times = next(repeats[id(node)])
        if isinstance(node, Event):
            yield node, times
        elif times > 0:
            stack.append((node.nodes, 0, times))
