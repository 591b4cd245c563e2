"""What a rank communicates, as coNCePTuaL says it: messages between ranks of MPI_COMM_WORLD, and the
collectives of Table 4.1. Both sides are counted so: the application's trace and that of its benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from scalatrace import Trace
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.operations import Category, operation
from scalatrace.trace.query.requests import started

Key = tuple[str, int, int]
"""Messages: "message", receiver, bytes. Collectives: step, ranks of the communicator, bytes or -1."""

STEPS = {
    "barrier": "Barrier",
    "multicast": "Bcast",
    "multicast all": "Bcast",
    "reduce": "Reduce",
    "reduce to all": "Allreduce",
    "all to all": "Alltoall",
}
EXACT = {"Bcast", "Reduce", "Allreduce"}
"""Collectives whose sizes stay what they are; those of the others are means, of both sides."""


def communicated(trace: Trace, rank: int) -> Counter[Key]:
    """What a rank sends, and the collectives that it takes part in."""
    result: Counter[Key] = Counter()
    for call in trace.walk(rank):
        result.update(_of(call, rank))
    for _, call, n in started(trace, rank):
        for key in _sent(call, rank):
            result[key] += n
    return result


def _of(call: Any, rank: int) -> Iterator[Key]:
    row = operation(call.op)
    if row.category in (Category.SEND, Category.SENDRECV):
        yield from _sent(call, rank)
    elif blocking_form(call.op) in PATTERNS and len(call.comm.peers) > 1:
        yield from _collective(call)


def _sent(call: Any, rank: int) -> Iterator[Key]:
    row = operation(call.op)
    if row.sends is None or not row.sends.peer or call[row.sends.peer] < 0:
        return
    nbytes = max(0, call[row.sends.count]) * call[row.sends.datatype].size
    yield "message", call.comm.peers[call[row.sends.peer]], nbytes


def _collective(call: Any) -> Iterator[Key]:
    n, op = len(call.comm.peers), blocking_form(call.op)
    for step in PATTERNS[op]:
        if step == "reduce to each":
            for _ in range(n):
                yield "Reduce", n, -1
            continue
        name = STEPS[step]
        exact = op in EXACT and name in EXACT
        nbytes = call["count"] * call["datatype"].size if exact else -1
        yield name, n, -(-nbytes // 4) if exact and name != "Bcast" else nbytes


def differing(app: Trace, bench: Trace) -> list[int]:
    """The ranks that communicate something else; the benchmark's own barriers and reports do not count."""
    return [rank for rank in range(app.nprocs) if _differ(communicated(app, rank), communicated(bench, rank))]


def _differ(app: Counter[Key], bench: Counter[Key]) -> bool:
    wild = {(name, n) for name, n, nbytes in app if nbytes < 0}

    def plain(found: Counter[Key]) -> Counter[Key]:
        made: Counter[Key] = Counter()
        for (name, n, nbytes), times in found.items():
            made[name, n, -1 if (name, n) in wild and name != "message" else nbytes] += times
        return made

    more = plain(bench)
    more.subtract(plain(app))
    left = {key: times for key, times in more.items() if times and key[0] != "Barrier"}
    return bool(left)
