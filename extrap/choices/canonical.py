"""The trace of a program with its choices in a canonical order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.extrap.choices.arrays import Arrays
from scalatrace.extrap.choices.completions import CHOOSING, Completion, canonical_completions
from scalatrace.trace.io.reader import load
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event, Node, PredStats, Sequence
from scalatrace.trace.model.tables import Kind

if TYPE_CHECKING:
    from scalatrace import Trace

MAX_CALLS = 1 << 20
"""Calls of a trace that are looked at one by one; a larger trace stays as it is."""

CHOICES = "choices"
"""Entry of the header of a trace with choices in a canonical order."""

__all__ = ["CHOICES", "canonical"]


def canonical(trace: Trace) -> Trace:
    """Return the trace with requests of MPI_Waitany and MPI_Testany completed in the order of their array.

    Returns:
        The trace itself where it has no such choices, where their order may matter on a rank
        (`canonical_completions`), or where it has too many calls.
    """
    if not any(op.name in CHOOSING for op in trace.ops) or trace.nevents() > MAX_CALLS:
        return trace
    calls = {rank: list(trace.walk(rank)) for rank in trace.ranks}
    found = {rank: canonical_completions(some) for rank, some in calls.items()}
    arrays = list(trace.arrays)
    values: dict[int, list[tuple[int, ...]]] = {}
    table = Arrays(arrays)
    for rank, completions in found.items():
        if completions is None:
            return trace
        values[rank] = [_values(call, completions.get(n), table) for n, call in enumerate(calls[rank])]
    if all(call.values == new for rank in calls for call, new in zip(calls[rank], values[rank], strict=True)):
        return trace
    rewriter = _Rewriter(trace, calls)
    meta = {**trace.meta, CHOICES: "Waitany and Testany in the order of the requests"}
    return replace(trace, nodes=rewriter.nodes(values), arrays=arrays, meta=meta)


def _values(call: Call, completion: Completion | None, arrays: Arrays) -> tuple[int, ...]:
    """Return the stored parameters of a call, with those of its completion."""
    if completion is None:
        return call.values
    new: dict[str, int] = {}
    if completion.requests != call["requests"]:
        new["requests"] = arrays.index(completion.requests)
    if completion.index is not None:
        new["index"] = completion.index
    names = (name for name, _ in call.place.op.params)
    return tuple(new.get(name, value) for name, value in zip(names, call.values, strict=True))


class _Rewriter:
    """Compresses the calls of all ranks again; tables and communicators keep their numbers."""

    def __init__(self, trace: Trace, calls: Mapping[int, list[Call]]) -> None:
        self.trace, self.calls = trace, calls
        self._ops: dict[str, int] = {}
        self._signatures: dict[tuple[str, ...], int] = {}
        self._stats: dict[tuple[int, int], list[tuple[PredStats, ...]]] = defaultdict(list)
        for leaf in trace.leaves():
            self._stats[leaf.op, leaf.signature].append(leaf.stats)

    def nodes(self, values: Mapping[int, list[tuple[int, ...]]]) -> list[Node]:
        """Return the nodes of calls with these parameters."""
        cores = [self._core(rank, values[rank]) for rank in sorted(values)]
        step = 1
        while step < len(cores):
            for at in range(0, len(cores) - step, 2 * step):
                cores[at].merge(cores[at + step].pack())
            step *= 2
        with TemporaryDirectory() as folder:
            cores[0].write(Path(folder) / "trace.st", compress=False)
            for core in cores:
                core.close()
            made = load(Path(folder) / "trace.st")
        return [self._ours(made, node) for node in made.nodes]

    def _core(self, rank: int, values: list[tuple[int, ...]]) -> Core:
        core = Core(rank, self.trace.nprocs)
        core.define_comm(COMM_WORLD, 0, "world", range(self.trace.nprocs))
        for call, stored in zip(self.calls[rank], values, strict=True):
            name = str(call.node.op)  # operations of one name may have other parameters
            kinds = [(n, kind if kind is Kind.PEER else Kind.INT) for n, kind in call.place.op.params]
            op = core.define_op(f"op{name}", kinds)
            self._signatures[call.stack] = call.node.signature
            comm = self.trace.communicator(call.family, rank)
            signature = core.define_signature(call.stack)
            core.append(op, stored, signature, max(comm.rank, 0), max(len(comm.peers), 1))
        core.finish()
        return core

    def _ours(self, made: Trace, node: Node) -> Node:
        """Return a node in terms of the original tables."""
        if not isinstance(node, Event):
            return Sequence(node.repeat, tuple(self._ours(made, child) for child in node.nodes))
        op = int(made.ops[node.op].name.removeprefix("op"))
        signature = self._signatures[made.stack(node.signature)]
        return Event(node.repeat, op, signature, node.params, tuple(self._next_stats(op, signature)))

    def _next_stats(self, op: int, signature: int) -> Iterator[PredStats]:
        """Yield the times of the next original node of a call site; of its last one all that are left."""
        waiting = self._stats[op, signature]
        if waiting:
            yield from waiting.pop(0)
