"""A trace without formulas, for consumers that look at the values of all ranks."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.errors import UsageError
from scalatrace.trace.alike import groups_of
from scalatrace.trace.compress import compress
from scalatrace.trace.elastic import Columns, Formulas, Groups, Value, encode
from scalatrace.trace.nodes import Node, Param, Peer, Sequence
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.trace import Trace
from scalatrace.trace.values import Vec

__all__ = ["MOST_RANKS", "explicit"]

MOST_RANKS = 1 << 14
"""Ranks for which formulas are written out."""


def explicit(trace: Trace) -> Trace:
    """The same trace with value vectors of groups of ranks in place of formulas; itself when it has none.

    Raises:
        UsageError: it has formulas, and too many ranks to write down what each has.
        FormatError: a formula has no value.
    """
    if not any(map(_has_formulas, trace.nodes)):
        return trace
    if trace.nprocs > MOST_RANKS:
        raise UsageError(
            f"values of this trace are formulas, because of its {trace.nprocs:,} ranks: what is wanted here "
            f"needs them written out, which is done for up to {MOST_RANKS:,}; extrapolate to fewer ranks"
        )
    return replace(trace, nodes=list(map(_node, trace.nodes)))


def _has_formulas(node: Node) -> bool:
    if isinstance(node.repeat, Formulas):
        return True
    if isinstance(node, Sequence):
        return any(map(_has_formulas, node.nodes))
    return any(isinstance(p.value if isinstance(p, Peer) else p, Formulas) for p in node.params)


def _node(node: Node) -> Node:
    repeat = _listed(node.repeat, zeros=False) if isinstance(node.repeat, Formulas) else node.repeat
    if isinstance(node, Sequence):
        return Sequence(repeat, tuple(map(_node, node.nodes)))
    return replace(node, repeat=repeat, params=tuple(map(_param, node.params)))


def _param(param: Param) -> Param:
    if isinstance(param, Peer):
        return Peer(param.encoding, _value(param.value))
    return _value(param)


def _value(value: Value) -> Value:
    return _listed(value, zeros=True) if isinstance(value, Formulas) else value


def _listed(value: Formulas, zeros: bool) -> Groups | Columns:
    """What formulas say; `zeros`: also of ranks that have only 0."""
    found = groups_of(value, value.ranks, len(value.ranks))
    pairs = sorted(
        ((ranks, vec) for ranks, vec in found if zeros or vec.constant != 0), key=lambda pair: pair[0].first
    )
    groups = Groups(pairs)
    if any(vec.constant is None for _, vec in pairs) or not pairs:
        return groups
    numbers = {rank: vec.constant or 0 for ranks, vec in pairs for rank in ranks}
    columns = Columns(RankList(numbers), Vec(compress(numbers[rank] for rank in sorted(numbers))))
    return columns if len(str(encode(columns))) < len(str(encode(groups))) else groups
