"""Parameters and repeats in readable form: `dest=self+1`, `count=100`, `comm=world`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scalatrace.escapes import clean
from scalatrace.report.style import ranks
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups, Summary, Value
from scalatrace.trace.model.nodes import Event, Param, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.format_condition import with_rank
from scalatrace.trace.symbolic.format_formula import format_parts
from scalatrace.trace.values.from_arrays import distinct, first_values, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec, special_name

ONE = Callable[[int], str]
"""How one stored integer is written."""

MAX_GROUPS = 4
"""Different values of ranks that have one each, up to which these are written as groups."""

MAX_LISTED_VALUES = 8
"""Values of a vector or array that are listed; longer vectors are shown compressed."""

PEERS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "self{}",
    Encoding.MODULO: "self{} mod size",
    Encoding.XOR: "self xor {}",
}
FORMULAS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "self + {}",
    Encoding.MODULO: "(self + {}) mod size",
    Encoding.XOR: "self xor {}",
}
NOT_IN_PLACE = ("in_place", Vec(0))

SIGNED = (Encoding.RELATIVE, Encoding.MODULO)


class ValueNotation:
    """Texts of peers and sets of ranks: here by numbers, in `report.trees.grid_notation` by the grid."""

    def ranks(self, sets: Sequence[RankList], among: RankList) -> list[str]:
        """Return sets of the ranks that have a value, all written in one way: `0-3`, `4-15`."""
        return list(map(ranks, sets))

    def peer(self, event: Event, peer: Peer, taking_part: RankList) -> str | None:
        """Return the peers of the ranks that execute an event; None: by their encoding."""
        return None


BY_NUMBER = ValueNotation()


def repeat(value: Elastic, notation: ValueNotation = BY_NUMBER) -> str:
    """Return a repeat without its ×; one that is just 1 is empty."""
    return "" if value == Vec(1) else elastic(value, _plain, notation=notation)


def repeat_of(value: Elastic, taking_part: RankList, notation: ValueNotation = BY_NUMBER) -> str:
    """Return a node's repeat; the ranks of an only group are left out where they are its participants."""
    if isinstance(value, Groups) and len(value.groups) == 1 and value.ranks == taking_part:
        return repeat(value.groups[0][1])
    return repeat(value, notation)


def elastic(value: Value, write: ONE, named: bool = False, notation: ValueNotation = BY_NUMBER) -> str:
    """Return an elastic value, its integers written by `write`; `named`: these are names, not numbers."""
    if isinstance(value, Vec):
        return vec(value, write, named)
    if isinstance(value, Groups | Columns) and (groups := groups_of(value)) is not None:
        names = notation.ranks([group for group, _ in groups], value.ranks)
        return grouped((name, vec(v, write, named)) for name, (_, v) in zip(names, groups, strict=True))
    if isinstance(value, Columns):
        (name,) = notation.ranks([value.ranks], value.ranks)
        return f"{{{name}: each {vec(value.vec, write, named)}}}"
    if isinstance(value, Summary):
        h = value.histogram
        return f"~{write(value.typical)} ({h.count} values, {h.min:g} to {h.max:g})" if h else "not recorded"
    assert isinstance(value, Formulas)  # groups are written above
    return with_rank(format_parts(value.parts))


def groups_of(value: Groups | Columns) -> list[tuple[RankList, Vec]] | None:
    """Return the groups of ranks with equal values; None: ranks have more than MAX_GROUPS of their own."""
    if isinstance(value, Groups):
        return list(value.groups)
    values, where = first_values(value.vec, len(value.ranks)), ranks_in(value.ranks)
    first, like = distinct(values[None])
    if len(first) > MAX_GROUPS:
        return None
    return [(ranks_of(where[like == like[at]]), Vec(int(values[at]))) for at in sorted(first.tolist())]


def grouped(texts: Iterable[tuple[str, str]]) -> str:
    """Return the values of groups of ranks: `{x==0: PROC_NULL; x>0: north}`."""
    return f"{{{'; '.join(f'{group}: {text}' for group, text in texts)}}}"


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


def ends_of(value: Vec) -> tuple[int, ...]:
    """Return numbers with the least and the largest one of a vector that is listed whole, else nothing."""
    values, is_complete = listed(value)
    return values if is_complete or _period(value) else ()


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
    trace: Trace, event: Event, taking_part: RankList | None = None, notation: ValueNotation = BY_NUMBER
) -> list[tuple[str, str]]:
    """Return name and readable value of each parameter of an event node; `in_place=0` is left out.

    Args:
        taking_part: the ranks that execute the event; None: notation does not ask for them.
    """
    op = trace.ops[event.op]
    size = _size_of_communicator(trace, event)
    result = []
    for (name, kind), value in zip(op.params, event.params, strict=True):
        if (name, value) == NOT_IN_PLACE:
            continue
        text = None
        if isinstance(value, Peer) and taking_part is not None:
            text = notation.peer(event, value, taking_part)
        result.append((clean(name), param(trace, kind, value, notation, size) if text is None else text))
    return result


def _size_of_communicator(trace: Trace, event: Event) -> int | None:
    """Return the size of an event's communicators; None: not known, or not the same for all ranks."""
    where = trace.ops[event.op].index("comm")
    family = None if where is None else event.params[where]
    if not isinstance(family, Vec) or family.constant is None or not 0 <= family.constant < len(trace.comms):
        return None
    return trace.nprocs if not family.constant else trace.comms[family.constant].sizes.constant


def param(
    trace: Trace, kind: Kind, value: Param, notation: ValueNotation = BY_NUMBER, size: int | None = None
) -> str:
    """Return one parameter in readable form.

    Args:
        size: of the communicator of a peer; None: not known.
    """
    if isinstance(value, Peer):
        encoding = value.encoding
        if isinstance(value.value, Formulas):
            return with_rank(format_parts(value.value.parts, FORMULAS[encoding]))
        return elastic(value.value, lambda peer: peer_text(encoding, peer, size), notation=notation)
    named = kind is not Kind.INT and kind is not Kind.PEER
    return elastic(value, lambda stored: resolved(trace, kind, stored), named, notation)


def peer_text(encoding: Encoding, value: int, size: int | None = None) -> str:
    """Return a stored peer: 3, self+1, self-1 mod size, self xor 4, PROC_NULL.

    Args:
        size: of the communicator, for the shorter way around; None: not known.
    """
    if value < SPECIAL_MAX:
        return _plain(value)
    if value == 0 and encoding is not Encoding.ABSOLUTE:
        return "self"
    if encoding is Encoding.MODULO and size is not None and size < 2 * value < 2 * size:
        value -= size
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
