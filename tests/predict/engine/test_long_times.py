"""Simulations whose sums over ranks need more than 64 bits, and whose clocks do."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.errors import LimitError
from scalatrace.executor.call_times import TooLongCallError
from scalatrace.predict.engine.breakdown import event_times, rows
from scalatrace.predict.engine.sensitivity import tolerances
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator, simulate
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, Builder, Comm
from support.lowered import on
from support.many_hours import NPROCS, STEP_NS, STEPS, many_hours

PLATFORM = Platform(network=Network((Segment(0, 1000, 0.1, 0, 300, 400),)))
DAY_NS = 86_400_000_000_000
BEFORE_NS = 3000
"""Computation before the calls of a step other than the first."""


@pytest.mark.parametrize("nprocs", [1024, pytest.param(NPROCS, marks=pytest.mark.slow)])
def test_ranks_that_compute_ten_hours(nprocs: int) -> None:
    """In picoseconds, 64 bits hold 256 ranks of ten hours."""
    trace = many_hours(nprocs, count=1)
    result = simulate(trace, PLATFORM)
    compute_ps = sum(row[0] for row in result.by_node)
    total_ns = nprocs * STEPS * STEP_NS
    assert compute_ps == (total_ns + nprocs * STEPS * BEFORE_NS) * 1000 > 1 << 63
    assert compute_ps == sum(result.by_rank[:, 0].tolist())
    assert all((result.by_node >= 0).ravel())
    by_op = {row["operation"]: row for row in rows(result, trace, "operation")}
    assert by_op["Irecv"]["compute_ns"] == total_ns
    assert sum(times["compute_ns"] for times in event_times(result).values()) == pytest.approx(total_ns)
    assert result.nevents == trace.nevents()


def test_executions_of_all_ranks() -> None:
    b = Builder(1 << 12)
    trace = b.of(b.loop(1 << 52, b.event("Barrier", comm=Comm())))
    free = Platform(network=Network((Segment(0, 0, 0, 0, 0, 0),)))
    assert simulate(trace, free).nevents == 1 << 64


def days(count: int) -> Trace:
    b = Builder(2)
    day = b.event("Barrier", at=("a.py:3:f",), compute=Histogram.of(DAY_NS), comm=Comm())
    return b.of(b.loop(count, day), every=True)


def test_a_clock_ends_at_its_limit() -> None:
    assert simulate(days(100), PLATFORM).time_ns > 100 * DAY_NS
    for count, scale in ((107, 1.0), (1, 107.0), (1, 1e200), (50, 2.2), (1 << 60, 1.0)):
        with pytest.raises(TooLongCallError, match=r"time of rank [01] in Barrier at a\.py:3:f exceeds"):
            simulate(days(count), PLATFORM, SimulateOptions(compute_scale=scale))


def test_a_recorded_time_beyond_the_limit() -> None:
    b = Builder(2)
    trace = b.of(b.event("Barrier", compute=Histogram.of(107 * DAY_NS), comm=Comm()))
    with pytest.raises(TooLongCallError, match=r"^a mean computation before Barrier of 9.245e\+06 s exceeds"):
        simulate(trace, PLATFORM)


def test_a_message_beyond_the_limit() -> None:
    b = Builder(2)
    kind = Datatype("MPI_BYTE", 1 << 40, 1 << 40)
    events = [
        b.event(name, repeat=on({rank: 1}), count=1 << 24, datatype=kind, tag=0, comm=Comm(), **peer)
        for rank, (name, peer) in enumerate((("Send", {"dest": 1}), ("Recv", {"source": 0})))
    ]
    with pytest.raises(LimitError, match=r"^a message of MPI_Send has more than 2\^63 bytes"):
        simulate(b.of(*events), PLATFORM)


def test_sizes_of_collective_calls_do_not_wrap() -> None:
    """The block of one rank fits 64 bits, that of all ranks does not."""
    b = Builder(16)
    gather = b.event("Gather", sendcount=1 << 58, sendtype=DOUBLE, recvcount=1 << 58, recvtype=DOUBLE, root=0,
                     comm=Comm())  # fmt: skip
    with pytest.raises(TooLongCallError):
        simulate(b.of(gather), PLATFORM)


def test_tolerances_end_at_the_limit() -> None:
    """A factor on the latency may make the run too long: the search goes on below it."""
    b = Builder(2)
    trace = b.of(b.event("Barrier", compute=Histogram.of(90 * DAY_NS), comm=Comm()))
    found = list(tolerances(Simulator(trace), PLATFORM, (0.01, 0.5)))
    assert [each.factor for each in found] == [pytest.approx(0.9 * DAY_NS / 1000, rel=1e-3), None, None, None]


def test_the_command_names_rank_and_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(days(10), path := tmp_path / "a.st")
    assert main(["simulate", str(path), "--platform", "cluster", "--compute-scale", "1e8"]) == 1
    error = capsys.readouterr().err
    assert "in Barrier at a.py:3:f exceeds 2^63 ps (106 days)" in error
    assert error.count("\n") == 1
