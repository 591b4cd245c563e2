"""Elastic values as expressions: of the rank, and of how often a node ran before.

Nothing is expanded that the trace keeps small: a loop of values becomes a quotient and a remainder of the
index, an arithmetic progression a product. Values without a rule become static tables, which are as long as
they were in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from scalatrace.codegen.program.conditions import among, rank_variable
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Item,
    Lookup,
    Special,
    Value,
    add,
    bounds,
    choose,
    compare,
    div,
    entry,
    length,
    mod,
    mul,
    number,
    select,
)
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.symbolic.special_values import constant, looked_up, stored
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["of_elastic", "of_vec", "prefix_of_vec"]

MAX_CYCLE_VALUES = 1 << 12
"""Cycles up to this length are looked at value by value."""

MAX_INDEX_LENGTH = 24
"""Variables and numbers of an index that may be repeated in an expression."""

STRIDE_USES = 4
"""Further uses of the index in the sum of values that grow from one repetition to the next."""

MAX_RANK_ALTERNATIVES = 4
"""Alternatives that conditions on the rank select; more become a table."""

MAX_CACHED_VALUES = 1 << 12
"""Value vectors whose expressions are cached: successive calls often have equal parameters."""

Terms = tuple[Any, ...]
Group = tuple[RankList, Value]
Row = tuple[RankList, tuple[int | Special, ...]]


def of_elastic(value: Elastic, universe: RankList, nprocs: int, of: Callable[[Vec], Value]) -> Value:
    """What each rank of the universe has (the value names them all); `of` makes one vector's expression."""
    if isinstance(value, Vec):
        return of(value)
    if isinstance(value, Columns):
        named = value.ranks & universe
        values = {rank: value.value(rank) or 0 for rank in named}
        groups = [(RankList(ranks), of(Vec(v))) for v, ranks in _inverse(values).items()]
    else:
        assert isinstance(value, Groups)  # formulas were written out
        groups = [
            (ranks & universe, of(vec)) for ranks, vec in value.groups if not universe.isdisjoint(ranks)
        ]
    return _by_rank(_united(groups), universe, nprocs)


def _inverse(values: dict[int, int]) -> dict[int, list[int]]:
    result: dict[int, list[int]] = {}
    for rank, value in values.items():
        result.setdefault(value, []).append(rank)
    return result


def _united(groups: Sequence[Group]) -> list[Group]:
    """Groups with equal expressions as one."""
    result: dict[Value, RankList] = {}
    for ranks, e in groups:
        result[e] = result[e] | ranks if e in result else ranks
    return [(ranks, e) for e, ranks in result.items()]


def _by_rank(groups: Sequence[Group], universe: RankList, nprocs: int) -> Value:
    numbers = [(ranks, n) for ranks, e in groups if (n := stored(e)) is not None]
    if len(groups) > 1 and len(numbers) == len(groups):
        values = {rank: n for ranks, n in numbers for rank in ranks}
        if (result := _formula(values, nprocs)) is not None:
            return result
        if len(groups) > MAX_RANK_ALTERNATIVES:
            table = tuple(values.get(rank, 0) for rank in range(max(values) + 1))
            return looked_up(table, rank_variable(nprocs))
    if not groups:
        return Const(0)
    if len(groups) > 2:
        groups = _tables_joined(groups, nprocs)
    # The last one needs no condition: the largest, if conditions can select the others.
    *others, (_, last) = sorted(groups, key=lambda group: len(group[0]))
    left = universe
    chain: list[tuple[RankList, RankList, Value]] = []
    for ranks, e in others:
        chain.append((ranks, left, e))
        left = left - ranks
    for ranks, there, e in reversed(chain):
        last = select(among(ranks, there, nprocs), e, last)
    return last


def _tables_joined(groups: Sequence[Group], nprocs: int) -> Sequence[Group]:
    """Groups of which those with tables, read at the same index, have one table together.

    On each rank the index is below the length of the rank's own table, and of no other. So a rank with a
    constant has a row of its own only if the index is known to be small enough on all ranks.
    """
    rows: list[Row] = [(ranks, e.table) for ranks, e in groups if isinstance(e, Item | Lookup)]
    constants: list[Group] = [group for group in groups if stored(group[1]) is not None]
    indices = {e.index for _, e in groups if isinstance(e, Item | Lookup)}
    if len(indices) != 1 or len(rows) + len(constants) < len(groups):
        return groups
    (index,), width = indices, max(len(table) for _, table in rows)
    limits = bounds(index)
    if limits is not None and limits[0] >= 0 and limits[1] < width:
        rows += [(ranks, (_entry(e),) * width) for ranks, e in constants]
        constants = []
    if len(rows) < 2:
        return groups
    if len(constants) > 1:
        everyone = _union(constants)
        constants = [(everyone, _by_rank(constants, everyone, nprocs))]
    table = _of_rows(rows, index, len(groups), nprocs)
    return groups if table is None else [*constants, (_union(rows), table)]


def _of_rows(rows: list[Row], index: Expr, ngroups: int, nprocs: int) -> Value | None:
    """An entry of the row of each rank, in one table; None if that is no shorter."""
    width, nranks = len(rows[0][1]), max(ranks.runs[-1][1] for ranks, _ in rows)
    if nranks <= 2 * ngroups and all(len(table) == width for _, table in rows):
        by_rank = {rank: table for ranks, table in rows for rank in ranks}
        entries = [by_rank.get(rank, (0,) * width) for rank in range(nranks)]
        start = mul(rank_variable(nprocs), Const(width))
    elif len(rows) > MAX_RANK_ALTERNATIVES:
        entries = [table for _, table in rows]
        starts = accumulate(map(len, entries), initial=0)
        first = [(ranks, Const(n)) for (ranks, _), n in zip(rows, starts, strict=False)]
        start = number(_by_rank(first, _union(first), nprocs))
    else:
        return None
    return entry([value for row in entries for value in row], add(start, index))


def _entry(e: Value) -> int | Special:
    assert isinstance(e, Const | Special)
    return e.value if isinstance(e, Const) else e


def _union(groups: Sequence[tuple[RankList, object]]) -> RankList:
    return RankList.from_runs(run for ranks, _ in groups for run in ranks.runs)


def _formula(values: dict[int, int], nprocs: int) -> Value | None:
    """A short rule for the values of these ranks, evenly spaced from the first on."""
    ranks = sorted(values)
    if len(ranks) < 3:
        return None
    step = ranks[1] - ranks[0]
    if ranks != list(range(ranks[0], ranks[-1] + 1, step)):
        return None
    terms = compress(values[rank] for rank in ranks)
    if len(terms) > 1 or len(terms[0]) > 3 + MAX_RANK_ALTERNATIVES or not _short(terms[0]):
        return None
    if _grows(terms[0]) and min(values.values()) < SPECIAL_MAX:  # from a rank to MPI_PROC_NULL
        return None
    rank = rank_variable(nprocs)
    index = div(add(rank, Const(-ranks[0])), step) if step > 1 else add(rank, Const(-ranks[0]))
    found = bounds(index)
    if found is not None and found[0] < 0 and not isinstance(terms[0][2], int):
        return None
    return of_vec(Vec(terms), index, len(ranks))


def _short(term: Any) -> bool:
    return all(isinstance(t, int) or (len(t) == 3 and isinstance(t[2], int)) for t in term[2:])


def _grows(term: Any) -> bool:
    return any(t[1] != 0 for t in (term, *term[2:]) if not isinstance(t, int))


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
    return _at(_unrotated(separated), index, limit)


def _limit(index: Expr, limit: int | None) -> int | None:
    found = bounds(index)
    known = found[1] + 1 if found else None
    return min(limit, known) if limit is not None and known is not None else limit or known


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


def _unrotated(terms: Terms) -> Terms:
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
    if (n := _listed(terms, len(pieces), index, limit)) is not None:
        return _table(tuple(Vec(terms).first(n)), index)
    start, chain = 0, []
    for i, piece in enumerate(pieces):
        n = _length(piece)
        e = _piece(piece, add(index, Const(-start)), limit - start if limit is not None else None)
        if n is None or i == len(pieces) - 1 or (limit is not None and start + n >= limit):
            break
        start += n
        chain.append((start, e))
    for end, before in reversed(chain):
        e = select(compare("<", index, Const(end)), before, e)
    return e


def _listed(terms: Terms, uses: int, index: Expr, limit: int | None) -> int | None:
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
    whole = _length(terms)
    if len(terms) > MAX_RANK_ALTERNATIVES and whole is not None and whole <= 8 * len(terms):
        return [Vec(terms).first(whole)]
    pieces: list[Terms] = []
    for term in terms:
        if isinstance(term, int) and pieces and isinstance(pieces[-1][0], int):
            pieces[-1] = (*pieces[-1], term)
        else:
            pieces.append((term,))
    return pieces


def _piece(terms: Terms, index: Expr, limit: int | None) -> Value:
    if isinstance(terms[0], int):
        return constant(terms[0]) if len(terms) == 1 else _table(terms, index)
    turns, stride, *inner = terms[0]
    content = tuple(inner)
    period = _length(content)
    assert period is not None
    whole = turns == 1 or (limit is not None and limit <= period)
    quotient = Const(0) if whole else div(index, period)
    at = _at(content, index if whole else mod(index, period), period)
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
    return _prefix(_unrotated(terms), n, _limit(n, None))


def _prefix(terms: Terms, n: Expr, limit: int | None) -> Expr:
    pieces = _pieces(terms)
    loops = sum(not isinstance(piece[0], int) for piece in pieces)  # quotient and rest
    uses = len(pieces) + loops + STRIDE_USES * any(_stride(piece) for piece in pieces)
    if (most := _listed(terms, uses, n, limit)) is not None:
        return number(_table((0, *accumulate(Vec(terms).first(most))), n))
    start, total, chain = 0, 0, []
    for i, piece in enumerate(pieces):
        length = _length(piece)
        e = add(_prefix_of_piece(piece, add(n, Const(-start))), Const(total))
        if length is None or i == len(pieces) - 1 or (limit is not None and start + length >= limit):
            break
        start += length
        total += Vec(piece).total(length)
        chain.append((start, e))
    for end, before in reversed(chain):
        e = choose(compare("<", n, Const(end)), before, e)
    return e


def _prefix_of_piece(terms: Terms, n: Expr) -> Expr:
    if isinstance(terms[0], int):
        sums = (0, *accumulate(terms))
        return mul(n, Const(terms[0])) if len(terms) == 1 else number(_table(sums, n))
    _, stride, *inner = terms[0]
    content = tuple(inner)
    period = _length(content)
    assert period is not None
    whole, rest = div(n, period), mod(n, period)
    total = add(mul(whole, Const(Vec(content).total(period))), _prefix(content, rest, period))
    if not stride:
        return total
    triangle = Binary("/", Binary("*", whole, add(whole, Const(-1))), Const(2))
    grown = add(mul(triangle, Const(stride * period)), mul(Binary("*", whole, rest), Const(stride)))
    return add(total, grown)
