"""Replace formulas in a trace by value vectors, for consumers that need the values of all ranks."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.errors import UsageError
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Value, encode
from scalatrace.trace.model.nodes import Node, Param, Peer, Sequence
from scalatrace.trace.model.rank_classes import rank_classes
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import participants
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["MAX_EXPLICIT_RANKS", "explicit"]

MAX_EXPLICIT_RANKS = 1 << 14
"""Ranks for which formulas are evaluated."""


def explicit(trace: Trace) -> Trace:
    """Return the trace with value vectors of groups of ranks instead of formulas; itself when it has none.

    Raises:
        UsageError: it has formulas and more than MAX_EXPLICIT_RANKS ranks.
        FormatError: a formula has no value.
    """
    if not any(map(_has_formulas, trace.nodes)):
        return trace
    if trace.nprocs > MAX_EXPLICIT_RANKS:
        raise UsageError(
            f"this trace of {trace.nprocs:,} ranks has formulas instead of values; evaluating them for all "
            f"ranks is limited to {MAX_EXPLICIT_RANKS:,} ranks: extrapolate to fewer ranks"
        )
    taking_part = participants(trace)
    return replace(trace, nodes=[_node(node, taking_part) for node in trace.nodes])


def _has_formulas(node: Node) -> bool:
    if isinstance(node.repeat, Formulas):
        return True
    if isinstance(node, Sequence):
        return any(map(_has_formulas, node.nodes))
    return any(isinstance(p.value if isinstance(p, Peer) else p, Formulas) for p in node.params)


def _node(node: Node, taking_part: dict[int, RankList]) -> Node:
    ranks = taking_part[id(node)]
    repeat = _list_values(node.repeat, ranks, False) if isinstance(node.repeat, Formulas) else node.repeat
    if isinstance(node, Sequence):
        return replace(node, repeat=repeat, nodes=tuple(_node(child, taking_part) for child in node.nodes))
    return replace(node, repeat=repeat, params=tuple(_param(param, ranks) for param in node.params))


def _param(param: Param, ranks: RankList) -> Param:
    if isinstance(param, Peer):
        return Peer(param.encoding, _value(param.value, ranks))
    return _value(param, ranks)


def _value(value: Value, ranks: RankList) -> Value:
    return _list_values(value, ranks, True) if isinstance(value, Formulas) else value


def _list_values(value: Formulas, ranks: RankList, zeros: bool) -> Groups | Columns:
    """Evaluate formulas for some ranks; `zeros`: include ranks whose values are all 0."""
    classes = rank_classes(value, ranks, len(ranks))
    pairs = sorted(
        ((members, vec) for members, vec in classes if zeros or vec.constant != 0),
        key=lambda pair: pair[0].first,
    )
    groups = Groups(pairs)
    if any(vec.constant is None for _, vec in pairs) or not pairs:
        return groups
    numbers = {rank: vec.constant or 0 for ranks, vec in pairs for rank in ranks}
    columns = Columns(RankList(numbers), Vec(compress(numbers[rank] for rank in sorted(numbers))))
    return columns if len(str(encode(columns))) < len(str(encode(groups))) else groups
