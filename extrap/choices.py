"""Put choices that depend on timing into a canonical order.

Which of several requests MPI_Waitany or MPI_Testany completes first differs from run to run. Where a program
does nothing but wait until all of them are complete, their order does not matter: here it is that of the
array. The calls are compressed again.

    recorded     Waitany [3 2 1 0] -> 2     Waitany [2 1 - 0] -> 0     Waitall [- 1 - 0]
    canonical    Waitany [3 2 1 0] -> 0     Waitany [- 2 1 0] -> 1     Waitall [- - 1 0]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.operations import operation
from scalatrace.trace.io.reader import load
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event, Node, PredStats
from scalatrace.trace.model.nodes import Sequence as NodeSequence
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.query.requests import ENDING, OF_ALL
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import UNDEFINED

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["CHOICES", "CHOOSING", "ArrayTable", "Completion", "canonical", "canonical_completions"]

MAX_CALLS = 1 << 20
"""Calls of a trace that are looked at one by one; a larger trace stays as it is."""

CHOICES = "choices"
"""Entry of the header of a trace with choices in a canonical order."""


CHOOSING = ("Waitany", "Testany")
"""Operations that complete one of several requests; polls in vain are no calls of a trace."""


def canonical(trace: Trace) -> Trace:
    """Return the trace with requests of MPI_Waitany and MPI_Testany completed in the order of their array.

    Returns:
        The trace itself where it has no such choices, where their order may matter on a rank
        (`canonical_completions`), or where it has too many calls.
    """
    if not any(op.name in CHOOSING for op in trace.ops) or trace.nevents() > MAX_CALLS:
        return trace
    calls = {rank: list(trace.walk(rank)) for rank in trace.ranks}
    completions_of = {rank: canonical_completions(calls_of_rank) for rank, calls_of_rank in calls.items()}
    arrays = list(trace.arrays)
    values: dict[int, list[tuple[int, ...]]] = {}
    table = ArrayTable(arrays)
    for rank, completions in completions_of.items():
        if completions is None:
            return trace
        values[rank] = [_values(call, completions.get(n), table) for n, call in enumerate(calls[rank])]
    if all(call.values == new for rank in calls for call, new in zip(calls[rank], values[rank], strict=True)):
        return trace
    rewriter = _Rewriter(trace, calls)
    meta = {**trace.meta, CHOICES: "Waitany and Testany in the order of the requests"}
    return replace(trace, nodes=rewriter.nodes(values), arrays=arrays, meta=meta)


def _values(call: Call, completion: Completion | None, arrays: ArrayTable) -> tuple[int, ...]:
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
            compressed = load(Path(folder) / "trace.st")
        return [self._ours(compressed, node) for node in compressed.nodes]

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
            return NodeSequence(node.repeat, tuple(self._ours(made, child) for child in node.nodes))
        op = int(made.ops[node.op].name.removeprefix("op"))
        signature = self._signatures[made.stack(node.signature)]
        return Event(node.repeat, op, signature, node.params, tuple(self._next_stats(op, signature)))

    def _next_stats(self, op: int, signature: int) -> Iterator[PredStats]:
        """Yield the times of the next original node of a call site; of its last one all that are left."""
        waiting = self._stats[op, signature]
        if waiting:
            yield from waiting.pop(0)


@dataclass(frozen=True, slots=True)
class Completion:
    """New parameters of a call: the ages of its requests, and the one that it completes (None: all)."""

    requests: tuple[int, ...]
    index: int | None


class _NoChoice(Exception):  # noqa: N818 - it is no error
    """Internal signal: the program may depend on the order in which requests are completed."""


def canonical_completions(calls: Sequence[Call]) -> dict[int, Completion] | None:
    """Return the parameters of the calls of one rank in canonical order, by call number.

    Returns:
        None: the order may matter, since the program makes other calls before all requests are complete, or
        it tests requests, or completes some of them, or they are persistent.
    """
    state = _Requests()
    try:
        for number, call in enumerate(calls):
            state.add(number, call)
        state.check_equal()
    except _NoChoice:
        return None
    return state.found


class _Requests:
    """The live requests of a rank, in order of their creation: as recorded, and in the canonical order."""

    def __init__(self) -> None:
        self.found: dict[int, Completion] = {}
        self._count = 0
        self._recorded: list[int] = []
        self._canonical: list[int] = []
        self._array: tuple[int | None, ...] = ()

    def add(self, number: int, call: Call) -> None:
        """Follow the next call. Raises _NoChoice."""
        row = operation(call.op)
        if "requests" in call and call.op in ENDING:
            self._complete(number, call)
            return
        self.check_equal()
        if row.makes_request:
            if row.flow_later:
                raise _NoChoice
            self._count += 1
            self._recorded.append(self._count)
            self._canonical.append(self._count)
        elif call.op == "Wait":
            self._end(self._ids((call["request"],)), self._ids((call["request"],)))
        elif "request" in call or "requests" in call:
            raise _NoChoice

    def check_equal(self) -> None:
        """Raise _NoChoice when other requests are complete than in the recorded order."""
        if len(self._recorded) != len(self._canonical) or self._recorded != self._canonical:
            raise _NoChoice

    def _complete(self, number: int, call: Call) -> None:
        ids = self._ids(call["requests"])
        if self._recorded == self._canonical:
            self._array = ids
        elif not self._continues(ids):
            raise _NoChoice
        active = [at for at, request in enumerate(self._array) if request in self._canonical]
        requests = tuple(self._age(request) for request in self._array)
        if call.op in OF_ALL:
            self.found[number] = Completion(requests, None)
            self._end(ids, tuple(self._array[at] for at in active))
        elif call.op in CHOOSING and call["index"] >= 0:
            self.found[number] = Completion(requests, active[0])
            self._end((ids[call["index"]],), (self._array[active[0]],))
        elif call.op not in CHOOSING or active:
            raise _NoChoice

    def _continues(self, given: Sequence[int | None]) -> bool:
        """Return whether these are requests of the same array as before, some of them complete by now."""
        return len(given) == len(self._array) and all(
            request in (None, before) for request, before in zip(given, self._array, strict=True)
        )

    def _ids(self, ages: Sequence[int]) -> tuple[int | None, ...]:
        count = len(self._recorded)
        return tuple(self._recorded[count - 1 - age] if 0 <= age < count else None for age in ages)

    def _age(self, request: int | None) -> int:
        if request not in self._canonical:
            return UNDEFINED
        return len(self._canonical) - 1 - self._canonical.index(request)

    def _end(self, recorded: Sequence[int | None], canonical: Sequence[int | None]) -> None:
        self._recorded = [one for one in self._recorded if one not in recorded]
        self._canonical = [one for one in self._canonical if one not in canonical]


class ArrayTable:
    """The arrays of a trace, and new ones."""

    def __init__(self, arrays: list[IntArray]) -> None:
        self.arrays = arrays
        self._index: dict[tuple[int, ...], int] = {}
        for i, array in enumerate(arrays):
            if not array.summed:
                self._index.setdefault(array.values, i)

    def index(self, values: tuple[int, ...]) -> int:
        """Return the index of an array; add the array if it is new."""
        if values not in self._index:
            self._index[values] = len(self.arrays)
            self.arrays.append(IntArray(len(values), vec_of(values)))
        return self._index[values]
