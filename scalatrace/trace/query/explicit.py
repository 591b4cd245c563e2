"""A trace without formulas, for consumers that look at the values of all ranks."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.errors import UsageError
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Value, encode
from scalatrace.trace.model.nodes import Node, Param, Peer, Sequence
from scalatrace.trace.model.rank_classes import groups_of
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import participants
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

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
    repeat = _listed(node.repeat, ranks, False) if isinstance(node.repeat, Formulas) else node.repeat
    if isinstance(node, Sequence):
        return Sequence(repeat, tuple(_node(child, taking_part) for child in node.nodes))
    return replace(node, repeat=repeat, params=tuple(_param(param, ranks) for param in node.params))


def _param(param: Param, ranks: RankList) -> Param:
    if isinstance(param, Peer):
        return Peer(param.encoding, _value(param.value, ranks))
    return _value(param, ranks)


def _value(value: Value, ranks: RankList) -> Value:
    return _listed(value, ranks, True) if isinstance(value, Formulas) else value


def _listed(value: Formulas, ranks: RankList, zeros: bool) -> Groups | Columns:
    """What formulas say of ranks; `zeros`: also of those that have only 0."""
    found = groups_of(value, ranks, len(ranks))
    pairs = sorted(
        ((some, vec) for some, vec in found if zeros or vec.constant != 0), key=lambda pair: pair[0].first
    )
    groups = Groups(pairs)
    if any(vec.constant is None for _, vec in pairs) or not pairs:
        return groups
    numbers = {rank: vec.constant or 0 for ranks, vec in pairs for rank in ranks}
    columns = Columns(RankList(numbers), Vec(compress(numbers[rank] for rank in sorted(numbers))))
    return columns if len(str(encode(columns))) < len(str(encode(groups))) else groups
