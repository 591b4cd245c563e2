"""Check that the tables and nodes of a trace from a file, a text or a program fit together."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence

from scalatrace.operations import Category, operation
from scalatrace.trace.io.members import check_families
from scalatrace.trace.io.ranges import Path, Ranges
from scalatrace.trace.model.elastic import Value, vecs
from scalatrace.trace.model.nodes import Event, Node, Peer, thread_of
from scalatrace.trace.model.tables import Kind, Op, SharedKind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.vec import SPECIAL_MAX, SPECIAL_MIN, UNDEFINED, special_name

__all__ = ["KINDS", "MAX_NODE_DEPTH", "check", "check_schema"]

MAX_NODE_DEPTH = 64
"""Loops within loops that a file, a text and a part may have (core/src/core/unpack.cpp has the same number).

Recorded programs have fewer than 10; recursive commands need a few Python frames per level."""


MAX_THREADS = 1 << 20
"""Threads of a rank; the core has the same limit."""


def check(trace: Trace) -> Trace:
    """Return the trace itself, if its tables and nodes fit together.

    Raises:
        ValueError: names the entry that does not fit.
    """
    _check_tables(trace)
    ranges = Ranges(trace)
    ranges.check_tables()
    _check_nodes(trace, ranges, trace.nodes, ())
    _check_threads(trace)
    return trace


def _check_threads(trace: Trace) -> None:
    numbers = [thread_of(node) for node in trace.nodes]
    streams = [number for number in numbers if number]
    if (
        numbers != sorted(numbers)
        or len(set(streams)) < len(streams)
        or max(streams, default=0) >= MAX_THREADS
    ):
        raise ValueError("the threads of the nodes are not 0 and then rising numbers below 2^20")
    if any(thread_of(node) and any(vec.constant != 1 for vec in vecs(node.repeat)) for node in trace.nodes):
        raise ValueError("the calls of a thread are repeated")
    if any(family >= len(trace.comms) for family in trace.turns):
        raise ValueError("an order of threads is of a missing communicator")
    for (kind, name), order in trace.uses.items():
        if name >= (MAX_THREADS if kind is SharedKind.REQUEST else len(trace.comms)):
            raise ValueError("an order of threads is of an object of a missing thread or communicator")
        for vec in vecs(order):
            low = vec.smallest()
            if low is None or low < 0:
                raise ValueError("an order of threads on an object is negative")


def _check_tables(trace: Trace) -> None:
    if not trace.signatures or trace.signatures[0] != ():
        raise ValueError("signature 0 is not empty")
    if any(frame >= len(trace.frames) for frames in trace.signatures for frame in frames):
        raise ValueError("a signature refers to a missing frame")
    if not trace.preds or trace.preds[0] != START or START in trace.preds[1:]:
        raise ValueError("predecessor 0, and only that one, must be the start of the program")
    for op, signature in trace.preds[1:]:
        if not (0 <= op < len(trace.ops) and signature < len(trace.signatures)):
            raise ValueError("a predecessor refers to a missing operation or signature")
    for family in trace.comms:
        if not -1 <= family.parent < len(trace.comms):
            raise ValueError(f"communicator family {family.kind!r} refers to a missing parent")
    check_families(trace)
    _check_names(trace)
    _check_sums(trace)


def _check_sums(trace: Trace) -> None:
    """Sums of a relative array are stored by the index of that array, which has to come before."""
    plain = set()
    for i, array in enumerate(trace.arrays):
        if not array.summed:
            plain.add((array.length, array.vec, array.relative))
        elif array.relative and (array.length, array.vec, True) not in plain:
            raise ValueError(f"array {i} is of sums of a relative array that does not come before it")


def _check_names(trace: Trace) -> None:
    if len({op.name for op in trace.ops}) != len(trace.ops):
        raise ValueError("two operations have the same name")
    if len({stat.name for stat in trace.stats}) != len(trace.stats):
        raise ValueError("two statistics have the same name")
    for op in trace.ops:
        check_schema(op)
        if len({name for name, _ in op.params}) != len(op.params):
            raise ValueError(f"{op.name} has two parameters with the same name")
    if len(trace.load) not in (0, len(trace.stats)):
        raise ValueError("the load does not have one entry per statistic")


def _check_nodes(trace: Trace, ranges: Ranges, nodes: AnySequence[Node], path: Path) -> None:
    if len(path) > MAX_NODE_DEPTH:
        raise ValueError(f"nodes are nested too deeply: more than {MAX_NODE_DEPTH} levels")
    for node in nodes:
        below = (*path, node.repeat)
        if isinstance(node, Event):
            _check_event(trace, node)
            ranges.check(node, below)
        else:
            if path and node.thread:
                raise ValueError("the calls of a thread are inside other nodes")
            ranges.check_repeat(node.repeat)
            _check_nodes(trace, ranges, node.nodes, below)


def _check_event(trace: Trace, event: Event) -> None:
    if not 0 <= event.op < len(trace.ops) or not 0 <= event.signature < len(trace.signatures):
        raise ValueError("an event refers to a missing operation or signature")
    schema = trace.ops[event.op].params
    peers = [hasattr(param, "encoding") for param in event.params]
    if peers != [kind is Kind.PEER for _, kind in schema]:
        raise ValueError(f"an event of {trace.ops[event.op].name} has parameters that do not fit its schema")
    for stats in event.stats:
        if not 0 <= stats.pred < len(trace.preds) or len(stats.histograms) != len(trace.stats):
            raise ValueError(
                f"the statistics of an event of {trace.ops[event.op].name} do not fit the tables"
            )
    for (name, kind), param in zip(schema, event.params, strict=True):
        if kind in _TABLES and not isinstance(param, Peer):
            _check_indices(trace, param, kind, f"parameter {name!r} of {trace.ops[event.op].name}")


_TABLES = {
    Kind.COMM: ("communicator", "comms"),
    Kind.TYPE: ("datatype", "types"),
    Kind.STRING: ("string", "strings"),
    Kind.ARRAY: ("array", "arrays"),
}
"""Kind of a parameter that is an index -> what it is an index of, and where that is."""


def _check_indices(trace: Trace, value: Value, kind: Kind, where: str) -> None:
    entry_name, table = _TABLES[kind]
    size = len(getattr(trace, table))
    for vec in vecs(value):
        if (low := vec.smallest()) is None or low < 0:
            for symbol in range(SPECIAL_MIN, SPECIAL_MAX):
                if symbol != UNDEFINED and vec.find(symbol) is not None:
                    raise ValueError(f"{where}: {special_name(symbol) or symbol} is no {entry_name}")
        for index in vec.ends():
            if not 0 <= index < size:
                raise ValueError(f"{where}: there is no {entry_name} {index}: the table has {size}")


_NAMES = {
    Kind.INT: "color count disp disp_unit fh flag high in_place indegree index key length local_leader"
    " maxprocs message n ndims nnodes offset origin_count outdegree partition partition_high partition_low"
    " partitions rank recvcount recvtag remote_leader reorder request result_count root sendcount sendtag"
    " size source tag target_count target_disp win",
    Kind.PEER: "dest local_leader rank source target_rank",
    Kind.COMM: "comm newcomm peer_comm",
    Kind.TYPE: "datatype etype filetype origin_datatype recvtype recvtypes result_datatype sendtype sendtypes"
    " target_datatype",
    Kind.STRING: "amode assert command datarep error filename lock_type memory op port_name split_type"
    " stringtag whence",
    Kind.ARRAY: "array_of_maxprocs array_of_partitions degrees destinations destweights dims displs edges"
    " group index local_group periods rdispls recvcounts remain_dims remote_group requests sdispls sendcounts"
    " sources sourceweights weights",
}
KINDS: dict[str, set[Kind]] = {}
"""Parameter -> its kinds; a few names are of another kind in queries, or in one more operation."""
for _kind, _words in _NAMES.items():
    for _name in _words.split():
        KINDS.setdefault(_name, set()).add(_kind)

NUMBERED_PER_COMM = {"win", "fh"}
"""Windows and files are known by how many were made before on their communicator."""


def check_schema(op: Op) -> None:
    """Raise ValueError where a schema contradicts the standard's parameters of its operation, or itself."""
    names = {name for name, _ in op.params}
    if "comm" not in names and (numbered := names & NUMBERED_PER_COMM):
        raise ValueError(f"{op.name} has {min(numbered)}, but not the communicator that this is numbered on")
    row = operation(op.name)
    if row.category is Category.OTHER:
        return  # not of the standard
    peers = row.peers
    for name, kind in op.params:
        expected = {Kind.PEER} if name in peers else KINDS.get(name, {kind})
        if kind not in expected:
            wanted = " or ".join(sorted(expected_kind.name for expected_kind in expected))
            raise ValueError(f"parameter {name} of {op.name} is of kind {kind.name}, not {wanted}")
