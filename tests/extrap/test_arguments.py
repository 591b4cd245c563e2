"""Grids that only the arguments of a program name."""

from __future__ import annotations

import re

import pytest

from scalatrace import Trace
from scalatrace.extrap.errors import InputError
from scalatrace.extrap.extrapolate import prepared
from scalatrace.extrap.grid.arguments import grids_in_arguments, split_command
from support.calls import IssuedCall, call
from support.grids import Rank, halo, steps, trace_of

GRIDS = [(3, 3), (3, 4), (4, 4), (4, 5)]


def irregular(rank: Rank) -> list[IssuedCall]:
    """Messages to the neighbours, and from some ranks to others far away."""
    peers = [p for step in steps(2) if (p := rank.neighbour(step, wrap=False)) is not None]
    if rank.number == 2:
        peers.append(rank.dims[0] * rank.dims[1] - 1)
    return [call("Send", 1, count=1, dest=p, tag=0, comm="world") for p in peers]


def traces(text: str) -> list[Trace]:
    """The traces of a program whose command line has the rows X, the columns Y and the ranks P."""
    result = []
    for x, y in GRIDS:
        trace = trace_of(irregular, (x, y))
        trace.meta["program"] = text.format(X=x, Y=y, P=x * y)
        result.append(trace)
    return result


def grids(found: tuple[object, ...]) -> list[str]:
    return [str(grid) for grid in found]


def test_sides_in_both_orders() -> None:
    found = [grids(one) for one in grids_in_arguments(traces("solve -P {Y} {X} 1 -n 6"))]
    assert [f"{x}x{y}" for x, y in GRIDS] in found
    assert [f"{y}x{x}" for x, y in GRIDS] in found


def test_the_program_itself_and_long_numbers_name_no_grid() -> None:
    assert not list(grids_in_arguments(traces("/opt/{Y}/{X}/solve")))
    assert not list(grids_in_arguments(traces("solve " + "9" * 5000)))


def test_grid_is_taken_where_most_messages_go_to_neighbours() -> None:
    _, runs, evidence = prepared(traces("solve --npx {Y} --npy {X}"))
    assert [run.grid.dims for run in runs] == GRIDS
    assert "the arguments of the program, and most neighbours" in evidence


def test_grid_is_not_taken_where_messages_go_elsewhere() -> None:
    far = [trace_of(across, dims) for dims in GRIDS]
    for trace, (x, y) in zip(far, GRIDS, strict=True):
        trace.meta["program"] = f"solve {y} {x}"
    with pytest.raises(InputError, match="recorded with different arguments"):
        prepared(far)


def test_trace_that_hides_the_grid_is_named() -> None:
    """On 2x2 ranks in a plane of a torus each is a neighbour of all others."""
    dims_of = [(1, 2, 2), (2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)]
    given = []
    for dims in dims_of:
        trace = trace_of(halo(wrap=True), dims)
        trace.meta["program"] = "solve -i {} -j {} -k {}".format(*dims[::-1])
        given.append(trace)
    with pytest.raises(InputError, match="leave out the trace of 4 ranks, which is too small"):
        prepared(given)
    assert [run.grid.dims for run in prepared(given[1:])[1]] == dims_of[1:]


def across(rank: Rank) -> list[IssuedCall]:
    """Messages to squares, on the line of all ranks."""
    nprocs = rank.dims[0] * rank.dims[1]
    return [call("Send", 1, count=1, dest=(rank.number**2 + 3) % nprocs, tag=0, comm="world")]


def recorded(*programs: str, inputs: dict[str, tuple[int, ...]] | None = None) -> list[Trace]:
    """Traces of a ring on 3, 4, 6, ... ranks, with these command lines and parameters."""
    result = []
    for at, program in enumerate(programs):
        trace = trace_of(halo(wrap=True), ((3, 4, 6, 8)[at],))
        trace.meta["program"] = program
        trace.meta.update({f"param.{name}": str(values[at]) for name, values in (inputs or {}).items()})
        result.append(trace)
    return result


LINES = [(3,), (4,), (6,), (8,)]


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        (
            ["app --steps 5", "app --steps 5", "app --nx 258 --steps 5"],
            "--nx (3 ranks: not given; 4 ranks: not given; 6 ranks: 258)\n",
        ),
        (
            ["app a.msh", "app b.msh", "app a.msh"],
            "argument 1 (3 ranks: a.msh; 4 ranks: b.msh; 6 ranks: a.msh)\n",
        ),
        (
            ["app -n 5 --tol 0.1", "app -n 7 --tol 0.1", "app -n 7 --tol 0.2"],
            "-n (3 ranks: 5; 4 ranks: 7; 6 ranks: 7), --tol (3 ranks: 0.1; 4 ranks: 0.1; 6 ranks: 0.2)\n",
        ),
    ],
)
def test_arguments_that_differ_are_listed(programs: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        prepared(recorded(*programs), LINES[:3])
    assert message in str(error.value)
    assert "--steps" not in str(error.value)


@pytest.mark.parametrize(
    ("programs", "default"),
    [
        (["app", "app", "app --nx 258", "app"], {"DEFAULT": "256"}),
        (["app --nx=256", "app", "app --nx=258", "app -v --nx=260"], {"DEFAULT": "256"}),
        (["app a.msh", "app b.msh", "app c.msh", "app a.msh"], {}),
        (["app --mesh a", "app --mesh b", "app --mesh c", "app"], {}),
        (["app --px 1 --py 3", "app --px 2 --py 2", "app --px 2 --py 3", "app --px 2 --py 4"], {}),
        (["app 0.5", "app 0.25", "app 0.5", "app 0.1"], {}),
    ],
)
def test_message_leads_on(programs: list[str], default: dict[str, str]) -> None:
    """What the message says makes the arguments parameters."""
    with pytest.raises(InputError) as error:
        prepared(recorded(*programs), LINES)
    inputs = {}
    for name, values in re.findall(r"--inputs (\w+)=([\w,]+)", str(error.value)):
        inputs[name] = tuple(int(default.get(value, value)) for value in values.split(","))
    assert inputs
    _, runs, _ = prepared(recorded(*programs, inputs=inputs), LINES)
    assert [dict(run.inputs) for run in runs] == [
        {name: values[at] for name, values in inputs.items()} for at in range(len(LINES))
    ]


@pytest.mark.parametrize("text", ["app -np {P}", "app mesh.{P}.dat", "app.{P} -n 5", "app -g {P}x1"])
def test_arguments_that_follow_from_the_ranks(text: str) -> None:
    programs = [text.format(P=p) for p in (4, 6, 8)]
    given = recorded("", *programs)[1:]
    prepared(given, LINES[1:])


def test_values_are_in_the_order_of_the_command_line() -> None:
    with pytest.raises(InputError, match="--inputs nx=30,10,20"):
        prepared([recorded(*(f"app --nx {n}" for n in (10, 20, 30)))[at] for at in (2, 0, 1)])


def test_programs_that_run_together() -> None:
    """The numbers of their ranks are no arguments."""
    assert split_command("./app -n 4 x") == ["./app", "-n", "4", "x"]
    assert split_command("-n 4 ./ocean in.nml : -n 12 ./air") == ["./ocean", "in.nml", ":", "./air"]
