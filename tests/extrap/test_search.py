"""The search of a grammar: rules that no partition of the ranks into classes has, and which are refused."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.fit import searched as fit_by_search
from scalatrace.extrap.grid.space import Run, Space
from scalatrace.extrap.search.bank import Bank
from scalatrace.extrap.search.costs import bits_of_literals, formula_bits, literal_bits
from scalatrace.extrap.search.hits import FormulaSearch, Hit
from scalatrace.extrap.search.judge import MARGIN, judge
from scalatrace.extrap.search.library import leaves, places
from scalatrace.extrap.search.rows import rows_of
from scalatrace.formula import Const, evaluate, format_text, parse_number
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.shapes import Parts
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of

LINE = [(3,), (4,), (5,), (6,), (8,)]


def block(n: int, parts: int, k: int) -> int:
    """Part k of n elements, the first ones longer."""
    return n // parts + (k % parts < n % parts)


def travelling_blocks(rank: Rank) -> list[IssuedCall]:
    """Every block goes around a ring: in step i rank r has that of rank r - i."""
    size, own = prod(rank.dims), rank.number
    calls = []
    for i in range(size - 1):
        sent, received = (block(rank.n, size, own - i - k) for k in (0, 1))
        calls += [
            call("Irecv", 1, count=received, source=(own - 1) % size, tag=1, comm="world"),
            call("Send", 2, count=sent, dest=(own + 1) % size, tag=1, comm="world"),
            call("Wait", 3, request=0),
        ]
    return calls


def transposed_slabs(rank: Rank) -> list[IssuedCall]:
    """Counts are products of blocks of two dimensions, of which one is the partner's."""
    size, own = prod(rank.dims), rank.number
    sent = tuple(block(rank.n, size, own) * block(rank.n, size, k) * 2 for k in range(size))
    return [call("Alltoallv", 4, sendcounts=sent, comm="world")] * 3


def owners(rank: Rank) -> list[IssuedCall]:
    """The owner of each of 24 panels is the root."""
    size = prod(rank.dims)
    return [call("Bcast", 5, count=7, root=k * size // 24, comm="world") for k in range(24)]


def last_part_longer(rank: Rank) -> list[IssuedCall]:
    """The last rank has what is left, and everybody a halo of two."""
    size = prod(rank.dims)
    own = rank.n // size + (rank.number == size - 1) * (rank.n % size)
    return [call("Allgatherv", 6, count=3 * own + 6, comm="world")] * 4


def colours(rank: Rank) -> list[IssuedCall]:
    """Points of one colour of a chessboard in the first row of a rank."""
    first = rank.number * rank.n // prod(rank.dims)
    return [call("Reduce", 7, count=50 + (first + i) % 2, root=0, comm="world") for i in range(6)]


@pytest.mark.parametrize(
    ("program", "n"),
    [(travelling_blocks, 1000), (transposed_slabs, 94), (last_part_longer, 101), (colours, 101)],
)
def test_rules_are_found(program: Callable[[Rank], list[IssuedCall]], n: int) -> None:
    traces = [trace_of(program, dims, n) for dims in LINE]
    result = extrap.extrapolate(traces, 12, params={"n": n})
    assert not diff(result.trace, trace_of(program, (12,), n), ["times"])


def test_owners_of_panels() -> None:
    traces = [trace_of(owners, dims, 24) for dims in LINE if 24 % prod(dims) == 0]
    result = extrap.extrapolate(traces, 12, params={"n": 24})
    assert not diff(result.trace, trace_of(owners, (12,), 24), ["times"])


def test_random_counts_follow_no_rule() -> None:
    """Five traces of counts that depend on data have no formula that is believed."""
    rng = np.random.default_rng(1)
    drawn = {(size, rank): int(rng.integers(1, 500)) for (size,) in LINE for rank in range(size)}

    def program(rank: Rank) -> list[IssuedCall]:
        count = drawn[prod(rank.dims), rank.number]
        return [call("Reduce", 8, count=count, root=0, comm="world")] * 3

    with pytest.raises(ScalatraceError, match="no formula found for count"):
        extrap.extrapolate([trace_of(program, dims, 100) for dims in LINE], 12, params={"n": 100})


def test_traces_of_one_rank_are_samples() -> None:
    """Nothing is divided by the number of the other ranks, which is 0 there."""
    given = [trace_of(last_part_longer, (size,), 101) for size in range(1, 7)]
    made = extrap.extrapolate(given, 12, (12,), params={"n": 101}, dims_of=[(size,) for size in range(1, 7)])
    assert diff(made.trace, trace_of(last_part_longer, (12,), 101), ["times"]) == []


def searched(dims: list[tuple[int, ...]], n: int) -> tuple[Space, FormulaSearch, np.ndarray]:
    """The search over all ranks of traces on some grids."""
    space = Space([Run(Grid(sides), {"n": n}) for sides in dims])
    points = np.arange(int(space.starts[-1]))
    rows = rows_of(space, points, {})
    entries = leaves(space, rows, sized_only=False)
    known = {leaf.formula: leaf.bits for leaf in entries}
    return space, FormulaSearch(Bank(entries, rows.count), rows, places(space, rows, False), known), points


@pytest.fixture(scope="module")
def line() -> tuple[Space, FormulaSearch, np.ndarray]:
    return searched(LINE, 101)


FORMULAS = (
    "x*x+3", "n//X*4+x", "min(x,X-1-x)", "(x+3)%X", "block(n,X,x)*8+16", "(x^1)*2", "log2(x+1)", "x*(n//X)+7",
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(FORMULAS), st.integers(1, 9), st.integers(-5, 40))
def test_the_formula_or_a_rival_is_right(
    line: tuple[Space, FormulaSearch, np.ndarray], text: str, factor: int, constant: int
) -> None:
    """What the judge believes holds on every sample, and on larger grids itself or one of its rivals."""
    space, search, points = line
    formula = parse_number(f"{factor}*({text})+{constant}")
    here = {name: column[points] for name, column in space.columns.items()}
    values = np.broadcast_to(np.asarray(evaluate(formula, here)), points.shape).astype(np.int64)
    verdict = judge(search.hits(values), values, here)
    if verdict is None:
        return
    grid = Grid((48,))
    there = {**grid.columns, "n": 101}
    expected = np.broadcast_to(np.asarray(evaluate(formula, there)), (48,))
    found = [hit.formula() for hit in (verdict.best, *verdict.rivals)]
    assert (np.asarray(evaluate(found[0], here)) == values).all()
    assert any((np.asarray(evaluate(one, there)) == expected).all() for one in found), format_text(found[0])


def test_all_formulas_of_a_bank_have_its_columns(line: tuple[Space, FormulaSearch, np.ndarray]) -> None:
    """The columns that the bank computes are the values of the formulas."""
    space, search, points = line
    here = {name: column[points] for name, column in space.columns.items()}
    for at in range(0, len(search.bank), 97):
        values = np.asarray(evaluate(search.bank.formula(at), here))
        assert (search.bank.table[at, : len(points)] == values).all(), format_text(search.bank.formula(at))


def test_rivals_are_what_is_nearly_as_short() -> None:
    def hit(number: int, bits: int) -> Hit:
        return Hit(lambda: Const(number), bits, np.full(3, number))

    values = np.arange(20)
    verdict = judge([hit(1, 10), hit(2, 14), hit(3, 40)], values, {})
    assert verdict is not None
    assert [found.formula() for found in (verdict.best, *verdict.rivals)] == [Const(1), Const(2)]
    assert judge([hit(1, 10)], np.array([1, 2]), {}) is None


def test_round_numbers_are_short() -> None:
    assert literal_bits(4096) < literal_bits(4095)
    assert literal_bits(12000) < literal_bits(12347)
    assert formula_bits(parse_number("n//X"), {}) < formula_bits(parse_number("n//X+17"), {})


def padded_tiles(rank: Rank) -> list[IssuedCall]:
    """Tiles with a border of one: sizes of a window, and a displacement of few values in all traces."""
    width, height = (rank.n // side + 2 for side in rank.dims)
    return [
        call("Win_allocate", 50, size=16 * width * height, comm="world"),
        call("Allreduce", 51, count=width * height + 1, comm="world"),
        *[call("Bcast", 52, count=width * height * (k % 2) + 2 * width - 1, comm="world") for k in range(6)],
    ]


def test_formulas_share_parts() -> None:
    grids = [(3, 3), (4, 3), (4, 4), (5, 4)]
    given = [trace_of(padded_tiles, dims, 240) for dims in grids]
    made = extrap.extrapolate(given, 30, (6, 5), params={"n": 240}, dims_of=grids)
    assert diff(made.trace, trace_of(padded_tiles, (6, 5), 240), ["times"]) == []


def test_sum_with_a_common_factor_has_short_literals() -> None:
    """16*(n//X)+16 is 16*(n//X+1): the number 245 in place of n is much longer than that."""
    halo, number = map(parse_number, ("16*(n//X)+16", "16*(245//X)"))
    assert bits_of_literals(number) - bits_of_literals(halo) > MARGIN
    assert formula_bits(halo, {}) == formula_bits(parse_number("16*(n//X)+1"), {})
    assert bits_of_literals(parse_number("16*(n//X)+17")) > bits_of_literals(halo)


def test_searches_that_do_not_exist_are_left_to_the_caller() -> None:
    space = Space([Run(Grid((side,)), {"n": 1000}) for side in (3, 4, 5, 7)])
    points = range(int(space.starts[-1]))
    samples = {p: Parts(None, (1000 // int(space.columns["X"][p]),)) for p in points}

    def search() -> bool:
        return fit_by_search.fit(space, samples, {}) is not None

    fit_by_search._SEARCHES.clear()
    assert fit_by_search.with_known_searches(search) is None
    assert search()
    assert fit_by_search.with_known_searches(search) is True
