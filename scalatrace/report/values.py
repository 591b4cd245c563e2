"""Parameters and repeats in readable form: `dest=self+1`, `count=100`, `comm=world`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scalatrace.escapes import clean
from scalatrace.report.style import ranks
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups, Summary, Value
from scalatrace.trace.model.nodes import Event, Param, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.format_formula import format_parts
from scalatrace.trace.values.from_arrays import distinct, first_values, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED, Vec, special_name

ONE = Callable[[int], str]
"""How one stored integer is written."""

RankNames = Callable[[Sequence[RankList]], list[str]]
"""How sets of ranks are written, all in the same way."""

MAX_GROUPS = 4
"""Different values of ranks that have one each, up to which these are written as groups."""

MAX_LISTED_VALUES = 8
"""Values of a vector or array that are listed; longer vectors are shown compressed."""

PEERS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "self{}",
    Encoding.MODULO: "self{} mod size",
    Encoding.XOR: "self^{}",
}
FORMULAS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "self + {}",
    Encoding.MODULO: "(self + {}) mod size",
    Encoding.XOR: "self ^ {}",
}
NOT_IN_PLACE = ("in_place", Vec(0))

SIGNED = (Encoding.RELATIVE, Encoding.MODULO)


def rank_texts(sets: Sequence[RankList]) -> list[str]:
    """Return sets of ranks as numbers: 0-3, 8."""
    return list(map(ranks, sets))


def repeat(value: Elastic, name_ranks: RankNames = rank_texts) -> str:
    """Return a repeat without its ×; one that is just 1 is empty."""
    return "" if value == Vec(1) else elastic(value, _plain, name_ranks=name_ranks)


def repeat_of(value: Elastic, taking_part: RankList, name_ranks: RankNames = rank_texts) -> str:
    """Return a node's repeat; the ranks of an only group are left out where they are its participants."""
    if isinstance(value, Groups) and len(value.groups) == 1 and value.ranks == taking_part:
        return repeat(value.groups[0][1])
    return repeat(value, name_ranks)


def groups_of(value: Value, max_groups: int = MAX_GROUPS) -> list[tuple[RankList, Vec]] | None:
    """Return the groups of a value of ranks; None: it has none, follows formulas, or has too many."""
    if isinstance(value, Groups):
        return list(value.groups)
    if not isinstance(value, Columns):
        return None
    values, where = first_values(value.vec, len(value.ranks)), ranks_in(value.ranks)
    first, like = distinct(values[None])
    if len(first) > max_groups:
        return None
    return [(ranks_of(where[like == like[at]]), Vec(int(values[at]))) for at in sorted(first.tolist())]


def elastic(value: Value, write: ONE, named: bool = False, name_ranks: RankNames = rank_texts) -> str:
    """Return an elastic value, its integers written by `write`; `named`: these are names, not numbers."""
    if isinstance(value, Vec):
        return vec(value, write, named)
    if (groups := groups_of(value)) is not None:
        names = name_ranks([group for group, _ in groups])
        texts = (
            f"{name}: {vec(values, write, named)}" for name, (_, values) in zip(names, groups, strict=True)
        )
        return f"{{{'; '.join(texts)}}}"
    if isinstance(value, Columns):
        return f"{{{name_ranks([value.ranks])[0]}: each {vec(value.vec, write, named)}}}"
    if isinstance(value, Summary):
        h = value.histogram
        return f"~{write(value.typical)} ({h.count} values, {h.min:g} to {h.max:g})" if h else "not recorded"
    assert isinstance(value, Formulas)  # groups are written above
    return format_parts(value.parts)


def vec(value: Vec, write: ONE, named: bool = False) -> str:
    """Return a value vector: the one value, the few values, or the compressed form.

    Names have no strides: of names in progression the first ones are listed.
    """
    if value.constant is not None:
        return write(value.constant)
    length = value.length
    if length is not None and length <= MAX_LISTED_VALUES:
        return "[" + " ".join(map(write, value.first(length))) + "]"
    period = _period(value)
    if period:
        return f"[{' '.join(map(write, period))} …]"
    assert not isinstance(value.terms, int)  # it would be constant
    if named and any(map(_has_stride, value.terms)):
        return f"[{' '.join(map(write, value.first(MAX_LISTED_VALUES)))} …]"
    return f"[{' '.join(_term(term, write) for term in value.terms)}]"


def _has_stride(term: Any) -> bool:
    return not isinstance(term, int) and (term[1] != 0 or any(map(_has_stride, term[2:])))


def _term(term: Any, write: ONE) -> str:
    """Return a value, or repeated ones: 3*(1 by 2), ..*(1 2)."""
    if isinstance(term, int):
        return write(term)
    count, stride, *inner = term
    by = f" by {stride}" if stride else ""
    return f"{count or '..'}*({' '.join(_term(part, write) for part in inner)}{by})"


def listed(value: Vec) -> tuple[tuple[int, ...], bool]:
    """Return the first values of a vector, as `vec` lists them, and whether there are no others."""
    if value.constant is not None:
        return (value.constant,), True
    if period := _period(value):
        return period, False
    length = MAX_LISTED_VALUES if value.length is None else min(value.length, MAX_LISTED_VALUES)
    return value.first(length), length == value.length


def _period(value: Vec) -> tuple[int, ...]:
    """Return the values that a vector repeats without end, where they are few and it is nothing else."""
    if isinstance(value.terms, int) or len(value.terms) != 1 or isinstance(value.terms[0], int):
        return ()
    count, stride, *inner = value.terms[0]
    if count or stride:
        return ()
    once = Vec(tuple(inner))
    return once.first(once.length) if once.length is not None and once.length <= MAX_LISTED_VALUES else ()


def params(
    trace: Trace,
    event: Event,
    peer_name: Callable[[Peer], str | None] | None = None,
    name_ranks: RankNames = rank_texts,
) -> list[tuple[str, str]]:
    """Return name and readable value of each parameter of an event node; `in_place=0` is left out.

    Args:
        peer_name: gives the text of a peer, or None for that of its encoding.
        name_ranks: gives the texts of groups of ranks.
    """
    op = trace.ops[event.op]
    pairs = zip(op.params, event.params, strict=True)
    return [
        (clean(name), _peer_or_param(trace, kind, value, peer_name, name_ranks))
        for (name, kind), value in pairs
        if (name, value) != NOT_IN_PLACE
    ]


def _peer_or_param(
    trace: Trace,
    kind: Kind,
    value: Param,
    peer_name: Callable[[Peer], str | None] | None,
    name_ranks: RankNames,
) -> str:
    if isinstance(value, Peer) and peer_name is not None and (text := peer_name(value)) is not None:
        return text
    return param(trace, kind, value, name_ranks)


TYPES_OF_COUNTS = {
    "count": "datatype",
    "sendcount": "sendtype",
    "recvcount": "recvtype",
    "origin_count": "origin_datatype",
    "target_count": "target_datatype",
}
"""Number of elements -> their datatype."""


def message_sizes(trace: Trace, event: Event) -> dict[str, tuple[int, int]]:
    """Return the least and largest size in bytes that each number of elements of an event node stands for.

    Numbers or datatypes without end, by formulas, or of many different ranks are left out.
    """
    op = trace.ops[event.op]
    by_name = {name: value for (name, _), value in zip(op.params, event.params, strict=True)}
    sizes = {}
    for name, type_name in TYPES_OF_COUNTS.items():
        counts, datatype = (_by_ranks(trace, by_name.get(key)) for key in (name, type_name))
        found = [
            _bytes_of(trace, numbers, types)
            for ranks_of_numbers, numbers in counts
            for ranks_of_types, types in datatype
            if numbers.constant != UNDEFINED and ranks_of_numbers & ranks_of_types
        ]
        known = [ends for ends in found if ends is not None]
        if known and len(known) == len(found):
            sizes[name] = (min(low for low, _ in known), max(high for _, high in known))
    return sizes


def _by_ranks(trace: Trace, value: Param | None) -> list[tuple[RankList, Vec]]:
    """Return sets of ranks with equal values; [] where they are not known, or too many."""
    if isinstance(value, Vec):
        return [(trace.ranks, value)]
    return [] if value is None or isinstance(value, Peer) else groups_of(value) or []


def _bytes_of(trace: Trace, counts: Vec, datatype: Vec) -> tuple[int, int] | None:
    """Return the least and the largest size of numbers of elements; None: it is not known."""
    numbers, types = ends_of(counts), ends_of(datatype)
    if counts.constant is not None or datatype.constant is not None:
        pairs = [(number, stored) for number in numbers for stored in types]
    else:  # of successive executions
        pairs = list(zip(numbers, types, strict=False)) if len(numbers) == len(types) else []
    if not pairs or min(map(min, pairs)) < 0:
        return None
    sizes = [number * trace.datatype(stored).size for number, stored in pairs]
    return min(sizes), max(sizes)


def ends_of(value: Vec) -> tuple[int, ...]:
    """Return numbers with the least and the largest one of a vector that is listed whole, else nothing."""
    values, is_complete = listed(value)
    return values if is_complete or _period(value) else ()


def param(trace: Trace, kind: Kind, value: Param, name_ranks: RankNames = rank_texts) -> str:
    """Return one parameter in readable form."""
    if isinstance(value, Peer):
        if isinstance(value.value, Formulas):
            return format_parts(value.value.parts, FORMULAS[value.encoding])
        return elastic(value.value, lambda peer: peer_text(value.encoding, peer), name_ranks=name_ranks)
    named = kind is not Kind.INT and kind is not Kind.PEER
    return elastic(value, lambda stored: resolved(trace, kind, stored), named, name_ranks)


def peer_text(encoding: Encoding, value: int) -> str:
    """Return a stored peer: 3, self+1, self-1 mod size, self^4, PROC_NULL."""
    if value < SPECIAL_MAX:
        return _plain(value)
    return PEERS[encoding].format(f"{value:+d}" if encoding in SIGNED else value)


def resolved(trace: Trace, kind: Kind, value: int) -> str:
    """Return what a stored integer of a kind stands for."""
    if kind is Kind.INT or kind is Kind.PEER or value < SPECIAL_MAX:
        return _plain(value)
    if kind is Kind.COMM:
        return comm_name(trace, value)
    if kind is Kind.TYPE:
        return clean(trace.datatype(value).description)
    if kind is Kind.STRING:
        return clean(trace.string(value))
    stored = trace.stored_array(value)
    return array(stored.first(MAX_LISTED_VALUES), stored.length) + " from own rank" * stored.relative


def comm_name(trace: Trace, family: int) -> str:
    """Return a communicator family's kind, with its number where there may be several of them."""
    if not 0 <= family < len(trace.comms):
        return f"#{family}"
    kind = clean(trace.comms[family].kind)
    return kind if family < 3 else f"{kind}#{family}"


def array(values: tuple[int, ...], length: int) -> str:
    """Return an array of this length, of which at least the values that are shown are given."""
    shown = " ".join(map(_plain, values[:MAX_LISTED_VALUES]))
    return f"[{shown}]" if length <= MAX_LISTED_VALUES else f"[{shown} … {length} values]"


def _plain(value: int) -> str:
    return special_name(value) or str(value)
