"""Where the time of a trace went: efficiencies, what costs most, two traces side by side."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import scalatrace
from scalatrace.cli.dispatch import main
from scalatrace.launched import launcher_variables
from scalatrace.report.costs.comparison import ComparisonReporter
from scalatrace.report.costs.efficiency import EQUALLY, efficiency, run_time
from scalatrace.report.costs.performance import PerformanceReporter
from scalatrace.report.costs.rows import whole_time
from scalatrace.report.findings import DiffReporter
from scalatrace.report.lines import LinesReporter
from scalatrace.report.page.gather import gather
from scalatrace.report.page.overview.summary import summary_of
from scalatrace.report.stats import StatsReporter
from scalatrace.report.style import UNBROKEN, console
from scalatrace.report.trees.reporter import TreeReporter
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.model.tables import Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS, START
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm
from support.drawing import drawn
from support.late_ranks import late
from support.mpis import Mpi
from support.reported import timed
from support.running import record


def barriers(
    compute: tuple[int, ...], inside: tuple[int, ...], op: str = "Barrier", loads: bool = True
) -> Trace:
    """One call on each rank, after so many nanoseconds of computation; totals are powers of two."""

    def of(times: tuple[int, ...]) -> tuple[Histogram, Vec | None]:
        n, mean = len(times), sum(times) / len(times)
        steps = [(time / mean).as_integer_ratio() for time in times]
        assert all(a & (a - 1) == 0 for ratio in steps for a in ratio)
        factors = tuple(LOAD_STEPS * (a.bit_length() - b.bit_length()) for a, b in steps)
        return Histogram(n, min(times), max(times), mean, 0.0), Vec(factors) if loads else None

    (before, compute_load), (during, comm_load) = of(compute), of(inside)
    event = Event(Vec(1), 0, 0, (), (PredStats(0, (before, during)),))
    return Trace(
        nprocs=len(compute),
        ops=[Op(op, ())],
        preds=[START],
        stats=[RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)],
        nodes=[event],
        load=[compute_load, comm_load],
    )


#: Means 4000 and 2000; a rank of each has half, another twice the mean.
COMPUTE, INSIDE = (2000, 8000, 4000, 2000), (4000, 1000, 1000, 2000)


def test_efficiencies() -> None:
    found = efficiency(barriers(COMPUTE, INSIDE))
    assert found is not None
    assert found.compute_ns.tolist() == list(COMPUTE)
    assert found.comm_ns.tolist() == list(INSIDE)
    assert found.run_time_ns == 9000
    assert found.load_balance == 4000 / 8000
    assert found.communication_efficiency == 8000 / 9000
    assert found.parallel_efficiency == pytest.approx(4000 / 9000)
    assert (found.busiest, found.longest_in_mpi) == (1, 0)


def test_what_is_not_known_is_none() -> None:
    trace = barriers(COMPUTE, INSIDE, loads=False)
    assert efficiency(trace) is None
    facts = StatsReporter(trace, "rank").plain()
    assert facts["efficiency"] is None
    assert {row["mpi_ns"] for row in facts["rows"]} == {None}
    assert "run time 6 µs (mean of the ranks): 66.7 % computing, 33.3 % in MPI" in drawn(
        PerformanceReporter(trace)
    )
    assert drawn(PerformanceReporter(Trace(1))) == ""


def test_footers_are_equal_and_ranks_are_numbers() -> None:
    trace = barriers(COMPUTE, INSIDE)
    reporters = [StatsReporter(trace, by) for by in ("op", "site", "rank")]
    footers = [drawn(reporter).split("\n4 calls")[1].split("note")[0] for reporter in reporters]
    assert len(set(footers)) == 1
    assert "parallel efficiency 44 % = load balance 50 % * communication efficiency 89 %" in footers[0]
    facts = [reporter.plain() for reporter in reporters]
    assert all(
        (one["whole"], one["efficiency"]) == (facts[0]["whole"], facts[0]["efficiency"]) for one in facts
    )
    assert [row["rank"] for row in facts[2]["rows"]] == [0, 1, 2, 3]
    assert [row["mpi_ns"] for row in facts[2]["rows"]] == list(INSIDE)


def test_only_exact_sums_have_all_digits() -> None:
    """Totals of ranks and ends of histograms have the digits that the file knows; JSON is not rounded."""
    trace = barriers(tuple(1717 * ns for ns in COMPUTE), tuple(1717 * ns for ns in INSIDE))
    row = " ".join(table_row(drawn(StatsReporter(trace)), "Barrier"))
    assert row == "Barrier 4 0 B 0 B 13.74 ms 3.434 ms 3 ms 6.9 ms 6.9 ms 100.0 % 33.3 % 27.47 ms"
    by_rank = StatsReporter(trace, "rank")
    assert " ".join(table_row(drawn(by_rank), "0")).startswith("0 1 0 B 0 B 6.9 ms - - - - 50 %")
    assert by_rank.plain()["rows"][0]["mpi_ns"] == 1717 * INSIDE[0]
    shown = drawn(PerformanceReporter(trace))
    assert "run time 15.5 ms: " in shown
    assert "rank 0 is longest in MPI, 6.9 ms" in shown


def test_few_long_calls_raise_the_mean_but_not_the_median(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """99 calls of 1 µs and one of 1 ms, at two nodes: a row has the median of both."""
    b = Builder(1)
    b.trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 0.5)]
    times = (
        Histogram(90, 2000, 2000, 2000, 0),
        Histogram(
            10,
            2000,
            2_000_000,
            201_800,
            0,
            (Bin(9, 2000, 2000, 2000), Bin(1, 2_000_000, 2_000_000, 2_000_000)),
        ),
    )
    nodes = []
    for h in times:
        event = b.event("Barrier", h.count, at=("a.c:5:main",), comm=Comm())
        before = Histogram(h.count, 0, 0, 0, 0)
        nodes.append(
            Event(event.repeat, event.op, event.signature, event.params, (PredStats(0, (before, h)),))
        )
    trace = b.of(*nodes)
    (row,) = StatsReporter(trace).plain()["rows"]
    assert (row["mpi_ns_mean"], row["mpi_ns_median"], row["mpi_ns_max"]) == (10_990, 1000, 1_000_000)
    (site,) = summary_of(trace).sites
    assert site["mpi_ns_median"] == 1000
    path = str(tmp_path / "a.st")
    save(trace, path)
    assert main(["stats", path, "--csv"]) == 0
    names, values = (line.split(",") for line in capsys.readouterr().out.splitlines())
    assert dict(zip(names, values, strict=True))["mpi_ns_median"] == "1000"


def table_row(text: str, first: str) -> list[str]:
    return next(words for line in text.splitlines() if (words := line.split())[:1] == [first])


def test_what_costs_most() -> None:
    trace = barriers(COMPUTE, INSIDE)
    (row,) = PerformanceReporter(trace).plain()["costliest"]
    assert (row["operation"], row["calls"], row["mpi_ns"], row["beyond_shortest_ns"]) == (
        "Barrier",
        4,
        8000,
        4000,
    )
    shown = drawn(PerformanceReporter(trace))
    assert "rank 1 computes most, 2 times the mean; rank 0 is longest in MPI, 4 µs" in shown
    assert "waiting, at most: 4 µs in collectives (50 % of MPI)" in shown


def test_two_traces_side_by_side() -> None:
    left, right = barriers(COMPUTE, INSIDE), barriers(COMPUTE, (8000, 2000, 2000, 4000))
    (row,) = ComparisonReporter(left, right, "op", True, 20).plain()
    assert row == {
        "operation": "Barrier",
        "left": {"calls": 4, "bytes_sent": 0, "mpi_ns": 8000, "compute_ns": 16000},
        "right": {"calls": 4, "bytes_sent": 0, "mpi_ns": 16000, "compute_ns": 16000},
        "time_ratio": 2.0,
    }
    assert ComparisonReporter(left, right, "op", False, 20).plain() == []
    rows = ComparisonReporter(left, barriers(COMPUTE, INSIDE, "Bcast"), "site", True, 1)
    assert [(row["left"]["calls"], row["right"]["calls"]) for row in rows.plain()] == [(4, 0), (0, 4)]
    assert "1 more differ" in drawn(rows)


def heat(
    file: str = "heat.py", compute_ns: int = 100, inside_ns: int = 50, nprocs: int = 4, lines: int = 0
) -> Trace:
    """A kernel from the end of an exchange to the next one: lines 39 and 30 of halo, and so many `lines`."""
    frames = [f"{file}:{30 + lines}:halo", f"{file}:{39 + lines}:halo"]
    nodes = []
    for op, times in enumerate([(compute_ns, inside_ns), (10, 20)]):
        histograms = tuple(Histogram(nprocs, ns, ns, ns, 0) for ns in times)
        nodes.append(Event(Vec(1), op, op + 1, (), (PredStats(2 - op, histograms),)))
    return Trace(
        nprocs, ops=[Op("Barrier", ()), Op("Waitall", ())], preds=[START, (0, 1), (1, 2)], frames=frames,
        signatures=[(), (0,), (1,)], nodes=nodes,
        stats=[RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)],
    )  # fmt: skip


def test_a_slower_computation_comes_first() -> None:
    found = ComparisonReporter(heat(), heat(compute_ns=400, inside_ns=150), "site", True, 20)
    (row,) = found.computation()
    assert row == {
        "after call": "Waitall", "after line": "heat.py:39:halo",
        "left": {"compute_ns": 400}, "right": {"compute_ns": 1600},
        "place": "in halo() from heat.py:39 (Waitall) back to line 30 (Barrier)", "time_ratio": 4.0,
        "share_of_difference": 0.75,
    }  # fmt: skip
    shown = drawn(found)
    assert (
        "computation in halo() from heat.py:39 (Waitall) back to line 30 (Barrier) "
        "100 ns 400 ns 300 ns 4.00 75.0 %" in " ".join(shown.split())
    )
    assert shown.index("of difference") < shown.index("MPI time")
    assert [(row["time"], row["difference_ns"], row["share_of_difference"]) for row in found.times()] == [
        ("computation", 300, 0.75), ("in Barrier", 100, 0.25),
    ]  # fmt: skip
    assert found.sentence("a.st", "b.st") == (
        "b.st is 400 ns slower (run time 580 ns, that of a.st 180 ns): 300 ns computation "
        "in halo() from heat.py:39 (Waitall) back to line 30 (Barrier); 100 ns in Barrier heat.py:30:halo."
    )
    backwards = ComparisonReporter(heat(compute_ns=400, inside_ns=150), heat(), "site", True, 20)
    assert backwards.sentence("b.st", "a.st").startswith(
        "a.st is 400 ns faster (run time 180 ns, that of b.st 580 ns): "
    )
    same = ComparisonReporter(heat(), heat(), "site", True, 20)
    assert same.sentence("a", "b") == "b and a take the same time, 180 ns."
    assert ComparisonReporter(heat(), heat(), "site", False, 20).sentence("a", "b") == ""
    assert ComparisonReporter(heat(), heat(compute_ns=400), "site", False, 20).computation() == []


def spectrum(
    op: str, line: int, compute_ns: int = 70, inside_ns: int = 10, main_line: int = 32, before_ns: int = 20
) -> Trace:
    """A transpose in line 29 of main, and `op` in spectrum(), which main calls; `compute_ns` after it."""
    main = [f"fft.py:{n}:main" for n in (29, main_line)]
    nodes = []
    for number, times in enumerate([(compute_ns, 5), (before_ns, inside_ns)]):
        histograms = tuple(Histogram(4, ns, ns, ns, 0) for ns in times)
        nodes.append(Event(Vec(1), number, number + 1, (), (PredStats(2 - number, histograms),)))
    return Trace(
        4, ops=[Op("Alltoall", ()), Op(op, ())], preds=[START, (0, 1), (1, 2)],
        frames=["fft.py:13:transpose", main[0], f"fft.py:{line}:spectrum", main[1]],
        signatures=[(), (0, 1), (2, 3)], nodes=nodes,
        stats=[RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)],
    )  # fmt: skip


@pytest.mark.parametrize("main_line", [32, 40])
def test_computation_after_another_operation_is_the_same(main_line: int) -> None:
    """Main computes after spectrum(), whichever call that makes, and in whichever line it is."""
    before, after = spectrum("Ssend", 27, inside_ns=400), spectrum("Gather", 19, main_line=main_line)
    found = ComparisonReporter(before, after, "site", True, 20)
    assert [(row["time"], row["difference_ns"]) for row in found.times()] == [
        ("in Ssend", -400), ("in Gather", 10),
    ]  # fmt: skip
    slower = ComparisonReporter(before, spectrum("Gather", 19, compute_ns=100), "site", True, 20)
    (row,) = slower.computation()
    assert row["place"] == "in main() from fft.py:32 (spectrum) back to line 29 (transpose)"
    assert (row["left"]["compute_ns"], row["right"]["compute_ns"]) == (280, 400)


def test_computation_that_ends_at_another_line_is_named_by_its_beginning() -> None:
    after = spectrum("Ssend", 27, main_line=40, before_ns=50)
    rows = ComparisonReporter(spectrum("Ssend", 27), after, "site", True, 20).times()
    assert [row["place"] for row in rows if row["difference_ns"] == 30] == [
        "in main() from fft.py:29 (transpose)"
    ]


def test_computation_after_another_operation_of_the_same_line() -> None:
    before, after = heat(), heat(compute_ns=400)
    after.ops[1] = Op("Testall", ())
    (row,) = ComparisonReporter(before, after, "site", True, 20).computation()
    assert row["time_ratio"] == 4.0


def test_calls_of_one_function_from_two_lines_end_two_computations() -> None:
    """Each has its own time, in the differences and in the costs of the page."""
    at = [("/fft.py:13:transpose", f"/fft.py:{line}:main") for line in (29, 30)]

    def run(scale: int) -> Trace:
        b = Builder(2)
        barriers = (b.event("Barrier", at=stack, comm=Comm()) for stack in at)
        return timed(b.of(b.loop(5, *barriers)), scale)

    compared = ComparisonReporter(run(1), run(2), "site", True, 9)
    found = {row["place"]: row["left_ns"] for row in compared.times()}
    costs = {row.place: row.compute_ns / 2 for row in gather(run(1), "fft").computing}
    shared = found.keys() & costs.keys()
    assert len(shared) == 3
    assert {name: found[name] for name in shared} == {name: costs[name] for name in shared}


def test_ranks_that_differ_much_more_than_the_mean_are_named() -> None:
    before, after = barriers((16, 16, 32, 64), (64,) * 4), barriers((16,) * 4, (64,) * 4)
    found = ComparisonReporter(before, after, "site", True, 20)
    (row,) = [row for row in found.times() if row["time"] == "computation"]
    assert (row["difference_ns"], row["mostly_on"]) == (-16, "rank 3: -48 ns")
    assert "Computation differs mostly on rank 3: -48 ns, from the start" in found.sentence("a", "b")
    assert "mostly on" in drawn(found)
    one, two = barriers((16,) * 6, (64,) * 6), barriers((16, 16, 64, 64, 16, 16), (64,) * 6)
    (row,) = ComparisonReporter(one, two, "site", True, 20).times()
    assert row["mostly_on"] == "ranks 2, 3: +48 ns each"
    even = ComparisonReporter(
        barriers((16,) * 4, (64,) * 4), barriers((32,) * 4, (64,) * 4), "site", True, 20
    )
    assert [row["mostly_on"] for row in even.times()] == ["all ranks"]
    assert "Computation differs mostly" not in even.sentence("a", "b")


def test_ranks_of_differences_need_totals_of_the_same_ranks() -> None:
    before = barriers((16, 16, 32, 64), (64,) * 4)
    for after in (barriers((16,) * 4, (64,) * 4, loads=False), barriers((16,) * 8, (64,) * 8)):
        rows = ComparisonReporter(before, after, "site", True, 20).times()
        assert {row["mostly_on"] for row in rows} == {""}


def test_the_run_time_is_that_of_the_longest_rank() -> None:
    """Its difference is that of the times as shown; what a rank takes longer on average is beside it."""
    before, after = late([0, 0, 16, 0], 30_000), late([0, 0, 32, 0], 30_000)
    found = ComparisonReporter(before, after, "site", True, 20)
    pattern = r"b is (\d+) µs slower \(run time (\d+) µs, that of a (\d+) µs\)[.] On average a rank takes"
    numbers = re.match(pattern, found.sentence("a", "b"))
    assert numbers, found.sentence("a", "b")
    difference, run_b, run_a = map(int, numbers.groups())
    assert difference == run_b - run_a
    traces = [trace.without_phases for trace in (before, after)]
    times = [run_time(trace, whole_time(trace), efficiency(trace)).ns for trace in traces]
    assert [run_a, run_b] == [pytest.approx((ns or 0) / 1e3, rel=0.05) for ns in times]


def test_totals_come_first() -> None:
    found = ComparisonReporter(heat(), heat(compute_ns=400, inside_ns=150), "site", True, 20)
    assert found.total() == {
        "left": {"mpi_ns": 280, "compute_ns": 440}, "right": {"mpi_ns": 680, "compute_ns": 1640},
        "time_ratio": pytest.approx(2320 / 720),
    }  # fmt: skip
    lines = [" ".join(line.split()) for line in drawn(found).splitlines() if line.strip(" ─")]
    assert lines[0].startswith("+ is 400 ns slower")
    assert lines[1:5] == [
        "time of a rank - + ratio", "total 180 ns 580 ns 3.22", "in MPI 70 ns 170 ns 2.43",
        "computation 110 ns 410 ns 3.73",
    ]  # fmt: skip
    assert ComparisonReporter(heat(), heat(compute_ns=400), "site", False, 20).total() is None


def test_totals_of_different_numbers_of_ranks_are_those_of_a_rank() -> None:
    found = ComparisonReporter(heat(), heat(nprocs=8), "site", True, 20)
    assert found.total() == {
        "left": {"mpi_ns": 280, "compute_ns": 440}, "right": {"mpi_ns": 560, "compute_ns": 880},
        "time_ratio": 1.0,
    }  # fmt: skip
    assert "total 180 ns 180 ns 1.00" in " ".join(drawn(found).split())


def test_start_up_is_no_computation_that_differs() -> None:
    traces = [heat(), heat()]
    for trace, start_ns in zip(traces, (1000, 9000), strict=True):
        times = tuple(Histogram(4, ns, ns, ns, 0) for ns in (start_ns, 50))
        first = replace(trace.nodes[0], stats=(PredStats(0, times), *trace.nodes[0].stats))
        trace.nodes[0] = first
    assert ComparisonReporter(*traces, "site", True, 20).computation() == []


@pytest.mark.parametrize("by", ["op", "site"])
def test_more_ranks_are_compared_per_rank(by: str) -> None:
    found = ComparisonReporter(heat(), heat(nprocs=8, compute_ns=200), by, True, 20)
    (row,) = found.computation()
    assert (row["time_ratio"], row["right"]["compute_ns"]) == (2.0, 1600)
    (calls,) = found.plain()  # the call after the slower computation; MPI times of a rank are equal
    assert (calls["operation"], calls["time_ratio"], calls["right"]["calls"]) == ("Barrier", 1.0, 8)
    assert "numbers are those of a rank: 4 and 8 ranks" in drawn(found)


def test_call_sites_with_other_files_or_lines_are_compared() -> None:
    found = ComparisonReporter(heat(), heat("slow.py", 400, lines=2), "site", True, 20)
    assert [row["time_ratio"] for row in found.computation()] == [4.0]
    assert "heat.py:30:halo → slow.py:32" in drawn(found)
    three = heat("slow.py", 400)
    three.frames.append("slow.py:50:halo")
    three.signatures.append((2,))
    three.nodes.append(Event(Vec(1), 0, 3, ()))
    found = ComparisonReporter(heat(), three, "site", True, 20)  # which of two Barriers is it?
    assert [row["left"]["calls"] for row in found.plain() if row["operation"] == "Barrier"].count(0) == 2


def test_differences_are_shown_in_the_terms_of_users(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = diff(barriers(COMPUTE, INSIDE), barriers(COMPUTE, (8000, 2000, 2000, 4000)))
    shown = drawn(DiffReporter(found, "a.st", "b.st"))
    assert "- Barrier(); 4 µs before it, 2 µs in it (means of 4 calls)" in shown
    assert "compute_ns" not in shown
    a, b = tmp_path / "a.st", tmp_path / "b.st"
    scalatrace.save(barriers(COMPUTE, INSIDE), a)
    scalatrace.save(barriers(INSIDE, COMPUTE), b)
    assert main(["diff", str(a), str(b), "--ignore", "callsites"]) == 1
    assert "call site" not in capsys.readouterr().out
    scalatrace.save(heat(nprocs=8), b)
    assert main(["diff", str(a), str(b)]) == 1
    assert "- ranks 0-3 of 4" in capsys.readouterr().out


@pytest.mark.parametrize(("width", "hidden"), [(140, 0), (110, 2), (80, 4), (60, 4)])
def test_a_narrow_terminal_gets_fewer_columns(
    monkeypatch: pytest.MonkeyPatch, width: int, hidden: int
) -> None:
    for name in launcher_variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    left, right = (barriers(COMPUTE, times, "Comm_split") for times in (INSIDE, (8000, 2000, 2000, 4000)))
    out = Terminal()
    ComparisonReporter(left, right, "op", True, 20).render(console(out))
    assert [words for line in out.getvalue().splitlines() if (words := line.split())[:1] == ["Comm_split"]]
    assert "2 µs" in out.getvalue()
    assert "4 µs" in out.getvalue()
    note = out.getvalue().partition("note: a wider terminal shows more columns: ")[2]
    assert len(list(filter(None, note.strip().split(", ")))) == hidden


def sends(count: int) -> Trace:
    b = Builder(4)
    return b.of(
        b.event("Send", 3, at=("a.py:1:f",), count=count, datatype=DOUBLE, dest=0, comm=Comm()),
        b.event("Allreduce", 2, at=("a.py:2:f",), count=1, datatype=DOUBLE, comm=Comm()),
    )


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(words)
    return status, capsys.readouterr().out


def test_diff_shows_a_table_then_the_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = str(tmp_path / "one.st"), str(tmp_path / "other.st")
    scalatrace.save(sends(1), one)
    scalatrace.save(sends(2), other)
    status, shown = command(capsys, "diff", one, other)
    assert status == 1
    assert shown.startswith(f"- {one}\n+ {other}\n")
    assert "time of a rank" not in shown  # no times
    assert shown.index("calls -") < shown.index("ranks 0-3, event 1")
    assert [words for line in shown.splitlines() if (words := line.split())[:1] == ["Send"]] == [
        ["Send", "a.py:1:f", "12", "12", "96", "B", "192", "B", "-", "-", "-"]
    ]
    assert "1 call site is equal" in shown
    status, shown = command(capsys, "diff", one, other, "--by", "op", "--json")
    (row,) = json.loads(shown)["comparison"]
    assert (row["operation"], row["left"]["bytes_sent"], row["right"]["bytes_sent"]) == ("Send", 96, 192)
    assert command(capsys, "diff", one, one) == (0, "equal\n")


def test_matrix_says_what_is_not_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.st")
    scalatrace.save(sends(1), path)
    shown = command(capsys, "matrix", path)[1]
    assert "not in the matrix, since the calls do not say who sends to whom: 8 Allreduce" in shown


def test_operation_is_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.st")
    scalatrace.save(sends(1), path)
    assert command(capsys, "stats", path, "--by", "operation") == command(capsys, "stats", path)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "styled", "wide"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"OMPI_COMM_WORLD_RANK": "0"}, False, True),
        ({"PMI_RANK": "1"}, False, True),
    ],
    ids=["terminal", "no-color", "mpiexec", "hydra"],
)
def test_styles(monkeypatch: pytest.MonkeyPatch, variables: dict[str, Any], styled: bool, wide: bool) -> None:
    for name in ("NO_COLOR", "COLUMNS", *launcher_variables()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    reporter = StatsReporter(barriers(COMPUTE, INSIDE))
    reporter.render(console(out))
    assert ("\x1b[" in out.getvalue()) == styled
    assert (console(out).width == UNBROKEN) == wide
    assert ("a wider terminal shows more columns" in out.getvalue()) != wide


def test_a_pipe_gets_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    StatsReporter(barriers(COMPUTE, INSIDE), "site").render(console(out))
    assert "over fastest" in out.getvalue()
    assert "wider terminal" not in out.getvalue()


SLEEPER = """\
import sys, time
from mpi4py import MPI
comm, inside, begin = MPI.COMM_WORLD, 0, time.perf_counter_ns()
for step in range(10):
    if comm.rank == 1:
        time.sleep(0.05)
    start = time.perf_counter_ns()
    comm.Barrier()
    end = time.perf_counter_ns()
    inside += end - start
sys.stdout.write(f"{comm.rank} {inside} {end - begin - inside}\\n")
"""


@pytest.mark.mpi
def test_times_of_each_rank_are_measured(openmpi_first: Mpi, tmp_path: Path) -> None:
    """A rank that sleeps before each barrier waits for nobody; the others wait for it."""
    mpi, program, path = openmpi_first, tmp_path / "sleeper.py", tmp_path / "a.st"
    program.write_text(SLEEPER)
    done = record(mpi, 3, [str(mpi.python), program], path, timeout=60).check()
    timers = {int(rank): int(ns) for rank, ns, _ in map(str.split, done.stdout.splitlines())}
    rows = StatsReporter(scalatrace.load(path), "rank").plain()["rows"]
    for rank in (0, 2):  # a busy machine adds to either, and the trace has other calls
        assert abs(rows[rank]["mpi_ns"] - timers[rank]) < 0.25 * timers[rank]
    assert rows[1]["mpi_ns"] < 0.5 * rows[0]["mpi_ns"]


def test_commands_and_page_name_the_same_ranks() -> None:
    """Ranks within the resolution of their totals are named together, or as all of them."""
    equal = barriers((4000, 4000), (2000, 2000))
    shown = drawn(PerformanceReporter(equal))
    assert "all ranks compute equally long; all ranks are equally long in MPI, 2 µs" in shown
    summary = summary_of(equal)
    assert (summary.busiest, summary.longest_in_mpi) == (EQUALLY, EQUALLY)
    times = (8000, 8000, 2000, 2000, 2000, 2000, 4000, 4000)
    two = barriers(times, times[::-1])
    shown = drawn(PerformanceReporter(two))
    assert "ranks 0-1 compute most" in shown
    assert "ranks 6-7 are longest in MPI" in shown
    assert summary_of(two).busiest == "ranks 0-1"


def test_a_call_site_has_one_name() -> None:
    """Wrappers of MPI are not the place of a call, in no output."""
    frames = ["MPI.openmpi.so+0x10:PyMPI_Commctx_free_fn", "pylifecycle.c:2930:Py_FinalizeEx"]
    trace = barriers(COMPUTE, INSIDE)
    trace.frames[:] = frames
    trace.signatures[:] = [(0, 1)]
    (call,) = trace.walk(0)
    assert call.site == frames[1]
    outputs = (TreeReporter(trace), LinesReporter(trace.walk(0)), StatsReporter(trace, "site"))
    for shown in map(drawn, outputs):
        assert "Py_FinalizeEx" in shown
        assert "PyMPI_Commctx" not in shown


@pytest.mark.parametrize(("programs", "text"), [
    (("app -x 2 -N 20", "app -x 2 -N 20 -n 2 -e"), " Arguments differ: -n 2 -e only in b."),
    (("app -x 2 -v", "app -x 4"), " Arguments differ: 2 -v only in a; 4 only in b."),
    (("app -x 2", "app -x 2"), ""), (("app -x 2", "other -x 4"), ""), (("", "app"), ""),
])  # fmt: skip
def test_arguments_that_differ_are_named(programs: tuple[str, str], text: str) -> None:
    traces = heat(), heat(compute_ns=400)
    for trace, program in zip(traces, programs, strict=True):
        trace.meta["program"] = program
    sentence = ComparisonReporter(*traces, "site", True, 20).sentence("a", "b")
    assert text in sentence
    assert ("Arguments differ" in sentence) is bool(text)
