"""Compress the remaining calls of a rank again, like the recorder.

A dropped call may have prevented a loop. So the remaining calls are appended to the recorder's core, without
times; times are kept per event node and predecessor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.extrap.alignment.rank_tree import RankNode, rank_tree
from scalatrace.extrap.choices import ArrayTable
from scalatrace.extrap.lossy.calls import Calls
from scalatrace.extrap.lossy.links import requests_of
from scalatrace.extrap.lossy.repair import Repair
from scalatrace.trace.io.reader import load
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Value
from scalatrace.trace.model.nodes import Event, Param, Peer, PredStats
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import PROC_NULL, Vec

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Overrides", "Tree", "list_overrides", "recompress_rank"]


Overrides = dict[int, dict[str, int]]
"""Call -> parameter -> its new value, as stored."""


@dataclass(frozen=True)
class Tree:
    """The remaining calls of a rank as a tree.

    Attributes:
        calls: id of an event node in `nodes` -> the numbers of its calls, in order.
    """

    nodes: tuple[RankNode, ...]
    calls: dict[int, list[int]]


def recompress_rank(calls: Calls, rank: int, kept: Sequence[int], new: Overrides) -> Tree:
    """Return the tree of a rank's remaining calls, with their new parameters."""
    if not kept:
        return Tree((), {})
    compressed = _compress(calls, rank, kept, new)
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, call in zip(kept, compressed.walk(rank), strict=True):
        numbers[id(call.node)].append(number)
    result: dict[int, list[int]] = {}
    before = dict(zip(kept, (-1, *kept), strict=False))
    nodes = tuple(_ours(local, calls, before, numbers, result) for local in rank_tree(compressed, rank))
    return Tree(nodes, result)


def _compress(calls: Calls, rank: int, kept: Sequence[int], new: Overrides) -> Trace:
    """The trace of one rank. Tables and communicators stay as they are: only their numbers are compressed."""
    trace = calls.trace
    with Core(rank, trace.nprocs) as core:
        core.define_comm(COMM_WORLD, 0, "world", range(trace.nprocs))
        ops: dict[int, int] = {}
        signatures: dict[int, int] = {}
        for number in kept:
            call = calls.calls[number]
            op, signature = call.node.op, call.node.signature
            if op not in ops:
                ops[op] = core.define_op(call.op, [_as_number(*param) for param in call.place.op.params])
            if signature not in signatures:
                signatures[signature] = core.define_signature(call.stack)
            values = call.values
            if number in new:
                named = zip(call.place.op.params, values, strict=True)
                values = tuple(new[number].get(name, value) for (name, _), value in named)
            comm = trace.communicator(call.family, rank)
            core.append(ops[op], values, signatures[signature], max(comm.rank, 0), max(len(comm.peers), 1))
        core.finish()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rank.st"
            core.write(path, compress=False)
            return load(path)


def _as_number(name: str, kind: Kind) -> tuple[str, Kind]:
    """Return the name and kind of a parameter whose indices are compressed as plain numbers."""
    return (name, kind) if kind in (Kind.PEER, Kind.INT) else (f"{name}_index", Kind.INT)


def _ours(
    local: RankNode,
    calls: Calls,
    before: dict[int, int],
    numbers: dict[int, list[int]],
    numbers_of_event: dict[int, list[int]],
) -> RankNode:
    """Return a node in terms of the whole trace."""
    if local.event is None:
        children = tuple(_ours(child, calls, before, numbers, numbers_of_event) for child in local.children)
        return replace(local, children=children)
    mine = numbers[id(local.event)]
    first = calls.calls[mine[0]]
    event = Event(
        local.repeat,
        first.node.op,
        first.node.signature,
        tuple(_param(param, first.rank) for param in local.event.params),
        tuple(_stats(calls, before, mine)),
    )
    numbers_of_event[id(event)] = mine
    return replace(local, event=event)


def _stats(calls: Calls, before: dict[int, int], mine: Sequence[int]) -> Iterator[PredStats]:
    """Yield the times of these calls, after the call that stands before each now."""
    known: set[tuple[int, int, int]] = set()
    for number in mine:
        call, last = calls.calls[number], before[number]
        pred = 0 if last < 0 else calls.pred_of(last)
        key = id(call.node), call.pred, pred
        if key not in known:
            known.add(key)
            yield from (replace(stats, pred=pred) for stats in call.node.stats if stats.pred == call.pred)


def _param(param: Param, rank: int) -> Param:
    if isinstance(param, Peer):
        return Peer(param.encoding, _vec(param.value, rank))
    return _vec(param, rank)


def _vec(value: Value, rank: int) -> Vec:
    vec = elastic.at(value, rank)
    assert vec is not None  # the trace has this rank only
    return vec


def list_overrides(repair: Repair, means: Overrides, arrays: ArrayTable) -> Overrides:
    """Return the new parameters of the remaining calls, with counts that are means."""
    result: Overrides = defaultdict(dict)
    for number, values in means.items():
        if repair.calls.kept(number):
            result[number].update(values)
    for number, names in repair.nulled.items():
        if repair.calls.kept(number):
            result[number].update(dict.fromkeys(names, PROC_NULL))
    if repair.calls.marks.any():
        for rank in range(repair.calls.trace.nprocs):
            _requests(repair, rank, arrays, result)
    return result


def _requests(repair: Repair, rank: int, arrays: ArrayTable, overrides: Overrides) -> None:
    """Requests by their new ages, in the calls of one rank."""
    calls = repair.calls
    for number, live, _ in requests_of(calls, rank):
        if calls.kept(number):
            call = calls.calls[number]
            _renumber_requests(
                calls.trace.ops[call.node.op].params, call, repair, live, arrays, overrides[number]
            )


def _renumber_requests(
    params: tuple[tuple[str, Kind], ...],
    call: Call,
    repair: Repair,
    live: Sequence[int],
    arrays: ArrayTable,
    new: dict[str, int],
) -> None:
    kept = [repair.calls.kept(maker) for maker in live]
    newer = [0] * (len(live) + 1)  # how many kept ones are newer than the one at a position
    for at in range(len(live) - 1, -1, -1):
        newer[at] = newer[at + 1] + kept[at]
    n = len(live)

    def age(old: int) -> int | None:
        if not 0 <= old < n:
            return old
        at = n - 1 - old
        return newer[at + 1] if kept[at] else None

    if "request" in call:
        new_age = age(call["request"])
        if new_age is not None and new_age != call["request"]:
            new["request"] = new_age
        return
    old = tuple(call["requests"])
    new_ages = [age(old_age) for old_age in old]
    ages = tuple(new_age for new_age in new_ages if new_age is not None)
    if ages != old:
        new["requests"] = arrays.index(ages)
    index = call.get("index", -1)
    if index >= 0 and len(ages) < len(old):
        new["index"] = index - sum(new_age is None for new_age in new_ages[:index])
    for name, kind in params:
        if name in ("count", "incount") and kind is Kind.INT and call.raw(name) == len(old):
            new[name] = len(ages)
