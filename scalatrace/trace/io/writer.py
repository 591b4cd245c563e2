"""Write trace files from Python, for the text form, extrapolation and tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from os import PathLike
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.errors import ScalatraceError
from scalatrace.files import write_file
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.symbolic import pack_formulas
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.nodes import Event, Node, Param, Peer, PredStats
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.tables import TIMES, Family, IntArray, Op, RecordedStat, UseName
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.histogram_columns import ColumnWriter, rounded

__all__ = ["dumps", "pack_payload", "save"]


def save(trace: Trace | SymbolicTrace, path: str | PathLike[str], compress: bool = True) -> int:
    """Write a trace file in one step, so that no reader ever sees half of it; return its size in bytes.

    Args:
        trace: what was read from a file or a text is the same when it is read again. Times with more digits
            than a file has, such as computed ones, are rounded as recorded ones.
        compress: deflate it.

    Raises:
        ScalatraceError: the file cannot be written, or a value does not fit the format.
    """
    return write_file(path, dumps(trace, compress))


def dumps(trace: Trace | SymbolicTrace, compress: bool = True) -> bytes:
    """Return the bytes of a trace's file, which `reader` reads. Raises ScalatraceError as `save`."""
    if isinstance(trace, SymbolicTrace):
        return pack_container(pack_formulas(trace), compress, symbolic=True)
    return pack_container(pack_payload(trace), compress, streams=trace.has_streams)


def pack_payload(trace: Trace) -> bytes:
    """Return the msgpack payload of a trace. Raises ScalatraceError if an integer exceeds 64 bits."""
    try:
        return bytes(msgpack.packb(_payload(trace), unicode_errors="surrogateescape"))
    except (OverflowError, TypeError, ValueError) as error:
        raise ScalatraceError(f"the trace cannot be stored: {error}") from None


def _arrays(arrays: Sequence[IntArray]) -> Iterator[tuple[Any, ...]]:
    """Yield each array; of sums, the index of what they are the sums of, if that comes before."""
    first_index: dict[IntArray, int] = {}
    for i, array in enumerate(arrays):
        first_index.setdefault(array, i)
        if not array.summed:
            yield (array.length, array.vec.terms, 1)[: 2 + array.relative]
            continue
        plain = first_index.get(IntArray(array.length, array.vec, relative=array.relative))
        if plain is None and array.relative:
            raise ValueError(f"array {i} is of sums of a relative one that does not come before it")
        yield (array.length, vec_of(array.values).terms) if plain is None else (plain,)


def _payload(trace: Trace) -> dict[str, Any]:
    columns = ColumnWriter()
    nodes = [_node(node, trace.stats, columns) for node in trace.nodes]
    return {
        "nprocs": trace.nprocs,
        "ranks": trace.ranks.terms,
        "meta": trace.meta,
        "ops": [_op(op) for op in trace.ops],
        "stats": [(stat.name, stat.resolution) for stat in trace.stats],
        "frames": trace.frames,
        "signatures": signatures(trace.signatures),
        "comms": [_family(family) for family in trace.comms],
        "types": [(t.description, t.size, t.extent) for t in trace.types],
        "strings": trace.strings,
        "arrays": list(_arrays(trace.arrays)),
        "preds": trace.preds,
        "counts": trace.counts,
        "load-between" if trace.load_between else "load": [
            None if vec is None else {LOAD_STEPS: vec.terms} for vec in trace.load
        ],
        **({"histograms": columns.columns} if any(columns.columns) else {}),
        **({"turns": list(map(_turns, trace.turns.items()))} if trace.turns else {}),
        **({"uses": list(map(_uses, trace.uses.items()))} if trace.uses else {}),
        "nodes": nodes,
    }


def signatures(stacks: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return each signature as the number of frames shared with the one before, and the other frames."""
    out = []
    before: tuple[int, ...] = ()
    for stack in stacks:
        pairs = zip(reversed(stack), reversed(before), strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        out.append((shared, *stack[: len(stack) - shared]))
        before = stack
    return out


def _op(op: Op) -> tuple[str, list[Any]]:
    return op.name, [part for name, kind in op.params for part in (name, int(kind))]


def _family(family: Family) -> tuple[Any, ...]:
    local = (family.kind, family.parent, family.sizes.terms, family.members.terms)
    if family.remote_sizes is None or family.remote_members is None:
        return local
    return (*local, family.remote_sizes.terms, family.remote_members.terms)


def _node(node: Node, measured: Sequence[RecordedStat], columns: ColumnWriter) -> tuple[Any, ...]:
    repeat = elastic.encode(node.repeat)
    if not isinstance(node, Event):
        inner = tuple(_node(child, measured, columns) for child in node.nodes)
        return (repeat, inner, node.thread) if node.thread else (repeat, inner)
    stats = tuple(_stats(row, measured, columns) for row in node.stats)
    return repeat, node.op, node.signature, tuple(map(_param, node.params)), stats


def _turns(item: tuple[int, Elastic]) -> tuple[int, Any]:
    return item[0], elastic.encode(item[1])


def _uses(item: tuple[UseName, Elastic]) -> tuple[int, int, Any]:
    (kind, name), order = item
    return int(kind), name, elastic.encode(order)


def _stats(stats: PredStats, measured: Sequence[RecordedStat], columns: ColumnWriter) -> tuple[Any, ...]:
    """Histograms of times in columns; the numbers of other statistics may be names, such as ranks."""
    pairs = zip(measured, stats.histograms, strict=True)
    return stats.pred, *(h and _histogram(h, stat.name in TIMES, columns) for stat, h in pairs)


def _histogram(histogram: Histogram, is_time: bool, columns: ColumnWriter) -> int | bytes | bool:
    """Append to the columns, unless only a row keeps all digits, as for times of older files."""
    if not is_time or (rounded(histogram) != histogram and histogram.rounded() == histogram):
        return histogram.encode()
    return columns.add(histogram) or histogram.encode()


def _param(param: Param) -> Any:
    if isinstance(param, Peer):
        return int(param.encoding), elastic.encode(param.value)
    return elastic.encode(param)
