"""Count the different calls of an event node from the value vectors, without walking its loops.

    count [1000000*(8 16)], dest [1000000*(1 2)]     (8, 1) 1000000 times, (16, 2) 1000000 times

Vectors are read side by side. Where each of them repeats without a stride, one period (the least common
multiple of their loop bodies) is read and its counts are multiplied. So the time depends on the number of
different calls, not on trip counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import lcm
from typing import TYPE_CHECKING, Any

from scalatrace.errors import FormatError, LimitError
from scalatrace.trace.model.call import Call, CompiledEvent, ended, vec_at
from scalatrace.trace.model.callsite import call_site, short_frame
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.values.vec import Vec

TOO_MANY = -1

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["MAX_GROUPS", "counted_calls", "grouped"]

MAX_GROUPS = 1 << 22
"""Different calls listed of one event node and rank; more if the vectors have as many terms."""


def counted_calls(
    trace: Trace, event: Event, rank: int, times: int, matters: Callable[[str, str], bool]
) -> Iterator[tuple[Call, int]]:
    """Yield the calls of a node by a rank that runs it `times` times, each with how often it occurs.

    The order is not that of the calls, and equal calls may come more than once.

    Args:
        matters: called with operation and parameter; all calls have the others as the first call does.

    Raises:
        FormatError: a parameter has fewer values than that.
        LimitError: there are many more different calls than terms in the vectors, and than MAX_GROUPS.
    """
    if times <= 0:
        return
    place = CompiledEvent(trace, event, rank)
    if place.constant:
        yield Call(place, next(place.rows), -1), times
        return
    vecs, limit = [vec_at(place, param) for param in event.params], MAX_GROUPS
    for i, name in enumerate(place.names):
        if not matters(place.op.name, name):
            vecs[i] = Vec(_first_value(place, vecs[i]))
    for listed, (values, n) in enumerate(grouped(vecs, times)):
        if values is None:
            raise FormatError(ended(place))
        if listed == limit:
            limit = max(limit, 2 * sum(_terms(vec.terms) for vec in vecs))
        if listed == limit or n == TOO_MANY:
            stack = trace.stack(event.signature)
            where = f" at {short_frame(call_site(stack))}" if stack else ""
            raise LimitError(
                f"{place.op.name}{where}: rank {rank} makes {times} calls with more than {limit} "
                "different parameter values, too many to count one by one; record fewer steps"
            )
        yield Call(place, place.decoded(values), -1), n


def _first_value(place: CompiledEvent, vec: Vec) -> int:
    for value in vec:
        return value
    raise FormatError(ended(place))


def _terms(term: Any) -> int:
    return 1 if type(term) is int else sum(map(_terms, term))


def grouped(vecs: Sequence[Vec], n: int) -> Iterator[tuple[tuple[int, ...] | None, int]]:
    """Yield the first n tuples of values of some vectors with their numbers.

    None stands for a tuple where a vector ends before, the number TOO_MANY for a loop in which more than
    MAX_GROUPS different tuples follow.
    """
    return _joint([_chunks(vec, n) for vec in vecs], n, 1)


class _Chunk:
    """Consecutive values of a vector: `length` values of a term from its `offset`-th on, plus a shift."""

    __slots__ = ("body", "length", "offset", "shift", "stride", "terms", "value")

    def __init__(self, term: Any, shift: int, limit: int) -> None:
        self.offset, self.shift = 0, shift
        self.value: int | None = None
        self.terms: tuple[Any, ...] = ()
        self.body, self.stride = 1, 0
        if type(term) is int:
            self.value, self.length = term + shift, 1
            return
        count, self.stride, *terms = term
        self.terms = tuple(terms)
        self.body = sum(1 if type(t) is int else int(Vec((t,)).length or 0) for t in terms)
        self.length = count * self.body if count else limit
        if self.stride == 0 and len(terms) == 1 and type(terms[0]) is int:
            self.value = terms[0] + shift

    @property
    def period(self) -> int | None:
        """The number of values after which they repeat; None: never."""
        return 1 if self.value is not None else None if self.stride else self.body

    def min_distinct(self, n: int) -> int:
        """Return a lower bound of the different values among the first n: a stride changes each iteration."""
        return 0 if self.value is not None or not self.stride else n // self.body

    def skip(self, n: int) -> None:
        """Drop the first n values."""
        self.offset += n
        self.length -= n

    def begin(self, n: int) -> Iterator[_Chunk]:
        """Yield the first n values as one chunk."""
        chunk = _Chunk.__new__(_Chunk)  # the reader skips in it
        chunk.offset, chunk.shift, chunk.length, chunk.value = self.offset, self.shift, n, self.value
        chunk.body, chunk.stride, chunk.terms = self.body, self.stride, self.terms
        yield chunk

    def inside(self, n: int) -> Iterator[_Chunk]:
        """Yield the first n values by the terms inside the loop."""
        iteration, skipped = divmod(self.offset, self.body)
        while n > 0:
            for term in self.terms:
                chunk = _Chunk(term, self.shift + iteration * self.stride, n)
                if skipped >= chunk.length:
                    skipped -= chunk.length
                    continue
                chunk.skip(skipped)
                skipped = 0
                n -= chunk.length
                yield chunk
                if n <= 0:
                    return
            iteration += 1


def _chunks(vec: Vec, n: int) -> Iterator[_Chunk]:
    if isinstance(vec.terms, int):
        yield _Chunk((0, 0, vec.terms), 0, n)
        return
    for term in vec.terms:
        yield _Chunk(term, 0, n)


def _joint(
    streams: list[Iterator[_Chunk]], n: int, times: int
) -> Iterator[tuple[tuple[int, ...] | None, int]]:
    """Yield the tuples of n values of each stream, each `times` times as often as it occurs."""
    chunks: list[_Chunk | None] = [next(stream, None) for stream in streams]
    while n > 0:
        present = [chunk for chunk in chunks if chunk is not None]
        if len(present) < len(chunks):
            yield None, 0
            return
        length = min([n, *(chunk.length for chunk in present)])
        values = tuple(chunk.value for chunk in present)
        if None not in values:
            yield values, length * times  # type: ignore[misc]
        else:
            periods = [chunk.period for chunk in present]
            period = None if None in periods else lcm(*periods)  # type: ignore[arg-type]
            periods_in_length = length // period if period else 1
            if any(chunk.min_distinct(length) > MAX_GROUPS for chunk in present):
                yield (), TOO_MANY
                return
            if period and periods_in_length > 1:
                length = period * periods_in_length
                yield from _joint(_inside(present, period), period, times * periods_in_length)
            else:
                yield from _joint(_inside(present, length), length, times)
        n -= length
        for i, chunk in enumerate(present):
            chunk.skip(length)
            if not chunk.length:
                chunks[i] = next(streams[i], None)


def _inside(chunks: Sequence[_Chunk], n: int) -> list[Iterator[_Chunk]]:
    """Return the first n values of each chunk: the longest loop bodies term by term, others as one chunk."""
    longest = max(chunk.body for chunk in chunks if chunk.value is None)
    return [
        chunk.inside(n) if chunk.value is None and chunk.body == longest else chunk.begin(n)
        for chunk in chunks
    ]
