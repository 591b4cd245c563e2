"""Inputs that cannot be extrapolated, each with its own error."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.extrapolate import parse_input
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.ranklist import RankList
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of, wavefront

PLANES = [(4, 4), (5, 4), (5, 5)]


def test_one_trace() -> None:
    with pytest.raises(InputError, match="one trace shows no trend"):
        extrap.extrapolate([trace_of(halo(False), (4, 4))], 64)


def test_the_same_size_twice() -> None:
    with pytest.raises(InputError, match="same number of ranks"):
        extrap.extrapolate([trace_of(halo(False), (4, 4))] * 2, 64)


def test_a_crashed_run() -> None:
    traces = [trace_of(halo(False), dims) for dims in PLANES]
    traces[1].ranks = RankList(range(19))
    with pytest.raises(InputError, match="20 ranks lacks 1 of them"):
        extrap.extrapolate(traces, 64)


def test_different_programs() -> None:
    traces = [trace_of(halo(False), (4, 4)), trace_of(halo(False), (5, 4)), trace_of(wavefront, (5, 5), 9)]
    for trace in traces:
        trace.meta["param.n"] = "9"
    with pytest.raises((InputError, ExtrapolationError)):
        extrap.extrapolate(traces, 64, dims_of=PLANES, dims=(8, 8))


def test_a_value_without_rule_names_its_call() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        count = {16: 7, 20: 1, 25: 40, 30: 2}[rank.dims[0] * rank.dims[1]]
        return [call("Allreduce", 33, count=count, comm="world")]

    traces = [trace_of(body, dims) for dims in [*PLANES, (6, 5)]]
    with pytest.raises(
        ExtrapolationError, match=r"no formula found for count of Allreduce at app\.py:33"
    ) as error:
        extrap.extrapolate(traces, 64, dims_of=[*PLANES, (6, 5)])
    assert "25 ranks (5x5)" in str(error.value)


@pytest.mark.slow
def test_a_target_that_is_no_square() -> None:
    traces = [trace_of(halo(False), (side, side)) for side in (3, 4, 5)]
    with pytest.raises(InputError, match="60 is none"):
        extrap.extrapolate(traces, 60)


@pytest.mark.slow
def test_a_grid_of_another_size() -> None:
    traces = [trace_of(halo(False), dims) for dims in PLANES]
    with pytest.raises(InputError, match="has 64 ranks, not 60"):
        extrap.extrapolate(traces, 60, (8, 8))
    with pytest.raises(InputError, match="2-dimensional grid"):
        extrap.extrapolate(traces, 64, (4, 4, 4))


def test_parameters_that_differ_have_to_be_said() -> None:
    traces = [trace_of(wavefront, dims, 3 * dims[0]) for dims in [*PLANES, (6, 6)]]
    with pytest.raises(InputError, match="parameter n differs"):
        extrap.extrapolate(traces, 64, (8, 8))
    with pytest.raises(InputError, match="no parameter m"):
        extrap.extrapolate(traces, 64, (8, 8), {"m": 1})


def test_names_that_formulas_use() -> None:
    traces = [trace_of(halo(False), dims) for dims in PLANES]
    traces[0].meta["param.X"] = "3"
    with pytest.raises(InputError, match="parameter name 'X' is reserved"):
        extrap.extrapolate(traces, 64)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("if", "3", "parameter name 'if' is reserved"),
        ("P", "3", "parameter name 'P' is reserved"),
        ("2n", "3", "parameter name '2n' is not an identifier"),
        ("n", "x", "parameter n = 'x' is not an integer"),
        ("n", str(1 << 63), "parameter n = 9223372036854775808 exceeds 64 bits"),
    ],
)
def test_parameters_that_no_formula_can_have(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_input(name, text)


def test_an_operation_with_unequal_parameters() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        given = {"comm": "world"} if rank.dims == (2, 2) else {"count": 1, "comm": "world"}
        return [call("Barrier", 7, **given)]

    traces = [trace_of(body, dims) for dims in ((2, 2), (3, 2), (3, 3))]
    message = r"Barrier at .*7.* has parameters \(comm\) with 4 ranks, \(count, comm\) with 9 ranks"
    with pytest.raises(ExtrapolationError, match=message):
        extrap.extrapolate(traces, 16)


def test_targets_without_measure() -> None:
    traces = [trace_of(wavefront, dims, 24) for dims in PLANES]
    for nprocs in (0, -4, 1 << 40):
        with pytest.raises(InputError, match="can be 1 to 16,777,216"):
            extrap.extrapolate(traces, nprocs, dims_of=PLANES)
    with pytest.raises(InputError, match="X = 1: no trace shows"):
        extrap.extrapolate(traces, 64, (1, 64), dims_of=PLANES)
    with pytest.raises(InputError, match="at most 4 dimensions"):
        extrap.extrapolate(traces, 64, dims_of=[(*dims, 1, 1, 1) for dims in PLANES])


def test_a_loop_that_would_run_less_than_never() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Barrier", 1, comm="world")] * (rank.dims[0] - 3) + [
            call("Allreduce", 2, count=1, comm="world")
        ]

    traces = [trace_of(body, dims) for dims in [*PLANES, (6, 5)]]
    with pytest.raises(ExtrapolationError, match=r"Barrier at app\.py:1:main would run -1 times on 2x8"):
        extrap.extrapolate(traces, 16, (2, 8), dims_of=[*PLANES, (6, 5)])


def test_numbers_beyond_64_bits() -> None:
    def squared(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=rank.n**2, comm="world")]

    def blocks(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=rank.block(0) * rank.block(1), comm="world")]

    sizes = [*PLANES, (6, 5), (6, 6)]
    for body in (squared, blocks):
        traces = [trace_of(body, dims, n) for dims, n in zip(sizes, (40, 41, 43, 47, 53), strict=True)]
        with pytest.raises(ExtrapolationError, match="does not fit into 64 bits"):
            extrap.extrapolate(traces, 64, (8, 8), {"n": 40 * 10**9}, sizes)


def test_a_peer_outside_its_communicator() -> None:
    """That all traces have a rank 5 says nothing of a run on fewer."""

    def body(rank: Rank) -> list[IssuedCall]:
        peer = {0: 5, 1: 0}.get(rank.number)
        return [] if peer is None else [call("Send", 7, count=1, dest=peer, tag=0, comm="world")]

    def padded(rank: Rank) -> list[IssuedCall]:
        return [*body(rank), call("Barrier", 8, comm="world")]

    traces = [trace_of(padded, (n,)) for n in (6, 8, 9)]
    with pytest.raises(
        ExtrapolationError, match=r"dest of Send at app\.py:7:main: rank 0 of 4 would have the peer 5"
    ):
        extrap.extrapolate(traces, 4, (4,), dims_of=[(6,), (8,), (9,)])


@pytest.mark.slow
def test_a_dimension_that_was_the_same_in_all_traces() -> None:
    small = [(3, 3), (4, 3), (5, 3)]
    traces = [trace_of(halo(False), dims) for dims in small]
    with pytest.raises(InputError, match="all traces have Y = 3, a grid of 6x4 has 4"):
        extrap.extrapolate(traces, 24, (6, 4), dims_of=small)
    assert extrap.extrapolate(traces, 18, (6, 3), dims_of=small).trace.nprocs == 18


def test_equal_sides_of_a_cartesian_communicator_are_each_its_own() -> None:
    """X and Y are equal in all traces, and differ in the result."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Cart_create", 1, dims=rank.dims, comm="world"), *halo(False, 1)(rank)]

    spaces = [(2, 2, 2), (3, 3, 2), (3, 3, 3)]
    made = extrap.extrapolate([trace_of(body, dims) for dims in spaces], 36, (4, 3, 3), dims_of=spaces)
    assert "dims=(4, 3, 3)" in str(next(iter(made.trace.walk(0))))


def shift(rank: Rank) -> list[IssuedCall]:
    """To the neighbour along the first dimension of a torus."""
    peers = {"dest": rank.neighbour((1, 0), True), "source": rank.neighbour((-1, 0), True)}
    own = {"sendcount": 9, "sendtag": 0, "recvcount": 9, "recvtag": 0}
    return [call("Sendrecv", 1, comm="world", **peers, **own)] * 3


def test_pairs_need_no_grid() -> None:
    """2x2, 2x3, 2x4 and 2x5 ranks may be balanced, or two rows: all formulas are of P alone."""
    given = [trace_of(shift, (2, k)) for k in (2, 3, 4, 5)]
    made = extrap.extrapolate(given, 16)
    assert diff(made.trace, trace_of(shift, (2, 8)), ["times"]) == []


def test_a_number_that_is_a_side_needs_a_grid() -> None:
    """4x4, 5x4 and 6x4 may be balanced, or four columns: r + 4 is r + 6 on 6x6."""
    given = [trace_of(shift, (k, 4)) for k in (4, 5, 6, 7)]
    with pytest.raises(InputError):
        extrap.extrapolate(given, 36)
