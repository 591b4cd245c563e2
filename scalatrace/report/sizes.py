"""Bytes of a trace by content, measured on the packed payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.trace.io.writer import signatures
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Value
from scalatrace.trace.model.nodes import Event, Node, Peer
from scalatrace.trace.model.trace import Trace


def shares(trace: Trace) -> dict[str, int]:
    """Return bytes by content; the sum is the payload without its frame (keys, list headers).

    "repeats" are the trip counts, "values" the parameters, both without the "ranklists" of their groups.
    """
    result: Counter[str] = Counter()
    result["call sites"] = _packed(trace.frames) + _packed(signatures(trace.signatures))
    result["communicators"] = sum(_family(family) for family in trace.comms)
    result["datatypes and names"] = _packed(trace.strings) + sum(
        _packed((t.description, t.size, t.extent)) for t in trace.types
    )
    result["arrays"] = sum(_packed((1,) if a.summed else (a.length, a.vec.terms)) for a in trace.arrays)
    result["header"] = _packed(trace.meta) + _packed(trace.counts) + sum(_packed(op.name) for op in trace.ops)
    result["times"] = _packed(trace.preds)
    _add_nodes(result, trace.nodes)
    return {name: size for name, size in result.items() if size}


def _add_nodes(found: Counter[str], nodes: Iterable[Node]) -> None:
    for node in nodes:
        _add_elastic(found, "repeats", node.repeat)
        if isinstance(node, Event):
            _add_event(found, node)
        else:
            _add_nodes(found, node.nodes)


def _add_event(found: Counter[str], event: Event) -> None:
    found["call sites"] += _packed(event.op) + _packed(event.signature)
    for param in event.params:
        _add_elastic(found, "values", param.value if isinstance(param, Peer) else param)
    for stats in event.stats:
        found["times"] += 2 + sum(_packed(h.encode() if h else None) for h in stats.histograms)


def _add_elastic(found: Counter[str], name: str, value: Value) -> None:
    if isinstance(value, Groups):
        lists = sum(_packed(group.terms) for group, _ in value.groups)
    elif isinstance(value, Columns | Formulas):
        lists = _packed(value.ranks.terms)
    else:
        lists = 0
    found["ranklists"] += lists
    found[name] += _packed(elastic.encode(value)) - lists


def _family(family: Any) -> int:
    vecs = (family.sizes, family.members, family.remote_sizes, family.remote_members)
    return _packed(family.kind) + sum(_packed(vec.terms) for vec in vecs if vec is not None)


def _packed(value: Any) -> int:
    return len(msgpack.packb(value, unicode_errors="surrogateescape"))
