"""Refusals have a cause and a next step; what the step asks for was not given, and leads on."""

from __future__ import annotations

import json
import random
from math import prod
from pathlib import Path

import pytest

import scalatrace
from benchmarks.extrapolate.random_programs import CIRCLE, WRONG, followed
from scalatrace import Trace, extrap
from scalatrace.cli.dispatch import main
from scalatrace.extrap.advice.recordings import Case, unseen, with_sides
from scalatrace.extrap.errors import ExtrapolationError, NoFormulaError, UndeterminedError, UnseenSideError
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.refusal import Action, Cause, Refused
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import PROC_NULL
from support.builder import BYTE, DOUBLE
from support.calls import IssuedCall, call, record
from support.grids import Place, Rank, trace_of

PLANES = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]


def columns(rank: Rank) -> list[IssuedCall]:
    """Columns of a block with a border are sent to both sides."""
    (x, y), n = rank.dims, rank.n
    count, stride = n // x, n // y + 2
    column = Datatype(f"vector({count},1,{stride},MPI_DOUBLE)", 8 * count, 8 * ((count - 1) * stride + 1))
    peers = [p for step in ((0, -1), (0, 1)) if (p := rank.neighbour(step, False)) is not None]
    made = [call("Irecv", 1, count=1, datatype=column, source=p, tag=1, comm="world") for p in peers]
    made += [call("Isend", 2, count=1, datatype=column, dest=p, tag=1, comm="world") for p in peers]
    return [*made, call("Waitall", 3, requests=tuple(range(len(made)))[::-1])]


def refusal(traces: list[Trace], dims: Place, dims_of: list[Place], **params: int) -> Refused:
    """The error of an extrapolation."""
    with pytest.raises(Refused) as caught:
        extrap.extrapolate(traces, prod(dims), dims, params, dims_of)
    return caught.value


@pytest.mark.slow
def test_what_was_given_is_not_asked_for_again() -> None:
    """Sizes of a datatype follow from its description, also where two runs differ in n only."""
    dims_of = [*PLANES, (3, 3)]
    traces = [*(trace_of(columns, dims, 256) for dims in PLANES), trace_of(columns, (3, 3), 258)]
    error = refusal(traces, (6, 5), dims_of, n=256)
    assert isinstance(error, UndeterminedError)
    assert error.step is not None
    for run in error.step.recordings:
        n = run.inputs["n"]
        assert (run.grid.dims, n) not in [*((dims, 256) for dims in PLANES), ((3, 3), 258)]
        added = [*traces, trace_of(columns, run.grid.dims, n)]
        made = extrap.extrapolate(added, 30, (6, 5), {"n": 256}, [*dims_of, run.grid.dims])
        assert diff(made.trace, trace_of(columns, (6, 5), 256), ["times"]) == []


def sweeps(rank: Rank) -> list[IssuedCall]:
    """Sweeps from all four corners over blocks of n cells, which do not divide."""
    blocks = [(c + 1) * rank.n // s - c * rank.n // s for c, s in zip(rank.place, rank.dims, strict=True)]
    made = []
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        ends = (
            ("Recv", 21, (-a, 0), 1),
            ("Recv", 23, (0, -b), 0),
            ("Send", 27, (a, 0), 1),
            ("Send", 29, (0, b), 0),
        )
        for op, site, step, axis in ends:
            if (peer := rank.neighbour(step, False)) is not None:
                side = {"source" if op == "Recv" else "dest": peer}
                made.append(call(op, site, count=blocks[axis], **side, tag=axis, comm="world"))
    return [*made * 3, call("Barrier", 30, comm="world")]


@pytest.mark.slow
def test_nodes_of_a_call_site_decide_together() -> None:
    grids = [(4, 3), (5, 4), (6, 5), (7, 6)]
    made = extrap.extrapolate([trace_of(sweeps, dims, 100) for dims in grids], 56, dims_of=grids)
    assert diff(made.trace, trace_of(sweeps, (8, 7), 100), ["times"]) == []


def blocks(rank: Rank) -> list[IssuedCall]:
    """A sum over blocks, rounded down."""
    return [call("Allreduce", 1, count=rank.n // rank.dims[0], comm="world")] * 3


def test_proposed_runs_divide_where_all_traces_do() -> None:
    """A program that needs X to divide n is not asked to run where it does not."""
    sides = [(2,), (3,), (4,)]

    def irregular(rank: Rank) -> list[IssuedCall]:
        return [call("Bcast", 1, count={2: 5, 3: 77, 4: 12}[rank.dims[0]], root=0, comm="world")]

    error = refusal([trace_of(irregular, dims, 240) for dims in sides], (8,), sides, n=240)
    assert error.step is not None
    assert [run.grid.nprocs for run in error.step.recordings] == [5]
    error = refusal([trace_of(irregular, dims, 264) for dims in sides], (8,), sides, n=264)
    assert error.step is not None
    assert [run.grid.nprocs for run in error.step.recordings] == [6]


def on_demand(rank: Rank, seed: int = 0) -> list[IssuedCall]:
    """Rank 0 hands 60 tasks to whoever asks first."""
    chance = random.Random(100 * rank.dims[0] + seed)
    order = [chance.randrange(1, rank.dims[0]) for _ in range(60)] + list(range(1, rank.dims[0]))
    if rank.number:
        pair = [call("Send", 4, count=1, dest=0, tag=1, comm="world"),
                call("Recv", 5, count=1, source=0, tag=2, comm="world")]  # fmt: skip
        return pair * order.count(rank.number)
    made = []
    for worker in order:
        made.append(call("Recv", 2, count=1, source=-1000000002, tag=1, comm="world"))
        made.append(call("Send", 3, count=1, dest=worker, tag=2, comm="world"))
    return made


def in_turn(rank: Rank) -> list[IssuedCall]:
    """Rank 0 hands each other rank ten tasks, in a fixed order."""
    if rank.number:
        pair = [call("Send", 4, count=1, dest=0, tag=1, comm="world"),
                call("Recv", 5, count=1, source=0, tag=2, comm="world")]  # fmt: skip
        return pair * 10
    made = []
    for worker in list(range(1, rank.dims[0])) * 10:
        made.append(call("Recv", 2, count=1, source=worker, tag=1, comm="world"))
        made.append(call("Send", 3, count=1, dest=worker, tag=2, comm="world"))
    return made


LINES = [(4,), (5,), (6,), (8,)]


def test_who_asks_first_is_timing() -> None:
    error = refusal([trace_of(on_demand, dims) for dims in LINES], (12,), LINES)
    assert error.cause is Cause.TIMING
    assert "serves the others in a fixed order" in str(error)
    assert "--inputs" not in str(error)
    made = extrap.extrapolate([trace_of(in_turn, dims) for dims in LINES], 12)  # the step was tried
    assert diff(made.trace, trace_of(in_turn, (12,)), ["times"]) == []


def shrinking(rank: Rank) -> list[IssuedCall]:
    """A count that falls, but is no share of anything."""
    return [call("Allreduce", 1, count={3: 90, 4: 71, 5: 20, 6: 17}[rank.dims[0]], comm="world")]


def test_a_size_is_asked_for_only_where_one_is_divided() -> None:
    sides = [(3,), (4,), (5,), (6,)]
    error = refusal([trace_of(shrinking, dims) for dims in sides], (8,), sides)
    assert error.cause is Cause.FEW_SIZES
    assert error.step is not None
    assert error.step.action is Action.RECORD
    assert [run.grid.nprocs for run in error.step.recordings] == [7]


def test_unknown_rules_name_nothing_more_to_record() -> None:
    sides = [(n,) for n in (3, 4, 5, 6, 7, 8, 9)]
    numbers = dict(zip(range(3, 10), (5, 77, 12, 140, 3, 58, 31), strict=True))

    def irregular(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=numbers[rank.dims[0]], comm="world")]

    error = refusal([trace_of(irregular, dims) for dims in sides], (12,), sides)
    assert error.cause is Cause.UNKNOWN_RULE
    assert error.step is not None
    assert not error.step.recordings


def test_datatypes_are_shown_by_name() -> None:
    def typed(rank: Rank) -> list[IssuedCall]:
        count = {3: 85, 4: 11, 5: 640}[rank.dims[0]]
        kind = Datatype(f"vector({count},1,87,MPI_DOUBLE)", 8 * count, 8 * ((count - 1) * 87 + 1))
        return [call("Bcast", 1, count=1, datatype=kind, root=0, comm="world")]

    error = refusal([trace_of(typed, (n,)) for n in (3, 4, 5)], (8,), [(3,), (4,), (5,)])
    assert isinstance(error, NoFormulaError)
    assert "ranks 0-2: vector(85,1,87,MPI_DOUBLE) (680 bytes)" in str(error)


def test_a_side_that_never_varied_names_a_run() -> None:
    grids = [(2, 2), (2, 3), (2, 4)]

    def rows(rank: Rank) -> list[IssuedCall]:
        return [call("Bcast", 1, count=5, root=0, comm="world")]

    error = refusal([trace_of(rows, dims) for dims in grids], (4, 4), grids)
    assert isinstance(error, UnseenSideError)
    assert error.step is not None
    run = error.step.recordings[0]
    assert run.grid.dims[0] != 2
    added = [*grids, run.grid.dims]
    assert extrap.extrapolate([trace_of(rows, dims) for dims in added], 16, (4, 4), dims_of=added)


def test_runs_that_dims_create_does_not_make_are_not_named() -> None:
    """24 ranks are 3x2x2x2: no run of 24 ranks has two ranks along the first dimension, and three at last."""
    sides = [(2, 2, 2, 2), (3, 2, 2, 2), (3, 3, 2, 2), (3, 3, 3, 2)]
    case = Case([Run(Grid(dims), {}) for dims in sides], Grid((3, 3, 3, 3)), {})
    run = with_sides(case)
    assert run is not None
    assert list(run.grid.dims) == sorted(run.grid.dims, reverse=True)
    assert run.grid.dims[-1] > 2


def tensor_data_pipeline(nprocs: int) -> Trace:
    """Pairs of ranks share tensors; both halves are stages of pipelines; the others share the gradients."""
    half = nprocs // 2
    groups = {
        "tensor": [[r, r + 1] for r in range(0, nprocs, 2)],
        "data": [list(range(s + t, s + half, 2)) for s in (0, half) for t in (0, 1)],
        "pipeline": [[r, r + half] for r in range(half)],
    }

    def calls(rank: int) -> list[IssuedCall]:
        send = call("Send", 1, count=9, dest=1, tag=0, comm="pipeline")
        receive = call("Recv", 2, count=9, source=0, tag=0, comm="pipeline")
        made = [send if rank < half else receive, call("Allreduce", 3, count=9, comm="tensor")] * 3
        return [*made, call("Allreduce", 4, count=7, comm="data")]

    return record([calls(rank) for rank in range(nprocs)], groups)


def test_a_trace_without_inner_dimension_is_left_out() -> None:
    """On 4 ranks, the dimension of data has one rank only."""
    traces = [tensor_data_pipeline(n) for n in (4, 8, 12, 16, 20)]
    with pytest.raises(Refused) as caught:
        extrap.extrapolate(traces, 28)
    assert caught.value.step is not None
    assert caught.value.step.leave_out == (0,)
    made = extrap.extrapolate(traces[1:], 28)
    assert diff(made.trace, tensor_data_pipeline(28), ["times"]) == []


def test_a_parameter_that_never_varied_names_a_run() -> None:
    sides = [(3,), (4,), (6,)]
    traces = [trace_of(blocks, dims, 60) for dims in sides]
    error = refusal(traces, (12,), sides, n=120)
    assert error.cause is Cause.FEW_SIZES
    assert str(error).endswith("next: add a trace of 3 ranks (3) with n = 120")
    made = extrap.extrapolate([*traces, trace_of(blocks, (3,), 120)], 12, None, {"n": 120}, [*sides, (3,)])
    assert diff(made.trace, trace_of(blocks, (12,), 120), ["times"]) == []


def test_runs_are_named_where_a_rule_ends() -> None:
    """As the steady part of a pipeline: more stages than batches leave none. The result has more."""
    lines = [(2,), (3,), (4,), (5,), (6,)]

    def steady_part(rank: Rank) -> list[IssuedCall]:
        return [call("Barrier", 1, comm="world")] * max(rank.n - rank.dims[0], 0)

    traces = [trace_of(steady_part, dims, 8) for dims in lines]
    error = refusal(traces, (12,), lines)
    assert str(error).endswith("next: add traces of 9 ranks (9) and more: the rule ends there")
    error = refusal(traces, (9,), lines)
    assert str(error).endswith("next: choose a result of fewer ranks (-P): the rule ends before this size")


@pytest.mark.parametrize("large", [(5, 6), (6, 5)])
def test_three_traces_of_one_shape_show_no_rule(large: Place) -> None:
    """The stages of 2, 2 and 4 rows are X//2, and those of 3, 4 and 4 rows are 2; 5 rows have 3."""
    grids = [(2, 3), (3, 2), (2, 5), (4, 3), (4, 4)]

    def stages(rank: Rank) -> list[IssuedCall]:
        return [call("Gatherv", 1, sendcount=(rank.dims[0] - 1).bit_length(), root=0, comm="world")] * 2

    error = refusal([trace_of(stages, dims) for dims in grids], large, grids)
    assert error.step is not None
    assert error.step.action is not Action.LEAVE_OUT


def test_the_result_is_no_run_to_record() -> None:
    runs = [Run(Grid(dims), {"n": 256}) for dims in [(2, 2), (3, 2), (4, 2), (3, 3)]]
    named = [run.grid.dims for run in unseen(Case(runs, Grid((4, 4)), {}))]
    assert named
    assert (4, 4) not in named


@pytest.mark.parametrize("large", [(4, 4), (5, 4), (5, 5)])
def test_inner_ranks_of_one_trace(large: Place) -> None:
    """With 2 and 3 columns, ranks between columns are in one trace: what the last ones do, they do, too."""
    grids = [(2, 2), (3, 2), (3, 3)]

    def halos(rank: Rank) -> list[IssuedCall]:
        return _null_halos(rank) * 3

    made = extrap.extrapolate(
        [trace_of(halos, dims, 256) for dims in grids], prod(large), large, {"n": 256}, grids
    )
    assert diff(made.trace, trace_of(halos, large, 256), ["times"]) == []


def test_inner_ranks_of_one_trace_that_do_something_else() -> None:
    """Refused: their count may be 5, or follow the columns."""
    grids = [(2, 2), (3, 2), (3, 3)]

    def inner(rank: Rank) -> list[IssuedCall]:
        count = rank.dims[1] + 2 if 0 < rank.place[1] < rank.dims[1] - 1 else 1
        return [call("Allreduce", 1, count=count, comm="world")] * 2

    refusal([trace_of(inner, dims) for dims in grids], (4, 4), grids)


def _null_halos(rank: Rank) -> list[IssuedCall]:
    """Sends of rows and columns to all sides; across a border they have no partner and no elements."""
    (x, y), n = rank.dims, rank.n
    column = Datatype(f"vector({n // x},1,{n // y + 2},MPI_DOUBLE)", 8 * (n // x), 8 * n)
    made = []
    for site, step in enumerate([(-1, 0), (1, 0), (0, -1), (0, 1)]):
        peer = rank.neighbour(step, False)
        count = 0 if peer is None else 1 if step[1] else n // y
        datatype = BYTE if peer is None else column if step[1] else DOUBLE
        dest = PROC_NULL if peer is None else peer
        made.append(call("Send", site, count=count, datatype=datatype, dest=dest, tag=site, comm="world"))
    return made


def test_refusals_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for n in (3, 4, 5):
        paths.append(str(tmp_path / f"{n}.st"))
        scalatrace.save(trace_of(blocks, (n,), 60), paths[-1])
    assert main(["extrapolate", *paths, "-P", "7", "-o", str(tmp_path / "x.st"), "--json"]) == 1
    printed = capsys.readouterr()
    refused = json.loads(printed.out)["refused"]
    assert refused["cause"] == "two rules"
    assert refused["next"]["action"] == "record"
    assert refused["next"]["any_of"][0] == {"ranks": 8, "grid": "8", "inputs": {"n": 60}}
    assert printed.err.rstrip().endswith(refused["next"]["text"])


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_the_advice_ends(count: int) -> None:
    """The first program needs two further runs; the fifth is refused, after a minute."""
    results = followed(7, count)
    assert results.ends.total() == count
    assert not results.texts
    assert not any(end in (CIRCLE, WRONG) for _, end in results.ends)
    assert results.recordings[2] >= 1


def test_errors_keep_their_fact() -> None:
    error = ExtrapolationError("something", Cause.DATA)
    error.rename(str.upper)
    assert str(error) == "SOMETHING\ncause: the values depend on data"
