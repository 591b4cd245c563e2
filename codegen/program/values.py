"""Value vectors as expressions of how often a node ran before.

Nothing is expanded that the trace keeps small: a loop of values becomes a quotient and a remainder of the
index, an arithmetic progression a product. Values without a rule become static tables, which are as long as
they were in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise

from scalatrace.codegen.program.segments import (
    MAX_ALTERNATIVES,
    ListSegment,
    Terms,
    one_of,
    prefix_in_segments,
    segment_of,
    unroll_pieces,
    value_in_segments,
)
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Value,
    add,
    bounds,
    div,
    length,
    mod,
    mul,
    number,
)
from scalatrace.trace.symbolic.special_values import constant, looked_up
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["of_vec", "prefix_of_vec", "unrotate"]

MAX_CYCLE_VALUES = 1 << 12
"""Cycles up to this length are looked at value by value."""

MAX_INDEX_LENGTH = 24
"""Variables and numbers of an index that may be repeated in an expression."""

STRIDE_USES = 4
"""Further uses of the index in the sum of values that grow from one repetition to the next."""

MAX_UNLISTED_TERMS = 4
"""Terms up to which no table takes the place of terms that it makes not much longer."""

MAX_CACHED_VALUES = 1 << 12
"""Value vectors whose expressions are cached: successive calls often have equal parameters."""


def of_vec(vec: Vec, index: Expr, limit: int | None = None) -> Value:
    """The value at an index (from 0, below `limit` if that is known)."""
    if vec.constant is not None:
        return constant(vec.constant)
    if not vec.terms:
        raise FormatError("corrupt trace: a call has a parameter without values")
    return _of_terms(vec.terms, index, _limit(index, limit))


@lru_cache(MAX_CACHED_VALUES)
def _of_terms(terms: Terms, index: Expr, limit: int | None) -> Value:
    separated: Terms = separate_specials(Vec(terms), limit).terms  # type: ignore[assignment]
    return _at(unrotate(separated), index, limit)


def _limit(index: Expr, limit: int | None) -> int | None:
    limits = bounds(index)
    count = limits[1] + 1 if limits else None
    return min(limit, count) if limit is not None and count is not None else limit or count


def _length(terms: Terms) -> int | None:
    """Number of values; None without end."""
    total = 0
    for term in terms:
        if isinstance(term, int):
            total += 1
            continue
        inner = _length(term[2:])
        if term[0] == 0 or inner is None:
            return None
        total += term[0] * inner
    return total


def unrotate(terms: Terms) -> Terms:
    """The endless cycle alone, when what stands before it is the end of the same cycle."""
    last = terms[-1]
    if len(terms) < 2 or isinstance(last, int) or last[0] != 0 or last[1] != 0:
        return terms
    head, period = _length(terms[:-1]), _length(last[2:])
    if head is None or period is None or max(head, period) > MAX_CYCLE_VALUES:
        return terms
    cycle, first = Vec(last[2:]).first(period), Vec(terms[:-1]).first(head)
    if any(value != cycle[(i - head) % period] for i, value in enumerate(first)):
        return terms
    turned = tuple(cycle[(i - head) % period] for i in range(period))
    return ((0, 0, *compress(turned)),)


def _at(terms: Terms, index: Expr, limit: int | None) -> Value:
    pieces = _pieces(terms)
    if (n := _count_listed(terms, len(pieces), index, limit)) is not None:
        return _table(tuple(Vec(terms).first(n)), index)
    parts: list[tuple[int, Value]] = []
    for part, start, part_limit in _parts(pieces, limit):
        if isinstance(part, list):
            parts.append((start, value_in_segments(part, index)))
        else:
            parts.append((start, _piece(part, add(index, Const(-start)), part_limit)))
    return one_of(parts, index)


def _count_listed(terms: Terms, uses: int, index: Expr, limit: int | None) -> int | None:
    """How many values to list, where that is shorter than to repeat a long index `uses` times.

    Loops whose repeats follow no rule, one in the other, would have texts that are the product of theirs.
    """
    index_length = length(index)
    ends = [n for n in (_length(terms), limit) if n is not None]
    if uses < 2 or index_length <= MAX_INDEX_LENGTH or not ends:
        return None
    return min(ends) if min(ends) <= min(uses * index_length, MAX_CYCLE_VALUES) else None


def _stride(piece: Terms) -> int:
    return 0 if isinstance(piece[0], int) else piece[0][1]


def _pieces(terms: Terms) -> list[Terms]:
    """Single integers side by side become one table, and so does all that a table makes not much longer."""
    total_length = _length(terms)
    if len(terms) > MAX_UNLISTED_TERMS and total_length is not None and total_length <= 8 * len(terms):
        return [Vec(terms).first(total_length)]
    pieces: list[Terms] = []
    for term in terms:
        if isinstance(term, int) and pieces and isinstance(pieces[-1][0], int):
            pieces[-1] = (*pieces[-1], term)
        else:
            pieces.append((term,))
    return pieces


def _parts(
    pieces: list[Terms], limit: int | None
) -> Iterator[tuple[Terms | list[ListSegment], int, int | None]]:
    """The pieces up to a limit; among many, neighbours that a table can list are one.

    Yields:
        A piece or segments, their first index, and how far the limit is from there.
    """
    many, start, segments = len(pieces) > MAX_ALTERNATIVES, 0, list[ListSegment]()
    for piece in unroll_pieces(pieces) if many else pieces:
        nvalues, part_limit = _length(piece), limit - start if limit is not None else None
        segment = segment_of(piece, start, nvalues) if many else None
        if segment is not None:
            segments.append(segment)
        else:
            if segments:
                yield segments, segments[0].start, None
                segments = []
            yield piece, start, part_limit
        if nvalues is None or (part_limit is not None and nvalues >= part_limit):
            break
        start += nvalues
    if segments:
        yield segments, segments[0].start, None


def _piece(terms: Terms, index: Expr, limit: int | None) -> Value:
    if isinstance(terms[0], int):
        return constant(terms[0]) if len(terms) == 1 else _table(terms, index)
    turns, stride, *inner = terms[0]
    content = tuple(inner)
    period = _length(content)
    assert period is not None
    is_single_turn = turns == 1 or (limit is not None and limit <= period)
    quotient = Const(0) if is_single_turn else div(index, period)
    at = _at(content, index if is_single_turn else mod(index, period), period)
    return add(number(at), mul(quotient, Const(stride))) if stride else at


def _table(values: tuple[int, ...], index: Expr) -> Value:
    if len(set(values)) == 1:
        return constant(values[0])
    step = values[1] - values[0]
    plain = min(values) >= SPECIAL_MAX  # no progression has constants of MPI
    if len(values) > 2 and plain and all(b - a == step for a, b in pairwise(values)):
        return add(mul(index, Const(step)), Const(values[0]))
    return looked_up(values, index)


def prefix_of_vec(vec: Vec, n: Expr) -> Expr:
    """The sum of the values before index n."""
    if vec.constant is not None:
        return mul(n, Const(vec.constant))
    terms: Terms = vec.terms  # type: ignore[assignment]
    return _prefix(unrotate(terms), n, _limit(n, None))


def _prefix(terms: Terms, n: Expr, limit: int | None) -> Expr:
    pieces = _pieces(terms)
    loops = sum(not isinstance(piece[0], int) for piece in pieces)  # quotient and rest
    uses = len(pieces) + loops + STRIDE_USES * any(_stride(piece) for piece in pieces)
    if (most := _count_listed(terms, uses, n, limit)) is not None:
        return number(_table((0, *accumulate(Vec(terms).first(most))), n))
    parts: list[tuple[int, Expr]] = []
    total = 0
    for part, start, _ in _parts(pieces, limit):
        if isinstance(part, list):
            totals = list(accumulate((segment.total for segment in part), initial=total))
            parts.append((start, prefix_in_segments(part, totals[:-1], n)))
            total = totals[-1]
            continue
        parts.append((start, add(_prefix_of_piece(part, add(n, Const(-start))), Const(total))))
        if (nvalues := _length(part)) is not None:
            total += Vec(part).total(nvalues)
    return number(one_of(parts, n))


def _prefix_of_piece(terms: Terms, n: Expr) -> Expr:
    if isinstance(terms[0], int):
        sums = (0, *accumulate(terms))
        return mul(n, Const(terms[0])) if len(terms) == 1 else number(_table(sums, n))
    _, stride, *inner = terms[0]
    content = tuple(inner)
    period = _length(content)
    assert period is not None
    turns, within = div(n, period), mod(n, period)
    total = add(mul(turns, Const(Vec(content).total(period))), _prefix(content, within, period))
    if not stride:
        return total
    triangle = Binary("/", Binary("*", turns, add(turns, Const(-1))), Const(2))
    grown = add(mul(triangle, Const(stride * period)), mul(Binary("*", turns, within), Const(stride)))
    return add(total, grown)
