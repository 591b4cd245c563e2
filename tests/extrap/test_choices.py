"""Which request MPI_Waitany completes first depends on timing: a canonical order takes its place."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.extrap.choices import canonical
from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import UNDEFINED
from support.calls import IssuedCall, call, record
from support.grids import Body, Rank, trace_of

TYPE = "MPI_DOUBLE"
LINES = [(4,), (5,), (6,), (7,)]


def completions(
    random: Random, requests: int, single: int, op: str = "Waitany", site: int = 20
) -> list[IssuedCall]:
    """Wait for any request of an array in a random order, `single` times; then for all that are left."""
    live, array = list(range(requests)), list(range(requests))
    made = []

    def ages() -> tuple[int, ...]:
        return tuple(len(live) - 1 - live.index(one) if one in live else UNDEFINED for one in array)

    for _ in range(single):
        one = random.choice(live)
        made.append(call(op, site, requests=ages(), index=one))
        live.remove(one)
    if live:
        made.append(call("Waitall", site + 1, requests=ages()))
    return made


def exchange(seed: int, single: int, op: str = "Waitany") -> Body:
    """Messages to and from both neighbours, completed in random order by each rank in each step."""

    def body(rank: Rank) -> list[IssuedCall]:
        random, nprocs = Random(1000 * seed + rank.number), rank.dims[0]
        west, east = (rank.number - 1) % nprocs, (rank.number + 1) % nprocs
        made = []
        for _ in range(5):
            for name, site, peer, tag in (("source", 10, west, 1), ("source", 11, east, 2)):
                made.append(
                    call("Irecv", site, count=3, datatype=TYPE, **{name: peer}, tag=tag, comm="world")
                )
            for name, site, peer, tag in (("dest", 12, east, 1), ("dest", 13, west, 2)):
                made.append(
                    call("Isend", site, count=3, datatype=TYPE, **{name: peer}, tag=tag, comm="world")
                )
            made += completions(random, 4, single, op)
        return [*made, call("Barrier", 30, comm="world")]

    return body


def _traces(seed: int, single: int, op: str = "Waitany") -> list[Trace]:
    return [trace_of(exchange(seed, single, op), dims) for dims in LINES]


@pytest.mark.parametrize("op", ["Waitany", "Testany"])
@pytest.mark.parametrize("single", [1, 2, 4])
def test_result_is_that_of_another_run_but_for_timing(single: int, op: str) -> None:
    made = extrapolate(_traces(1, single, op), 12, dims_of=LINES)
    real = trace_of(exchange(2, single, op), (12,))
    assert diff(made.trace, real, ["times"])
    assert diff(made.trace, canonical(real), ["times"]) == []
    assert made.trace.meta["choices"] == "Waitany and Testany in the order of the requests"


@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 99))
def test_all_orders_have_one_canonical_form(requests: int, single: int, seed: int) -> None:
    single = min(single, requests)

    def trace(seed: int) -> Trace:
        sends = [call("Isend", 1, count=1, dest=0, tag=0, comm="world")] * requests
        return record([[*sends, *completions(Random(seed), requests, single)] * 2])

    one, other = canonical(trace(seed)), canonical(trace(seed + 1))
    assert diff(one, other, ["times"]) == []
    assert canonical(one) is one
    taken = [made["index"] for made in one.walk(0) if made.op == "Waitany"]
    assert taken == list(range(single)) * 2


def test_times_and_other_calls_stay() -> None:
    trace = trace_of(exchange(3, 4), (4,))
    made = canonical(trace)
    assert made.nevents() == trace.nevents()
    assert sum(h.count for leaf in made.leaves() for s in leaf.stats for h in s.histograms if h) == sum(
        h.count for leaf in trace.leaves() for s in leaf.stats for h in s.histograms if h
    )


def _sends(count: int) -> list[IssuedCall]:
    return [call("Isend", 1, count=1, dest=0, tag=0, comm="world")] * count


ANY = call("Waitany", 2, requests=(1, 0), index=1)


@pytest.mark.parametrize(
    "calls",
    [
        [*_sends(2), ANY, call("Barrier", 3, comm="world"), call("Wait", 4, request=0)],  # it goes on
        [*_sends(2), ANY, *_sends(1), call("Waitall", 4, requests=(1, UNDEFINED, 0))],
        [*_sends(2), ANY],  # one is never completed
        [*_sends(2), ANY, call("Testall", 4, requests=(0, UNDEFINED))],
        [*_sends(3), call("Waitany", 2, requests=(2, 1), index=1), call("Waitall", 4, requests=(1, 0))],
    ],
)
def test_orders_that_may_matter_stay(calls: list[IssuedCall]) -> None:
    trace = record([calls])
    assert canonical(trace) is trace


def test_command_ignores_timing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("a.st", "b.st")]
    for seed, path in enumerate(paths):
        scalatrace.save(trace_of(exchange(seed, 4), (5,)), path)
    assert main(["diff", *paths, "--ignore", "times"]) == 1
    assert main(["diff", *paths, "--ignore", "timing"]) == 0
    assert "equal" in capsys.readouterr().out
