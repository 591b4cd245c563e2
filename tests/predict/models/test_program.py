"""The communication time of an extrapolated program: its formula against a sum over its calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import ceil, log2, prod
from pathlib import Path

import pytest

from scalatrace import extrap
from scalatrace.cli import main
from scalatrace.formula import parse_number
from scalatrace.predict.models.closed import NotClosedError, places
from scalatrace.predict.models.program import program_time
from scalatrace.predict.models.symbols import P, as_sympy
from scalatrace.predict.platform import (
    AlgorithmRule,
    Network,
    NetworkTopology,
    Platform,
    Segment,
    read_platform,
    write_platform,
)
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid
from support.calls import IssuedCall, call
from support.drawing import json_of
from support.grids import Rank, rows_and_columns, steps, trace_of

SEGMENT = Segment(0, 1000.0, 0.25, 10.0, 200.0, 300.0, 0.0, 0.0)
MACHINE = Platform(
    network=Network((SEGMENT,)),
    reduce_per_byte_ns=0.5,
    collectives={
        "allreduce": (AlgorithmRule("recursive_doubling"),),
        "alltoall": (AlgorithmRule("pairwise"),),
    },
)
SQUARES = [(4, 4), (5, 5), (6, 6), (7, 7)]
PLANES = [(4, 4), (5, 4), (5, 5), (6, 5), (6, 6)]


def stencil(rank: Rank) -> list[IssuedCall]:
    """Five steps with each neighbour, a sum in each, a broadcast at the end."""
    world = {"datatype": "MPI_DOUBLE", "comm": "world"}
    peers = [p for step in steps(2) if (p := rank.neighbour(step, False)) is not None]
    calls = [call("Irecv", 10, count=64, source=p, tag=1, **world) for p in peers]
    calls += [call("Isend", 11, count=64, dest=p, tag=1, **world) for p in peers]
    calls.append(call("Waitall", 12, requests=tuple(range(2 * len(peers) - 1, -1, -1))))
    calls.append(call("Allreduce", 20, count=1, **world))
    return calls * 5 + [call("Bcast", 30, count=4, root=0, **world)]


def sweep(rank: Rank) -> list[IssuedCall]:
    """A wavefront of blocking messages, whose sizes are parts of n."""
    world = {"datatype": "MPI_DOUBLE", "comm": "world"}
    calls = []
    if (west := rank.neighbour((0, -1), False)) is not None:
        calls.append(call("Recv", 30, count=rank.n // rank.dims[0], source=west, tag=2, **world))
    if (east := rank.neighbour((0, 1), False)) is not None:
        calls.append(call("Send", 32, count=rank.n // rank.dims[0], dest=east, tag=2, **world))
    return calls * 4


def expected(calls: list[IssuedCall], nranks: int, sharing: float = 1, queue: int = 0) -> float:
    """Add up what each call takes, where so many messages share a link and wait in a queue."""
    rounds, total = ceil(log2(nranks)), 0.0
    for made in calls:
        nbytes = 8 * made.get("count", 0)
        search = queue * MACHINE.matching.per_entry_ns
        message = 1500 + search + 0.25 * nbytes * sharing
        total += {
            "Irecv": 300 + search + 0.25 * nbytes * sharing, "Recv": 1300 + search + 0.25 * nbytes * sharing,
            "Isend": 200, "Send": 200, "Waitall": 1000,
            "Allreduce": rounds * (message + 0.5 * nbytes), "Bcast": rounds * message,
        }[made.op]  # fmt: skip
    return total


def model_of(body: object, grids: list[tuple[int, int]], n: int = 0, groups: bool = False) -> SymbolicTrace:
    _, model, _ = extrap.model_of([trace_of(body, dims, n, groups) for dims in grids])  # type: ignore[arg-type]
    return model


@pytest.mark.parametrize("dims", [(4, 4), (8, 8), (9, 6), (32, 32)])
def test_stencil(dims: tuple[int, int]) -> None:
    model, grid = model_of(stencil, PLANES), Grid(dims)
    busiest = max(expected(stencil(Rank(r, dims, 0)), prod(dims)) for r in range(prod(dims)))
    result = program_time(model, MACHINE, grid)
    assert result.value_ns == pytest.approx(busiest)
    assert result.place == ("middle", "middle")
    assert result.left_out == ()
    assert result.upper_ns == pytest.approx(busiest)
    assert sum(term.value_ns for term in result.terms) == result.value_ns


def test_formula_in_the_number_of_ranks() -> None:
    result = program_time(model_of(stencil, SQUARES), MACHINE, Grid((8, 8)))
    assert as_sympy(result.formula).free_symbols == {P}
    for side in (8, 16, 100):
        ranks = side * side
        value = float(as_sympy(result.formula).subs(P, ranks))
        place = Rank(side * (side // 2) + side // 2, (side, side), 0)
        assert value == pytest.approx(expected(stencil(place), ranks))
    assert str(result.growth) == "log(P)"
    assert result.dominant is not None
    assert result.dominant.text() == f"{5 * 1506.0 + 1508}*ceil(log2(P)) + O(1)"


@pytest.mark.parametrize("body", [stencil, sweep])
@pytest.mark.parametrize("queue", [0, 5])
def test_upper_bound_on_a_torus(body: Callable[[Rank], list[IssuedCall]], queue: int) -> None:
    """In the worst mapping, messages of 3/2 * P^(1/3) nodes share a link."""
    torus = replace(MACHINE, topology=NetworkTopology(kind="torus"))
    dims, n = (8, 8), 240
    result = program_time(model_of(body, SQUARES, n), torus, Grid(dims), {"n": n}, queue)
    place = Rank(8 * 4 + 4, dims, n)
    assert result.value_ns == pytest.approx(expected(body(place), 64))
    assert result.upper_ns == pytest.approx(expected(body(place), 64, 6, queue))
    numbers = {"n": n, "C": 6, "P": 64}
    formula = as_sympy(result.upper)
    value = formula.subs({symbol: numbers[str(symbol)] for symbol in formula.free_symbols})
    assert float(value) == pytest.approx(result.upper_ns)


def test_growth_with_fixed_parameters() -> None:
    result = program_time(model_of(sweep, SQUARES, 240), MACHINE, Grid((8, 8)), {"n": 240})
    assert str(result.growth) == "1"
    assert result.dominant is not None
    assert result.dominant.text() == "6000.0 + O(1/sqrt(P))"


def test_message_sizes_that_follow_a_parameter() -> None:
    model = model_of(sweep, PLANES, 240)
    for dims, n in (((8, 6), 240), ((8, 6), 4800)):
        result = program_time(model, MACHINE, Grid(dims), {"n": n})
        busiest = max(expected(sweep(Rank(r, dims, n)), prod(dims)) for r in range(prod(dims)))
        assert result.value_ns == pytest.approx(busiest)
    names = {symbol.name for symbol in result.formula.free_symbols}
    assert names == {"n", "X"}


def test_calls_without_datatypes_are_left_out_by_name() -> None:
    model = model_of(rows_and_columns, [(4, 4), (6, 4), (6, 6), (8, 6), (8, 8)], 96, groups=True)
    result = program_time(model, MACHINE, Grid((12, 8)), {"n": 96})
    assert result.terms == ()
    assert {text.split(":")[0] for text in result.left_out} == {"Alltoall", "Bcast"}


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stencil.stx"
    save(model_of(stencil, SQUARES), path)
    words = ["models", "--platform", "cluster", "--trace", str(path), "--ranks", "64", "1024"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "ceil(log2(P))" in shown
    assert "Waitall" in shown
    assert all(level in shown for level in ("asymptotic", "dominant", "bounded", "exact"))
    grids = json_of(capsys, *words)["grids"]
    assert [grid["nranks"] for grid in grids] == [64, 1024]
    assert main([*words, "--latex"]) == 0
    assert r"T &\leq " in capsys.readouterr().out


def test_command_for_operations(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["models", "--platform", "cluster", "MPI_Allreduce", "p2p", "--bytes", "8", "1048576"]
    data = json_of(capsys, *words)
    allreduce, message = data["operations"]
    assert (allreduce["operation"], message["operation"]) == ("allreduce", "message")
    assert [one["algorithm"] for one in allreduce["models"]] == ["recursive_doubling", "rabenseifner"]
    assert allreduce["times"][0]["exact_ns"] == pytest.approx(6 * (1400 + 8 * 0.09))
    assert main([*words, "--latex"]) == 0
    assert r"\lceil\log_2 P\rceil" in capsys.readouterr().out
    assert main([*words, "--algorithm", "all"]) == 0
    assert "reduce_bcast" in capsys.readouterr().out
    assert main(["models", "--platform", "cluster"]) == 0
    assert "dissemination" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "bruck", "sparbit"])
def test_equally_fast_algorithms_are_not_faster(
    algorithm: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Their messages are the same ones in another order."""
    path = tmp_path / "a.toml"
    rules = {"allgather": (AlgorithmRule(algorithm),)}
    write_platform(path, replace(read_platform("cluster"), collectives=rules))
    words = ["models", "--platform", str(path), "allgather", "--ranks", "64", "--bytes", "7", "--json"]
    assert main(words) == 0
    (operation,) = json.loads(capsys.readouterr().out)["operations"]
    assert [(value["algorithm"], value["fastest"]) for value in operation["times"]] == [
        (algorithm, algorithm)
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--platform", "nowhere"], "no such file"),
        (["--platform", "cluster", "gatherv"], "no models of this operation"),
        (["--platform", "cluster", "bcast", "--algorithm", "ring"], "has no algorithm"),
        (["--platform", "cluster", "bcast", "--trace", "x.stx"], "either operations or --trace"),
        (["--platform", "cluster", "--trace", "x.stx"], "x.stx"),
    ],
)
def test_errors(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", *words]) in (1, 2)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("self", "a quantity depends on self"),
        ("Y // 0", "a quantity is no finite number"),
        ("Y % 0", "is a formula that has no form in sympy"),
        ("1 << (1 << 20)", "a quantity is no finite number"),
        ("log2(0)", "a quantity is no finite number"),
    ],
)
def test_formulas_without_a_value(formula: str, why: str) -> None:
    (place, *_) = places(Grid((4, 4), False), {})
    with pytest.raises(NotClosedError, match=why):
        place.value(place.sympy(parse_number(formula), "its size"))
