"""Collective calls from several lines become one (dissertation §4.4.3, Algorithm 2).

    if rank == 0: work(); comm.Barrier()          work() on rank 0
    else:         comm.Barrier(); rest()     ->   comm.Barrier() on all ranks
                                                  rest() on the others

The trace is put into one order in which each collective call is one entry (`order.py`), that order is
compressed as the recorder compresses a rank's calls (`skeleton.py`), and what each rank does there goes into
the elastic values. So a collective is one node over all members in every iteration, whatever lines, loops and
branches it came from. Each rank makes the same calls in the same order with the same parameters; only the
call site of what was combined is now that of its lowest rank. Times go along: histograms are pooled or shared
out as calls are.

Costs: O(nodes) when nothing is to combine; else one step per call, as Algorithm 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence as AnySequence
from dataclasses import replace
from itertools import islice

from scalatrace.codegen.matching.alignment.aligned import misaligned
from scalatrace.codegen.matching.alignment.entry_events import EntryComputeTimes, EntryEvent
from scalatrace.codegen.matching.alignment.order import CollectiveOrder, Entry
from scalatrace.codegen.matching.alignment.skeleton import collectives, repeats, skeleton
from scalatrace.trace.model.elastic import Elastic, Groups
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.explicit import explicit
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["align_collectives", "compressed", "needs_alignment"]


def align_collectives(trace: Trace) -> Trace:
    """The trace with every collective call in one node for all members; the same object when it is like that.

    Raises:
        DeadlockError: members of a communicator make its collective calls in different orders, or not all do.
        CoreError: the native core, which compresses, is missing.
    """
    trace = explicit(trace)
    if not needs_alignment(trace):
        return trace
    return compressed(trace, list(CollectiveOrder(trace).entries()))


def needs_alignment(trace: Trace) -> bool:
    """Whether members of a communicator are missing in a collective node; in O(nodes)."""
    trace = explicit(trace)
    return next(misaligned(trace), None) is not None


def compressed(trace: Trace, entries: AnySequence[Entry]) -> Trace:
    """The trace whose ranks make these calls, in this order; its tables and header are those of another."""
    symbols, signatures = _symbols(entries)
    loops = skeleton(symbols, [trace.stack(signature) for signature in signatures])
    entry_events: defaultdict[int, EntryEvent] = defaultdict(EntryEvent)
    times = EntryComputeTimes(trace)
    coming = zip(entries, symbols, strict=True)
    for event, n in collectives(loops.nodes):
        merged = entry_events[id(event)]
        entered = list(islice(coming, n))
        merged.meet([entry for entry, _ in entered])
        for entry, symbol in entered:
            merged.signature = signatures[symbol]
            times.note(merged, entry, merged.signature)
    there: dict[int, RankList] = {}
    for node in loops.nodes:
        _participants(node, entry_events, there)
    preds = times.preds()
    nodes = [_node(trace, node, trace.ranks, entry_events, there, times) for node in _run(loops.nodes, there)]
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


def _participants(node: Node, entry_events: dict[int, EntryEvent], there: dict[int, RankList]) -> RankList:
    if isinstance(node, Event):
        result = entry_events[id(node)].ranks
    else:
        runs = [run for child in node.nodes for run in _participants(child, entry_events, there).runs]
        result = RankList.from_runs(runs)
    there[id(node)] = result
    return result


def _run(nodes: AnySequence[Node], there: dict[int, RankList]) -> list[Node]:
    """The nodes that any rank runs: the compressor may leave some that run 0 times each time they are met."""
    return [node for node in nodes if len(there[id(node)])]


def _node(
    trace: Trace,
    node: Node,
    around: RankList,
    entry_events: dict[int, EntryEvent],
    there: dict[int, RankList],
    times: EntryComputeTimes,
) -> Node:
    here = there[id(node)]
    if isinstance(node, Event):
        merged = entry_events[id(node)]
        repeat, op, params = merged.content(trace)
        return Event(_named(repeat, here, around), op, merged.signature, params, times.stats(merged))
    inner = tuple(_node(trace, child, here, entry_events, there, times) for child in _run(node.nodes, there))
    return Sequence(_named(repeats(node), here, around), inner)


def _named(repeat: Elastic, here: RankList, around: RankList) -> Elastic:
    """Return a repeat without absent ranks."""
    return Groups([(here, repeat)]) if isinstance(repeat, Vec) and here != around else repeat
