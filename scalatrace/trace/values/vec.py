"""Value vectors (dissertation §5.2.1): the values of one parameter in successive executions, compressed.

    Vec(5)                       5, 5, 5, ...        (no length of its own: read as far as the node runs)
    Vec(((0, 1, 5),))            5, 6, 7, ...        (count 0: without end)
    Vec((3, (0, 0, 1, 2)))       3, 1, 2, 1, 2, ...
    Vec(((2, 10, 1, 4),))        1, 4, 11, 14

Terms have the form of the file: an int, or a tuple (count, stride, term, ...). Lengths and sums are closed
forms. So a large count in a file costs no time or memory before the values are iterated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from typing import Any

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "PROC_NULL",
    "ROOT",
    "SPECIAL",
    "SPECIAL_MAX",
    "SPECIAL_MIN",
    "UNDEFINED",
    "Vec",
    "is_symbol",
    "special_name",
]

PROC_NULL = -1000000001
ANY_SOURCE = -1000000002
ROOT = -1000000003
UNDEFINED = -1000000004
ANY_TAG = -1000000005
SPECIAL_MAX = -1000000000
"""Every value below this one stands for an MPI constant."""
SPECIAL_MIN = -1000000015
"""The least integer that is reserved for one."""

SPECIAL = {
    "PROC_NULL": PROC_NULL,
    "ANY_SOURCE": ANY_SOURCE,
    "ROOT": ROOT,
    "UNDEFINED": UNDEFINED,
    "ANY_TAG": ANY_TAG,
}
_NAMES = {value: name for name, value in SPECIAL.items()}

MAX_DEPTH = 32
"""Nested loops of a value vector."""
INT64 = range(-(1 << 63), 1 << 63)

Term = Any  # int | tuple[int, int, Term, ...]; mypy has no variadic recursive tuples


def is_symbol(value: int) -> bool:
    """Return whether an integer stands for an MPI constant, which is in no progression."""
    return SPECIAL_MIN <= value < SPECIAL_MAX


def special_name(value: int) -> str | None:
    """Return `ANY_SOURCE` for -1000000002, and so on; None for an ordinary value."""
    return _NAMES.get(value)


@dataclass(frozen=True, slots=True)
class Vec:
    """A value vector: `terms` is an int (always this value) or a tuple of terms."""

    terms: int | tuple[Term, ...]

    @classmethod
    def decode(cls, raw: object) -> Vec:
        """Read the form in the file.

        Raises:
            ValueError: not a vec.
        """
        if type(raw) is not tuple:
            return cls(_checked_int(raw))
        for i, term in enumerate(raw, 1):
            _check(term, endless=i == len(raw), depth=0)
        return cls(raw)

    @property
    def constant(self) -> int | None:
        """The value of a constant vec; None for other vecs."""
        return self.terms if isinstance(self.terms, int) else None

    @property
    def length(self) -> int | None:
        """Number of values; None for an endless vec."""
        if isinstance(self.terms, int) or _endless(self.terms):
            return None
        return sum(_length(term) for term in self.terms)

    def __iter__(self) -> Iterator[int]:
        if isinstance(self.terms, int):
            return repeat(self.terms)
        return _each(self.terms)

    def first(self, n: int) -> tuple[int, ...]:
        """Return the first n values.

        Raises:
            ValueError: there are fewer.
        """
        values = tuple(islice(self, n))
        if len(values) < n:
            raise ValueError(f"a value vector ends after {len(values)} of {n} values")
        return values

    def __getitem__(self, i: int) -> int:
        if isinstance(self.terms, int):
            return self.terms
        if i < 0:
            raise IndexError(i)
        return _item(self.terms, i)

    def total(self, n: int) -> int:
        """Return the sum of the first n values, in time proportional to the number of terms.

        Raises:
            ValueError: there are fewer than n values.
        """
        if isinstance(self.terms, int):
            return self.terms * n
        return _prefix(self.terms, n)

    def bounded(self, n: int) -> Vec:
        """Return the vec with as many iterations of its endless loop as n values need at most."""
        if isinstance(self.terms, int) or self.length is not None:
            return self
        _, stride, *inner = self.terms[-1]
        trip_count = -(-max(n, 1) // (Vec(tuple(inner)).length or 1))
        return Vec((*self.terms[:-1], (trip_count, stride, *inner)))

    def smallest(self) -> int | None:
        """Return the smallest value; None when values decrease without end or there are none."""
        if isinstance(self.terms, int):
            return self.terms
        lows = [_low(term) for term in self.terms]
        return None if None in lows else min((low for low in lows if low is not None), default=None)

    def largest(self) -> int | None:
        """Return the largest value; None for an endless or empty vec."""
        if isinstance(self.terms, int):
            return self.terms
        return None if _endless(self.terms) else max(map(_highest, self.terms), default=None)

    def beyond(self, limits: range) -> int | None:
        """Return a value that is out of limits, the smallest or largest of its loop; None if there is none.

        A constant is not looked at: `decode` has checked it.
        """
        if isinstance(self.terms, int):
            return None
        for term in self.terms:
            ends = (term,) if type(term) is int else (_low(term), _highest(term) if term[0] else None)
            for end in ends:
                if end is not None and end not in limits:
                    return end
        return None

    def times(self, factor: int) -> Vec:
        """Return the vec of all values multiplied by a positive integer."""
        return self if factor == 1 else Vec.decode(_times(self.terms, factor))

    def ends(self, n: int | None = None) -> tuple[int, ...]:
        """Return the smallest and the largest value that are no symbols, if there are any.

        Args:
            n: only the first n values count; None: all, but of an endless loop only the first iteration.
        """
        return _ends((self.terms,) if isinstance(self.terms, int) else self.terms, n)

    def find(self, value: int) -> int | None:
        """Return the first index of a value, or None; fast where the ranges of iterations do not overlap."""
        if isinstance(self.terms, int):
            return 0 if self.terms == value else None
        return _find(self.terms, value)

    def part(self, start: int, stop: int) -> Sequence[int]:
        """Return the values from index start to before stop; a range where they are one progression."""
        if not isinstance(self.terms, int):
            values = _progression(self.terms, start, stop)
            if values is not None:
                return values
        return tuple(self[i] for i in range(start, stop))

    def __str__(self) -> str:
        if isinstance(self.terms, int):
            return special_name(self.terms) or str(self.terms)
        return "[" + " ".join(_text(term) for term in self.terms) + "]"


def _checked_int(value: object) -> int:
    if type(value) is not int or value not in INT64:
        raise ValueError("a value vector is neither a 64-bit integer nor an array")
    return value


def _check(term: object, endless: bool, depth: int) -> None:
    if type(term) is not tuple:
        _checked_int(term)
        return
    if depth >= MAX_DEPTH:
        raise ValueError(f"a value vector has loops nested more than {MAX_DEPTH} deep")
    if len(term) < 3:
        raise ValueError("a loop in a value vector is not [count, stride, term, ...]")
    _checked_int(term[0])
    _checked_int(term[1])
    if term[0] < (0 if endless else 1):
        raise ValueError(f"a loop in a value vector has count {term[0]}; only the last may be endless (0)")
    for inner in term[2:]:
        _check(inner, False, depth + 1)


def _times(terms: Any, factor: int) -> Any:
    if type(terms) is int:
        return terms * factor
    return tuple(
        t * factor if type(t) is int else (t[0], t[1] * factor, *_times(t[2:], factor)) for t in terms
    )


def _endless(terms: tuple[Term, ...]) -> bool:
    return bool(terms) and type(terms[-1]) is tuple and terms[-1][0] == 0


def _each(terms: tuple[Term, ...]) -> Iterator[int]:
    if all(type(term) is int for term in terms):
        return iter(terms)
    return chain.from_iterable(map(_values, terms))


def _values(term: Term) -> Any:
    """Return the values of one term, by C iterators where possible: this is the walk's inner loop."""
    if type(term) is int:
        return (term,)
    n, stride, *inner = term
    if len(inner) == 1 and type(inner[0]) is int:
        if stride:
            return range(inner[0], inner[0] + stride * n, stride) if n else count(inner[0], stride)
        return repeat(inner[0], n) if n else repeat(inner[0])
    return _loop(range(n) if n else count(), stride, tuple(inner))


def _loop(iterations: Iterable[int], stride: int, inner: tuple[Term, ...]) -> Iterator[int]:
    if stride == 0:
        for _ in iterations:
            yield from _each(inner)
    else:
        for iteration in iterations:
            shift = iteration * stride
            for value in _each(inner):  # one by one: the inner terms may have 2^63 values
                yield value + shift


def _length(term: Term) -> int:
    return 1 if type(term) is int else int(term[0]) * sum(_length(t) for t in term[2:])


def _prefix(terms: tuple[Term, ...], n: int) -> int:
    """Sum of the first n values of terms (n at most their length, else ValueError)."""
    total = 0
    for term in terms:
        if n <= 0:
            break
        if type(term) is int:
            total, n = total + term, n - 1
        else:
            part, used = _loop_prefix(term, n)
            total, n = total + part, n - used
    if n > 0:
        raise ValueError(f"a value vector ends {n} values too early")
    return total


def _loop_prefix(term: Term, n: int) -> tuple[int, int]:
    """Sum of up to n values of a loop, and how many there were."""
    trip_count, stride, *inner = term
    content = tuple(inner)
    length = sum(_length(t) for t in content)
    n = min(n, trip_count * length) if trip_count else n
    cycles, remainder = divmod(n, length)
    total: int = (
        cycles * _prefix(content, length) + stride * length * (cycles * (cycles - 1) // 2) if cycles else 0
    )
    if remainder:
        total += _prefix(content, remainder) + cycles * stride * remainder
    return total, n


def _item(terms: tuple[Term, ...], i: int) -> int:
    for term in terms:
        if type(term) is int:
            if i == 0:
                return int(term)
            i -= 1
            continue
        trip_count, stride, *inner = term
        length = sum(_length(t) for t in inner)
        if trip_count == 0 or i < trip_count * length:
            iteration, remainder = divmod(i, length)
            return int(_item(tuple(inner), remainder) + iteration * stride)
        i -= trip_count * length
    raise IndexError("a value vector ends before that index")


def _find(terms: tuple[Term, ...], value: int) -> int | None:
    before = 0
    for term in terms:
        if type(term) is int:
            if term == value:
                return before
            before += 1
            continue
        index = _find_in_loop(term, value)
        if index is not None:
            return before + index
        if term[0] == 0:
            return None  # an endless loop is the last term
        before += _length(term)
    return None


def _find_in_loop(term: Term, value: int) -> int | None:
    trip_count, stride, *content = term
    inner = tuple(content)
    length = sum(_length(t) for t in inner)
    low, high = min(map(_lowest, inner)), max(map(_highest, inner))
    if stride == 0:
        first, last = 0, 0
    elif stride > 0:
        first, last = -((high - value) // stride), (value - low) // stride
    else:
        first, last = -((value - low) // -stride), (high - value) // -stride
    last = last if trip_count == 0 else min(last, trip_count - 1)
    for iteration in range(max(first, 0), last + 1):
        index = _find(inner, value - iteration * stride)
        if index is not None:
            return iteration * length + index
    return None


def _lowest(term: Term) -> int:
    """Return the smallest value of a finite term."""
    low = _low(term)
    assert low is not None
    return low


def _highest(term: Term) -> int:
    if type(term) is int:
        return int(term)
    trip_count, stride, *inner = term
    return max(map(_highest, inner)) + int(stride * (trip_count - 1) if stride > 0 and trip_count > 1 else 0)


def _progression(terms: tuple[Term, ...], start: int, stop: int) -> range | None:
    """Return the values from start to before stop where they lie in one loop around an integer, else None."""
    for term in terms:
        length = _length(term) if type(term) is int or term[0] else stop
        if start >= length:
            start, stop = start - length, stop - length
            continue
        if type(term) is int or stop > length:
            return None
        _, stride, *inner = term
        if len(inner) == 1 and type(inner[0]) is int:
            first = inner[0] + start * stride
            return range(first, first + (stop - start) * stride, stride) if stride else None
        body = sum(_length(t) for t in inner)
        iteration, offset = divmod(start, body)
        if offset + stop - start > body:
            return None
        values = _progression(tuple(inner), offset, offset + stop - start)
        shift = iteration * stride
        return values and range(values.start + shift, values.stop + shift, values.step)
    return None


def _low(term: Term) -> int | None:
    if type(term) is int:
        return int(term)
    trip_count, stride, *inner = term
    if stride < 0 and trip_count == 0:
        return None
    low = min([value for value in map(_low, inner) if value is not None])
    return int(low + (stride * (trip_count - 1) if stride < 0 and trip_count > 1 else 0))


def _ends(terms: tuple[Term, ...], n: int | None = None) -> tuple[int, ...]:
    ends_of_terms: list[int] = []
    for term in terms:
        if n == 0:
            break
        if type(term) is int:
            ends_of_terms += [] if is_symbol(term) else [term]
            used = 1
        else:
            ends, used = _loop_ends(term, n)
            ends_of_terms += ends
        n = None if n is None else n - used
    return (min(ends_of_terms), max(ends_of_terms)) if ends_of_terms else ()


def _loop_ends(term: Term, n: int | None) -> tuple[list[int], int]:
    """Smallest and largest of up to n values of a loop and of its rest, and how many values there were."""
    trip_count, stride, *inner = term
    content = tuple(inner)
    used, cycles, remainder = 0, max(1, trip_count), 0
    if n is not None:
        length = sum(_length(t) for t in content)
        used = min(n, trip_count * length) if trip_count else n
        cycles, remainder = divmod(used, length)
    ends_of_loop: list[int] = []
    if cycles and (ends := _ends(content)):
        reach = stride * (cycles - 1)
        ends_of_loop = [ends[0] + min(0, reach), ends[1] + max(0, reach)]
    if remainder:
        ends_of_loop += [end + stride * cycles for end in _ends(content, remainder)]
    return ends_of_loop, used


def _text(term: Term) -> str:
    if type(term) is int:
        return special_name(term) or str(term)
    trip_count, stride, *inner = term
    by = f" by {stride}" if stride else ""
    return f"{trip_count or '..'}*({' '.join(map(_text, inner))}{by})"
