"""Other computation times, other sizes, messages for collectives."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.replay import (
    CollectiveMode,
    ComputeMode,
    FactorRule,
    RankResult,
    ReplayOptions,
    TimeChoice,
    check,
    run,
)
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.compare import compare
from scalatrace.scaling import scaled
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.factors import parse_rule
from scalatrace.trace.values.histogram import Bin, Histogram
from support.builder import DOUBLE, INT, Builder, Comm, stencil
from support.memory_transport import MemoryTransport
from support.mpis import Mpi
from support.running import mpirun, record

CHAPTERS = Path(__file__).with_name("chapters.py")


def replayed(
    trace: Trace, rank: int = 0, **options: Any
) -> tuple[RankResult, MemoryTransport, ReplayOptions]:
    chosen = ReplayOptions(**{"compute": ComputeMode.NONE, **options})
    transport = MemoryTransport(rank, trace.nprocs)
    check(trace, transport.size, chosen)
    return run(trace, transport, chosen), transport, chosen


def sends_at_two_sites() -> Trace:
    b = Builder()
    message = {"datatype": DOUBLE, "dest": 0, "tag": 1, "comm": Comm()}
    return b.of(
        b.event("Send", at=["/src/a.py:10:f", "/src/main.py:3:main"], count=100, **message),
        b.event("Send", at=["/src/a.py:20:f", "/src/main.py:4:main"], count=10, **message),
        b.event("Allreduce", at=["/src/main.py:5:main"], count=3, datatype=INT, op="MPI_SUM", comm=Comm()),
    )


@pytest.mark.parametrize(
    ("where", "sent"),
    [
        ("a.py:10", {"Send": 1680, "Allreduce": 12}),
        ("a.py:15-25", {"Send": 960, "Allreduce": 12}),
        ("main.py", {"Send": 1760, "Allreduce": 24}),
        ("allreduce", {"Send": 880, "Allreduce": 24}),
        ("MPI_Send", {"Send": 1760, "Allreduce": 12}),
    ],
)
def test_bytes_of_some_calls(where: str, sent: dict[str, int]) -> None:
    trace = sends_at_two_sites()
    result, _, options = replayed(trace, rules=(parse_rule(where, "bytes=2"),))
    assert result.sent == sent
    assert compare(trace, result, options) == []
    assert compare(trace, result, ReplayOptions()) != []


def test_receives_have_room_for_the_largest_message_there_may_be() -> None:
    result, transport, _ = replayed(stencil(), rules=(FactorRule(nbytes=0.5), parse_rule("Isend", "bytes=3")))
    (received,) = {args[1].n for op, args in transport.calls if op == "Irecv"}
    (sent,) = {args[1].n for op, args in transport.calls if op == "Isend"}
    assert received >= sent == 150
    assert result.left == 0


def test_messages_that_the_sides_count_in_other_types_fit() -> None:
    b = Builder()
    column = Datatype("vector(100,1,10,MPI_DOUBLE)", 800, 7928)
    common = {"tag": 0, "comm": Comm()}
    trace = b.of(
        b.event("Irecv", count=100, datatype=DOUBLE, source=0, **common),
        b.event("Isend", count=1, datatype=column, dest=0, **common),
        b.event("Waitall", requests=(1, 0)),
    )
    for factor in (0.5, 1.5):
        whatif = WhatIf((FactorRule(nbytes=factor),))
        receive, send, _ = map(whatif.view, trace.walk(0))
        assert receive["count"] * 8 >= send["count"] * 800


def test_computation_of_some_calls() -> None:
    for line, expected in ((1, 3000), (2, 6000)):
        b = Builder()
        compute = Histogram(2, 1000, 3000, 2000, 1000)
        trace = b.of(
            b.event("Barrier", at=[f"a.py:{line}:f"], comm=Comm(), compute=compute),
            b.event("Barrier", at=["a.py:1:f"], comm=Comm()),
        )
        rules = (parse_rule("a.py:1", "compute=0.5"),)
        result, _, _ = replayed(trace, compute=ComputeMode.SPIN, compute_scale=3, rules=rules)
        assert result.computed_ns == expected


def test_a_rule_for_no_call_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no call of the trace is at a\.py:99-99"):
        replayed(sends_at_two_sites(), rules=(parse_rule("a.py:99", "compute=2"),))


@pytest.mark.parametrize("factors", ["bytes", "bytes=", "bytes=-1", "bytes=x", "size=2", "bytes=inf", ""])
def test_what_is_no_factor(factors: str) -> None:
    with pytest.raises(UsageError, match="not"):
        parse_rule("Send", factors)


@given(st.integers(0, 10**6), st.floats(0, 100))
def test_scaled_counts(n: int, factor: float) -> None:
    assert n * factor <= scaled(n, factor) + 1e-3
    assert scaled(n, factor) < n * factor + 1 + 1e-3


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.integers(0, 99))
@example([0] * 10 + [111], 0)
def test_drawn_values_lie_in_the_histogram_and_have_its_mean(samples: list[int], seed: int) -> None:
    samples.sort()
    parts = [samples[i : i + 5] for i in range(0, len(samples), 5)]
    bins = tuple(Bin(len(p), p[0], p[-1], sum(p) / len(p)) for p in parts)
    mean = sum(samples) / len(samples)
    histogram = Histogram(len(samples), samples[0], samples[-1], mean, 0, bins if len(bins) > 1 else ())
    draw = random.Random(seed).random
    drawn = [histogram.draw(draw) for _ in range(2000)]
    assert all(samples[0] <= value <= samples[-1] for value in drawn)
    spread = samples[-1] - samples[0]
    assert sum(drawn) / len(drawn) == pytest.approx(mean, abs=0.1 * spread + 1e-6)


def test_drawn_times_depend_on_the_seed_only() -> None:
    b = Builder()
    trace = b.of(b.event("Barrier", comm=Comm(), compute=Histogram(9, 100, 9000, 2000, 1000)))
    common = {"compute": ComputeMode.SPIN, "times": TimeChoice.DRAWN, "compute_scale": 0.1}
    times = [replayed(trace, seed=seed, **common)[0].computed_ns for seed in range(60)]
    assert times == [replayed(trace, seed=seed, **common)[0].computed_ns for seed in range(60)]
    assert len(set(times)) > 30
    assert all(10 <= ns <= 900 for ns in times)
    assert sum(times) / 60 == pytest.approx(200, rel=0.5)


def test_a_collective_as_messages() -> None:
    b = Builder(4)
    side = {"sendcount": 2, "sendtype": DOUBLE, "recvcount": 2, "recvtype": DOUBLE}
    trace = b.of(b.event("Alltoall", **side, comm=Comm()), b.event("Barrier", comm=Comm()))
    result, transport, _ = replayed(trace, rank=2, collectives=CollectiveMode.P2P)
    assert result.calls == {"Irecv": 6, "Isend": 6, "Waitall": 2}
    assert result.sent["Isend"] == 3 * 16
    peers = Counter(args[3] for op, args in transport.calls if op == "Isend")
    assert peers == {0: 2, 1: 2, 3: 2}
    assert [op for op, _ in transport.quiet_calls].count("Comm_dup") == 1


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "chapter",
    ["vectors", *(pytest.param(name, marks=pytest.mark.slow) for name in ("collectives", "communicators"))],
)
def test_collectives_as_messages(openmpi: Mpi, chapter: str, engine: str, tmp_path: Path) -> None:
    trace = tmp_path / "a.st"
    record(openmpi, 4, [str(openmpi.python), CHAPTERS, chapter], trace).check()
    command = [*openmpi.scalatrace(), "replay", trace, "--collectives", "p2p", "--json", "--engine", engine]
    facts = json.loads(mpirun(openmpi, 4, command, cwd=tmp_path).check().stdout)
    assert facts["left"] == 0
    assert not {"Bcast", "Reduce", "Alltoall", "Gatherv", "Alltoallv"} & facts["calls"].keys()
    assert facts["calls"]["Isend"] == facts["calls"]["Irecv"] > 0


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "chapter",
    [
        "p2p",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("collectives", "persistent", "vectors", "partitioned")
        ),
    ],
)
def test_messages_of_other_sizes(openmpi_first: Mpi, chapter: str, engine: str, tmp_path: Path) -> None:
    mpi, trace = openmpi_first, tmp_path / "a.st"
    record(mpi, 3, [str(mpi.python), CHAPTERS, chapter], trace).check()
    whatif = [("--bytes-scale", factor) for factor in ("0", "0.5", "3.3")]
    if chapter == "p2p":
        whatif.append(("--at", "Isend", "bytes=2", "--at", "chapters.py:1-55", "bytes=0.7"))
    for factors in whatif:
        command = [*mpi.scalatrace(), "replay", trace, *factors, "--verify", "--json", "--engine", engine]
        done = mpirun(mpi, 3, command, cwd=tmp_path)
        assert json.loads(done.check().stdout)["unequal"] == []
