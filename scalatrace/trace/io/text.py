"""Write the text form of a trace, which is readable and exact (grammar: grammars/trace.lark).

One line per table entry, then the nodes:

    10000 x {
      Isend @3 (count=100, datatype=0, dest=mod 1, tag=0, comm=0)  # stencil.py:40:exchange
        after 2: compute_ns=(10000 3 80 12 5), comm_ns=7
      [..*(0 1)] x Barrier @4 (comm=0)  # stencil.py:52:main
    }
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Node, Param, Peer, PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, Family, IntArray, Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

__all__ = ["ENCODINGS", "KINDS", "RESERVED", "TEXT_VERSION", "text"]

TEXT_VERSION = 1

ENCODINGS = {Encoding.ABSOLUTE: "abs", Encoding.RELATIVE: "rel", Encoding.MODULO: "mod", Encoding.XOR: "xor"}
KINDS = {kind: kind.name.lower() for kind in Kind}

RESERVED = frozenset(
    [
        "scalatrace",
        "relative",
        "sums",
        "trace",
        "nodes",
        "nprocs",
        "meta",
        "stat",
        "frame",
        "signature",
        "parent",
        "sizes",
        "members",
        "remote",
        "pred",
        "start",
        "load",
        "between",
        "none",
        "thread",
        "turns",
        "uses",
        "x",
        "after",
        "by",
        "each",
        "int",
        "peer",
        "abs",
        "rel",
        "mod",
        "xor",
        "PROC_NULL",
        "ANY_SOURCE",
        "ROOT",
        "UNDEFINED",
        "ANY_TAG",
        "formulas",
        "over",
        "columns",
        "if",
        "cycle",
        "indexed",
        "looped",
        "within",
    ]
)
"""Words of the grammar that are quoted when they are names."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def text(trace: Trace) -> str:
    """Return the text form; `textparse.parse` makes an equal trace of it."""
    return "\n".join([*_header(trace), "", "nodes {", *_nodes(trace, trace.nodes, "  "), "}", ""])


def _header(trace: Trace) -> Iterator[str]:
    yield f"scalatrace trace {TEXT_VERSION}"
    yield f"nprocs {trace.nprocs}"
    yield f"ranks {trace.ranks}"
    yield from (f"meta {_quote(key)} {_quote(value)}" for key, value in trace.meta.items())
    yield from _number_lines(_op(op) for op in trace.ops)
    yield from (f"stat {_name(stat.name)} {stat.resolution!r}" for stat in trace.stats)
    yield from _number_lines(f"frame {_quote(frame)}" for frame in trace.frames)
    yield from _number_lines(f"signature [{' '.join(map(str, frames))}]" for frames in trace.signatures)
    yield from _number_lines(map(_family, trace.comms))
    yield from _number_lines(map(_type, trace.types))
    yield from _number_lines(f"string {_quote(string)}" for string in trace.strings)
    yield from _number_lines(map(_array, trace.arrays))
    yield from _number_lines(_pred(trace, *pair) for pair in trace.preds)
    yield from (f"count {_quote(name)} {n}" for name, n in trace.counts.items())
    yield from ["load between"] if trace.load_between else []
    yield from (f"load {'none' if vec is None else vec}" for vec in trace.load)
    yield from (f"turns {family} {order}" for family, order in trace.turns.items())
    yield from (f"uses {int(kind)} {name} {order}" for (kind, name), order in trace.uses.items())


def _number_lines(lines: Iterator[str]) -> Iterator[str]:
    return (f"{line}  # {i}" for i, line in enumerate(lines))


def _op(op: Op) -> str:
    return f"op {_name(op.name)}({', '.join(f'{_name(name)} {KINDS[kind]}' for name, kind in op.params)})"


def _family(family: Family) -> str:
    line = f"comm {_name(family.kind)} parent {family.parent} sizes {family.sizes}"
    line += f" members {family.members}"
    if family.remote_sizes is None or family.remote_members is None:
        return line
    return line + f" remote sizes {family.remote_sizes} members {family.remote_members}"


def _type(datatype: Datatype) -> str:
    return f"type {_quote(datatype.description)} size {datatype.size} extent {datatype.extent}"


def _array(array: IntArray) -> str:
    return f"array {array.length} {'relative ' * array.relative}{'sums ' * array.summed}{array.vec}"


def _pred(trace: Trace, op: int, signature: int) -> str:
    return "pred start" if op < 0 else f"pred {_name(trace.ops[op].name)} @{signature}"


def _nodes(trace: Trace, nodes: list[Node] | tuple[Node, ...], indent: str) -> Iterator[str]:
    for node in nodes:
        repeat = "" if node.repeat == Vec(1) else f"{node.repeat} x "
        if isinstance(node, Event):
            yield f"{indent}{repeat}{_event(trace, node)}{_comment(trace, node)}"
            yield from (f"{indent}  {_after(trace, stats)}" for stats in node.stats)
        else:
            thread = f"thread {node.thread} {node.repeat} x " if node.thread else repeat
            yield f"{indent}{thread}{{"
            yield from _nodes(trace, node.nodes, indent + "  ")
            yield f"{indent}}}"


def _event(trace: Trace, event: Event) -> str:
    op = trace.ops[event.op]
    params = (
        f"{_name(name)}={_param(param)}" for (name, _), param in zip(op.params, event.params, strict=True)
    )
    return f"{_name(op.name)} @{event.signature} ({', '.join(params)})"


def _comment(trace: Trace, event: Event) -> str:
    stack = trace.stack(event.signature)
    return f"  # {_quote(short_frame(stack[0]))[1:-1]}" if stack else ""


def _param(param: Param) -> str:
    if isinstance(param, Peer):
        return f"{ENCODINGS[param.encoding]} {_param(param.value)}"
    if isinstance(param, Summary) and param.histogram is not None:
        return f"{param} {_histogram(param.histogram)}"
    return str(param)


def _after(trace: Trace, stats: PredStats) -> str:
    samples = [
        f"{_name(stat.name)}={_histogram(histogram)}"
        for stat, histogram in zip(trace.stats, stats.histograms, strict=True)
        if histogram is not None
    ]
    return f"after {stats.pred}" + (f": {', '.join(samples)}" if samples else "")


def _histogram(histogram: Histogram) -> str:
    if histogram == Histogram.of(int(histogram.min)):
        return str(histogram.min)
    h = histogram
    bins = "".join(f"; {b.count} {b.min} {b.max} {b.mean}" for b in h.bins)
    return f"({h.count} {h.min} {h.max} {h.mean} {h.std}{bins})"


def _quote(string: str) -> str:
    return json.dumps(string)


def _name(name: str) -> str:
    return name if _WORD.fullmatch(name) and name not in RESERVED else _quote(name)
