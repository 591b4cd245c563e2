"""Contents of ARRAY, TYPE and STRING parameters, which are indices of tables that differ between traces.

A parameter is compared by the entries that it names, in the order of first use, and the sequence of uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scalatrace.extrap.alignment.rank_tree import MAX_NORMALIZED_VALUES
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.lists.array_forms import ArrayForm, array_terms
from scalatrace.extrap.solve.numbered_names import Widths, parts_of_name, text_of_name
from scalatrace.trace.exchange.type_sizes import BY_DESCRIPTION, entry_size, size_and_extent
from scalatrace.trace.model.symbolic import CYCLE
from scalatrace.trace.model.tables import Datatype, IntArray, Kind
from scalatrace.trace.model.typetree import checked
from scalatrace.trace.symbolic.shapes import Parts, cycle, split, vec_from
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec, special_name

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["TABLES", "Tables", "as_sums", "named_entries", "table_content"]

TABLES = (Kind.ARRAY, Kind.TYPE, Kind.STRING)
MAX_EXECUTIONS = 1 << 16
"""Executions of one node that may name different entries of a table."""

MAX_NAMED_VALUES = 8
"""Values of one array that a message shows."""

MAX_SHORT_VALUES = 4
"""Arrays up to this length are taken value by value: those of a grid's dimensions are sizes, equal or not."""

NO_WIDTHS: Widths = MappingProxyType({})

_NUMBER = re.compile(r"-?\d+")


def table_content(
    trace: Trace,
    kind: Kind,
    vec: Vec,
    times: int,
    short: int = MAX_SHORT_VALUES,
    form: ArrayForm | None = None,
    widths: Widths = NO_WIDTHS,
    sums: bool = False,
) -> Parts:
    """Return the parts of the table entries that a parameter refers to in `times` executions.

    Args:
        trace: has the tables.
        kind: of the parameter.
        vec: the indices.
        times: executions.
        short: arrays up to this length are taken value by value.
        form: how to write arrays that follow a pattern.
        widths: of the numbers in names.
        sums: whether arrays of the parameter are sums, so that a short one may be sums of equal counts.

    Raises:
        ExtrapolationError: more entries than can be looked at.
    """
    if vec.constant is not None:
        return split((0, (_entry(trace, kind, vec.constant, short, form, widths, sums),)))
    if times > MAX_EXECUTIONS:
        raise ExtrapolationError(f"an {kind.name} parameter changes in {times} executions of one node")
    used = list(islice(vec, times))
    order = {index: n for n, index in enumerate(dict.fromkeys(used))}
    numbers = [order[index] for index in used]
    period = _period(numbers)
    pattern = (
        (CYCLE, *numbers[:period]) if period <= max(MAX_SHORT_VALUES, times // 2) else vec_of(numbers).terms
    )
    return split((pattern, tuple(_entry(trace, kind, index, short, form, widths, sums) for index in order)))


def _period(numbers: Sequence[int]) -> int:
    """After how many numbers they begin again, and do so to the end (Knuth, Morris and Pratt's table)."""
    borders = [0]
    for number in numbers[1:]:
        k = borders[-1]
        while k and numbers[k] != number:
            k = borders[k - 1]
        borders.append(k + (numbers[k] == number))
    return len(numbers) - borders[-1]


def as_sums(array: IntArray) -> IntArray:
    """Return an array [0 d] as the sums of counts d, which it may be; another one as it is."""
    if array.length == 2 and not array.summed and not array.relative and not array.values[0]:
        return IntArray(2, Vec(array.values[1]), True)
    return array


def _entry(
    trace: Trace, kind: Kind, index: int, short: int, form: ArrayForm | None, widths: Widths, sums: bool
) -> Any:
    if index < SPECIAL_MAX:
        return index
    if kind is Kind.ARRAY:
        array = as_sums(trace.arrays[index]) if sums else trace.arrays[index]
        if form is not None and array.length:
            return "array", array.length, array_terms(array, form)
        if array.length <= short:
            return "summed" if array.summed else "array", array.length, array.vec.first(array.length)
        vec = array.vec
        if array.length <= MAX_NORMALIZED_VALUES and not array.summed:
            vec = vec_of(vec.first(array.length))  # equal values may have been folded in several ways
        vec = separate_specials(vec, array.length)
        return "summed" if array.summed else "array", array.length, vec.terms
    if kind is Kind.STRING:
        return parts_of_name(trace.string(index), widths)
    result = trace.datatype(index)
    template = _template(result.description)
    if size_and_extent(result.description) == (result.size, result.extent):
        return BY_DESCRIPTION, template
    return result.size, result.extent, template


def _template(text: str) -> tuple[Any, ...]:
    """Return a datatype's description with its numbers as integers of their own."""
    numbers = [int(n) for n in _NUMBER.findall(text)]
    words = _NUMBER.split(text)
    return tuple(part for pair in zip(words, [*numbers, ""], strict=True) for part in pair)


def _text(template: Any) -> str:
    return "".join(str(part) for part in template)


class Tables:
    """The tables of a new trace, without duplicates."""

    def __init__(self) -> None:
        self.arrays: dict[IntArray, int] = {}
        self.types: dict[Datatype, int] = {}
        self.strings: dict[str, int] = {}

    def vec(self, kind: Kind, terms: Any) -> Vec:
        """Return the indices of a parameter whose table_content is `terms`."""
        pattern, entries = terms
        indices = [self._index(kind, entry) for entry in entries]
        if type(pattern) is int:
            return Vec(indices[0])
        if pattern[0] == CYCLE:
            return cycle([indices[n] for n in pattern[1:]])
        return vec_of(indices[n] for n in Vec(pattern))

    def _index(self, kind: Kind, entry: Any) -> int:
        if type(entry) is int:
            return entry
        if kind is Kind.STRING:
            return self.strings.setdefault(text_of_name(entry), len(self.strings))
        if kind is Kind.TYPE:
            description = checked(_text(entry[-1]))
            datatype = Datatype(description, *entry_size(entry, description))
            return self.types.setdefault(datatype, len(self.types))
        word, length, inner = entry
        parts = split(inner)
        return self.array(IntArray(length, vec_from(parts.shape, iter(parts.slots))), word == "summed")

    def array(self, array: IntArray, summed: bool) -> int:
        """Return the index of an array, or of the array of its sums, which stands behind it."""
        index = self.arrays.setdefault(array, len(self.arrays))
        return self.arrays.setdefault(array.sums(), len(self.arrays)) if summed else index


def named_entries(kind: Kind, terms: Any) -> list[str]:
    """Return the entries of a parameter whose table_content is `terms`, for messages."""
    return [_entry_name(kind, entry) for entry in terms[1]]


def _entry_name(kind: Kind, entry: Any) -> str:
    if type(entry) is int:
        return special_name(entry) or str(entry)
    if kind is Kind.STRING:
        return f'"{_text(entry)}"'
    if kind is Kind.TYPE:
        description = _text(entry[-1])
        return f"{description} ({entry_size(entry, description)[0]:,} bytes)"
    _, length, inner = entry
    try:
        values = " ".join(map(str, Vec(inner).first(min(length, MAX_NAMED_VALUES))))
    except (ValueError, TypeError):
        values = ""
    return f"[{values}{' ...' if length > MAX_NAMED_VALUES else ''}]"


def named(table: dict[Any, int]) -> Iterator[Any]:
    """Return the entries in order."""
    return iter(table)
