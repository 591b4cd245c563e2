"""Numbers that a trace does not have are not shown: times per rank, values kept as histograms."""

from __future__ import annotations

import json

import pytest

from scalatrace.errors import UsageError
from scalatrace.report.lines import LinesReporter
from scalatrace.report.stats import StatsReporter
from scalatrace.trace.exchange.matrix import pairs
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.drawing import drawn, json_of


def barriers(nprocs: int, load: Vec | None, in_calls: Vec | None = None) -> Trace:
    """16 barriers, 50 ms computed before and 30 ms spent in each on the average."""
    b = Builder(nprocs)
    n = 16 * nprocs
    event = b.event("Barrier", 16, at=("a.c:5:main",), comm=Comm())
    times = Histogram(n, 0, 100_000_000, 50_000_000, 10), Histogram(n, 0, 60_000_000, 30_000_000, 10)
    b.trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    b.trace.load = [load, in_calls]
    return b.of(Event(event.repeat, event.op, event.signature, event.params, (PredStats(0, times),)))


def test_no_rank_is_shown_the_mean_time_of_all() -> None:
    report = StatsReporter(barriers(4, Vec((-16, 16, -16, -16))), "rank")
    plain = report.plain()
    for row in plain["rows"]:
        times = [row[name] for name in ("mpi_ns", "mpi_ns_mean", "mpi_ns_median", "mpi_ns_max")]
        assert times == [None] * 4
    assert [row["compute_ns"] for row in plain["rows"]] == [400_000_000, 1_600_000_000] + [400_000_000] * 2
    assert [note.split(" is ")[0] for note in plain["notes"]] == ["MPI time per rank", "computation per rank"]
    shown = drawn(report)
    assert "1.92 s in MPI, 3.2 s computing" in shown
    assert "120 ms" not in shown
    assert "480 ms" not in shown
    assert "note: MPI time per rank is not known" in shown


def test_without_shares_the_computation_of_a_rank_is_not_known() -> None:
    plain = StatsReporter(barriers(4, None), "rank").plain()
    assert {row["compute_ns"] for row in plain["rows"]} == {None}
    assert "computation per rank is not known" in plain["notes"][1]


def test_measured_times_of_ranks_are_shown() -> None:
    report = StatsReporter(barriers(2, Vec((16, -16)), Vec((-16, 16))), "rank")
    rows = report.plain()["rows"]
    assert [row["mpi_ns"] for row in rows] == [240_000_000, 960_000_000]
    assert [row["mpi_ns_mean"] for row in rows] == [None, None]
    assert "note: MPI time per rank is measured, and stored within 5 %" in drawn(report)


def test_the_only_rank_has_all_times() -> None:
    plain = StatsReporter(barriers(1, None), "rank").plain()
    assert plain["rows"][0]["mpi_ns"] == 480_000_000
    assert plain["rows"][0]["mpi_ns_max"] == pytest.approx(60_000_000)
    assert plain["notes"] == []


def test_times_by_operation_stay() -> None:
    (row,) = StatsReporter(barriers(4, None)).plain()["rows"]
    assert (row["mpi_ns"], row["mpi_ns_mean"], row["mpi_ns_max"]) == (1_920_000_000, 30_000_000, 60_000_000)
    assert row["mpi_ns_median"] == 30_000_000


def test_a_trace_without_times_has_none() -> None:
    b = Builder(2)
    b.trace.stats = []
    trace = b.of(b.event("Barrier", comm=Comm()))
    (row,) = StatsReporter(trace).plain()["rows"]
    assert (row["mpi_ns"], row["mpi_ns_median"], row["mpi_ns_max"], row["compute_ns"]) == (None,) * 4


def sends(**summaries: Summary) -> Trace:
    """Sends to the next rank with histograms for some parameters."""
    b = Builder(4)
    given = {"count": Vec(8), "dest": To(Encoding.MODULO, Vec(1))}
    for name, summary in summaries.items():
        given[name] = To(Encoding.ABSOLUTE, summary) if name == "dest" else summary  # type: ignore[arg-type,assignment]
    return b.of(b.event("Send", 10, **given, datatype=DOUBLE, comm=Comm()))


SIZES = Summary(Histogram(40, 1, 1000, 100, 50), 100)


def test_bytes_from_histograms_are_marked() -> None:
    trace = sends(count=SIZES)
    by_rank = StatsReporter(trace, "rank").plain()
    assert {row["bytes_sent"] for row in by_rank["rows"]} == {None}
    assert "Send.count" in by_rank["notes"][-1]
    by_op = StatsReporter(trace).plain()
    assert by_op["rows"][0]["bytes_sent"] == 4 * 10 * 800
    assert by_op["notes"] == [
        "bytes of calls whose sizes are kept as histograms are estimated from their means: Send.count"
    ]
    assert StatsReporter(sends()).plain()["notes"] == []


def test_a_call_has_no_value_of_its_own_for_a_histogram() -> None:
    trace = sends(count=SIZES)
    assert "count=~100 " in drawn(LinesReporter(trace.walk(1), 1))
    assert json.loads(next(LinesReporter(trace.walk(1)).json_lines()))["count"] is None
    assert json.loads(next(LinesReporter(sends().walk(1)).json_lines()))["count"] == 8


def test_matrix_needs_destinations(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    with pytest.raises(UsageError, match=r"histograms instead of destinations \(Send.dest\)"):
        pairs(sends(dest=Summary(Histogram(40, 0, 3, 1, 1), 1)))
    path = f"{tmp_path}/a.st"
    save(sends(count=SIZES), path)
    assert json_of(capsys, "matrix", path)["notes"] == [
        "messages whose sizes are kept as histograms count their mean size: Send.count"
    ]
    assert json_of(capsys, "matrix", "--what", "messages", path)["notes"] == []
