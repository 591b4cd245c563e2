"""When no rules are found, messages say which traces to leave out."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError, InputError, NoFormulaError, UndeterminedError
from scalatrace.extrap.refusal import Cause
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of


def by_the_longer_side(rank: Rank) -> list[IssuedCall]:
    """Sums along the longer side of the grid first, with other counts."""
    sides = [5 * rank.dims[0], 7 * rank.dims[1] + rank.place[1] * (rank.dims[0] > rank.dims[1])]
    order = sides if rank.dims[0] <= rank.dims[1] else [*sides[::-1], 3, 9]
    calls = [call("Allreduce", 2, count=1, comm="world")] * (len(order) + (rank.dims[0] > rank.dims[1]) * 2)
    return [
        *halo(wrap=False)(rank),
        *(call("Bcast", 1, count=n, root=0, comm="world") for n in order),
        *calls,
    ]


@pytest.mark.slow
def test_traces_of_one_shape_follow_rules() -> None:
    grids = [(3, 3), (4, 3), (4, 4), (5, 4), (5, 5), (3, 5)]
    given = [trace_of(by_the_longer_side, dims) for dims in grids]
    with pytest.raises(
        ExtrapolationError, match=r"only traces with Y >= X.*those of 9, 15, 16, 25 ranks follow rules"
    ):
        extrap.extrapolate(given, 36, (6, 6), dims_of=grids)
    some = [dims for dims in grids if dims[0] <= dims[1]]
    made = extrap.extrapolate([trace_of(by_the_longer_side, d) for d in some], 36, (6, 6), dims_of=some)
    assert diff(made.trace, trace_of(by_the_longer_side, (6, 6)), ["times"]) == []


def of_data(rank: Rank) -> list[IssuedCall]:
    """Counts that differ from rank to rank and from run to run, as those of sorted keys do."""
    seed = (rank.number + 2) * 7919 * (rank.dims[0] + 3)
    counts = [seed % (97 + 2 * k) + 5 for k in range(4)]
    return [call("Allgatherv", 1, recvcounts=counts, comm="world")]


def test_values_that_depend_on_data() -> None:
    given = [trace_of(of_data, (n,)) for n in (4, 6, 8, 12)]
    with pytest.raises(NoFormulaError, match=r"cause: the values depend on data\nnext: .*--lossy") as caught:
        extrap.extrapolate(given, 16)
    assert caught.value.cause is Cause.DATA


def until_convergence(rank: Rank) -> list[IssuedCall]:
    """A halo and sums, as often as a solver needs."""
    turns = {4: 23, 6: 37, 9: 47, 12: 65}[rank.dims[0] * rank.dims[1]]
    return [*halo(wrap=False)(rank), *[call("Allreduce", 2, count=1, comm="world")] * turns]


def test_iterations_that_depend_on_data() -> None:
    grids = [(2, 2), (2, 3), (3, 3), (3, 4)]
    with pytest.raises(ExtrapolationError, match="next: record with a fixed number of iterations"):
        extrap.extrapolate([trace_of(until_convergence, dims) for dims in grids], 16)


def test_a_trace_with_fewer_dimensions_is_too_small() -> None:
    grids = [(2, 2, 1), (2, 2, 2), (2, 3, 2), (3, 3, 2), (3, 3, 3)]
    given = [trace_of(halo(wrap=False), dims) for dims in grids]
    hint = "the trace of 4 ranks, which is too small: the others have the grids .*2x3x2, 3x3x2, 3x3x3"
    with pytest.raises(ExtrapolationError, match=hint):
        extrap.extrapolate(given, 36)
    with pytest.raises(InputError, match=hint):
        extrap.extrapolate(given, 36, (4, 3, 3))


def tree_and_halo(rank: Rank) -> list[IssuedCall]:
    """One call site sends from rank 0 to all, and along a binomial tree, as OpenFOAM's `UOPstream::write`."""
    nprocs = rank.dims[0] * rank.dims[1]
    below = [1 << k for k in range(nprocs.bit_length()) if rank.number % (2 << k) == 0]
    calls = [
        call("Send", 3, count=9, dest=k, tag=3, comm="world") for k in range(1, nprocs) if not rank.number
    ]
    if rank.number:
        calls.append(call("Recv", 4, count=9, source=0, tag=3, comm="world"))
    calls.append(call("Barrier", 2, comm="world"))
    if rank.number:
        up = rank.number & (rank.number - 1)
        calls.append(call("Recv", 4, count=7, source=up, tag=3, comm="world"))
    peers = [rank.number + k for k in reversed(below) if rank.number + k < nprocs]
    calls += [call("Send", 3, count=7, dest=peer, tag=3, comm="world") for peer in peers]
    return [*calls, *halo(wrap=False)(rank)]


def test_a_grid_is_found_beside_trees_and_sends_of_rank_0() -> None:
    grids = [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4)]
    given = [trace_of(tree_and_halo, dims) for dims in grids]
    made = extrap.extrapolate(given, 20, (4, 5))
    assert diff(made.trace, trace_of(tree_and_halo, (4, 5)), ["times"]) == []


def blocks(rank: Rank) -> list[IssuedCall]:
    """A halo whose messages have the length of blocks, the larger ones first."""
    peers = [p for step in ((0, 1), (0, -1)) if (p := rank.neighbour(step, False)) is not None]
    rows = [call("Irecv", 1, count=rank.block(0), source=p, tag=1, comm="world") for p in peers]
    rows += [call("Isend", 2, count=rank.block(0), dest=p, tag=1, comm="world") for p in peers]
    peers = [p for step in ((1, 0), (-1, 0)) if (p := rank.neighbour(step, False)) is not None]
    columns = [call("Irecv", 3, count=rank.block(1), source=p, tag=2, comm="world") for p in peers]
    columns += [call("Isend", 4, count=rank.block(1), dest=p, tag=2, comm="world") for p in peers]
    return [*rows, *columns, call("Waitall", 5, requests=tuple(range(len(rows + columns)))[::-1])]


@pytest.mark.slow
def test_another_problem_size_decides() -> None:
    grids = [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4)]
    given = [trace_of(blocks, dims, 48) for dims in grids]
    hint = r"add a trace of \d+ ranks \(\dx\d\), or of 4 ranks \(2x2\) with n = 49$"
    with pytest.raises(UndeterminedError, match=hint):
        extrap.extrapolate(given, 25, params={"n": 48})
    given.append(trace_of(blocks, (2, 2), 49))
    made = extrap.extrapolate(given, 25, params={"n": 48})
    assert diff(made.trace, trace_of(blocks, (5, 5), 48), ["times"]) == []


def rounded_to_even(rank: Rank) -> list[IssuedCall]:
    """A count that is 4 on 3 and on 4 columns: without the trace on 2 columns it would be a constant."""
    return [call("Allreduce", 1, count=rank.dims[1] + rank.dims[1] % 2, comm="world")]


def test_the_only_trace_that_shows_a_change_is_not_left_out() -> None:
    grids = [(2, 2), (4, 3), (4, 4), (5, 4)]
    with pytest.raises(ExtrapolationError) as caught:
        extrap.extrapolate([trace_of(rounded_to_even, dims) for dims in grids], 30, (6, 5), dims_of=grids)
    assert caught.value.step is not None
    assert not caught.value.step.leave_out


def count_by_column(rank: Rank) -> list[IssuedCall]:
    """A count of odd columns: 4 rows have no row that is two rows away from both borders, 5 have."""
    column = rank.place[0]
    return [call("Gatherv", 1, sendcount=5 * column + 3, root=0, comm="world")] * (column % 2)


def test_values_of_places_that_no_trace_has_are_not_taken_from_other_places() -> None:
    grids = [(2, 4), (4, 2), (5, 2), (3, 3), (4, 4)]
    traces = [trace_of(count_by_column, dims) for dims in grids]
    with pytest.raises(ExtrapolationError, match="next: add a trace of"):
        extrap.extrapolate(traces, 25, (5, 5), dims_of=grids)
