"""The tree, the summary, histograms and advice: sums equal those of walks and of the other reports."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from scalatrace.operations import received_bytes, sent_bytes
from scalatrace.report.page.comparison import LESS, MORE, NEITHER, change, comparison_of
from scalatrace.report.page.extrapolated import ModelFacts, provenance_of
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.histograms import deltas_of
from scalatrace.report.page.overview.advice import advice_of
from scalatrace.report.page.overview.summary import summary_of
from scalatrace.report.page.overview.waits import TimeBasis
from scalatrace.report.page.page import page
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.report.page.sources import SourceReader
from scalatrace.report.page.tree import PageTree, TreeNode, tree_of
from scalatrace.report.style import ranks as ranks_text
from scalatrace.trace.model.elastic import Formulas
from scalatrace.trace.model.nodes import Event, Peer, Sequence, node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm
from support.reported import SEEDS, million_stencil, recorded, ring
from support.timed import trace_of, uneven_solver

RECORDED = recorded()


def below(node: TreeNode) -> list[TreeNode]:
    return [one for child in node.children for one in (child, *below(child))]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_sums_of_walks(name: str) -> None:
    trace = RECORDED[name]
    root = gather(trace, name).tree.root
    calls = [call for rank in trace.ranks for call in trace.walk(rank)]
    assert root.calls == len(calls)
    if not any("start" in call.op.lower() for call in calls):  # persistent requests move bytes when started
        assert root.sent == sum(sent_bytes(call.op, call) for call in calls)
        assert root.received == sum(received_bytes(call.op, call) for call in calls)
    for node in below(root):
        if node.children:
            assert node.calls == sum(child.calls for child in node.children)
            assert node.comm_ns == pytest.approx(sum(child.comm_ns for child in node.children))
        assert node.nranks >= 1
    assert root.comm_ns == pytest.approx(sum(h.total for h in kept(trace.without_phases, COMM)))


def kept(trace: Trace, stat: str) -> list[Histogram]:
    """All histograms of a statistic, in its unit."""
    if (index := trace.stat_index.get(stat)) is None:
        return []
    found = [s.histograms[index] for leaf in trace.leaves() for s in leaf.stats]
    return [h.scaled(trace.stats[index].resolution) for h in found if h is not None]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_histograms_of_deltas(name: str) -> None:
    trace = RECORDED[name]
    found = deltas_of(trace)
    if not kept(trace, COMPUTE) and not kept(trace, COMM):
        assert found == ()
        return
    every = found[0]
    for stat, bins in ((COMPUTE, every.before), (COMM, every.inside)):
        total = sum(h.total for h in kept(trace, stat))
        count = sum(h.count for h in kept(trace, stat))
        assert sum(one.total_ns for one in bins) == pytest.approx(total, rel=0.01, abs=10)
        assert sum(one.samples for one in bins) == pytest.approx(count, rel=0.05, abs=2)
        for one in bins:
            if one.index >= 0:
                mean = one.total_ns / one.samples
                assert 10 ** (one.index / 4) * 0.9 <= mean <= 10 ** ((one.index + 1) / 4) * 1.1


def test_numbers_are_in_preorder() -> None:
    trace = ring(4)
    numbers = node_numbers(trace.nodes)
    assert sorted(numbers.values()) == list(range(1, trace.nnodes + 1))
    tree = gather(trace, "ring").tree
    assert [node.number for node in below(tree.root)] == list(range(1, trace.nnodes + 1))


def test_large_trees_are_pruned() -> None:
    b = Builder(2)
    trace = b.of(
        *(b.loop(2, b.event("Barrier", i % 7 + 1, at=(f"a.py:{i}:f",), comm=Comm())) for i in range(500))
    )
    full = gather(trace, "full").tree
    tree = tree_of(trace, {}, [], find(trace), SourceReader(), max_nodes=100)
    shown = below(tree.root)
    hidden = [node for node in shown if node.number < 0]
    assert len([node for node in shown if node.number > 0]) <= 100
    assert sum(node.left_out for node in hidden) + len(shown) - len(hidden) == len(below(full.root)) == 1000
    assert tree.nnodes == 1000


def find(trace: Trace) -> Grid:
    return find_grid(trace, [])[0]


def test_summary_of_a_recorded_trace(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "a.st", *uneven_solver())
    summary = summary_of(trace, 100)
    assert summary.events == sum(1 for rank in trace.ranks for _ in trace.walk(rank))
    assert summary.efficiency is not None
    parts = summary.efficiency["load_balance"] * summary.efficiency["communication_efficiency"]
    assert summary.efficiency["parallel_efficiency"] == pytest.approx(parts)
    assert [one.first for one in summary.ranks] == list(trace.ranks)
    assert dict(summary.header)["file"] == "100 bytes"
    assert sum(row["calls"] for row in summary.operations) == summary.events


def test_summary_of_a_million_ranks_says_what_is_missing() -> None:
    summary = summary_of(million_stencil())
    assert summary.efficiency is None
    assert summary.ranks == ()
    assert summary.mean_note.startswith("times of each rank are not known")
    assert summary.notes == ()


def test_advice() -> None:
    aggregates = gather(ring(8, steps=5), "small")
    kinds = {one.kind: one for one in aggregates.advice}
    assert {"late-senders", "slow-sends", "imbalance"} <= set(kinds)
    late = kinds["late-senders"]
    by_number = {node.number: node for node in below(aggregates.tree.root)}
    assert by_number[late.node].op == "Wait"
    beyond = sum(n.beyond_ns for n in by_number.values() if n.op == "Wait")
    whole = aggregates.tree.root.comm_ns + aggregates.tree.root.compute_ns
    assert late.share == pytest.approx(beyond / whole)
    assert [one.share for one in aggregates.advice] == sorted(
        (one.share for one in aggregates.advice), reverse=True
    )


def test_ranks_that_stand_out_are_named_with_those_as_long(tmp_path: Path) -> None:
    """Totals of a rank are stored in steps, so several have the same."""
    trace = trace_of(tmp_path / "a.st", *uneven_solver())
    summary = summary_of(trace)
    for named, times in (
        (summary.busiest, [one.compute_ns[1] for one in summary.ranks]),
        (summary.longest_in_mpi, [one.comm_ns[1] for one in summary.ranks]),
    ):
        near = [rank for rank, time in zip(trace.ranks, times, strict=True) if time >= 0.95 * max(times)]
        words = "all ranks equally" if len(near) == len(times) else ranks_text(RankList(near))
        assert named in (f"rank {words}", f"ranks {words}", words)
    advice = advice_of(replace(summary, busiest="rank 1", longest_in_mpi="ranks 0, 2-3"), *parts(trace))
    waits = {one.kind: dict(one.numbers) for one in advice if one.kind in ("late-senders", "imbalance")}
    assert waits
    for numbers in waits.values():
        assert numbers["waits most"] == "ranks 0, 2-3 by time in MPI"
        assert numbers["may be late"] == "rank 1 by computation"


def test_loops_have_their_iterations_in_all() -> None:
    b = Builder(2)
    inner = b.loop(Vec((3, 5)), b.event("Barrier", comm=Comm()))
    outer = gather(b.of(b.loop(2, inner)), "x").tree.root.children[0]
    assert (outer.times, outer.in_all) == ("2", "")
    assert (outer.children[0].times, outer.children[0].in_all) == ("3–5", "8")


def parts(trace: Trace) -> tuple[PageTree, TimeBasis]:
    aggregates = gather(trace, "x")
    return aggregates.tree, aggregates.basis


def shared_cores(trace: Trace) -> Trace:
    trace.meta |= {"ranks-per-host": "8", "cores-per-host": "2"}
    return trace


def test_waiting_may_be_waiting_for_a_core() -> None:
    """A note beside the result says so; the advice is what the program can change."""
    assert not any("core" in one.text for one in gather(ring(8, steps=5), "x").advice)
    found = gather(shared_cores(ring(8, steps=5)), "x")
    assert found.summary.shared_cores.startswith("8 ranks shared 2 cores of a host")
    assert {one.kind for one in found.advice} == {one.kind for one in gather(ring(8, steps=5), "x").advice}
    text = page([found])
    assert text.count("8 ranks shared 2 cores of a host") == 1
    assert "With --platform FILE, the run is simulated" in text


def simulated(waiting: dict[int, float], means: tuple[float, float] = (900.0, 900.0)) -> PageOptions:
    """A simulated run of 1,000 ns; `means`: mean and largest computation of a rank."""
    facts = {
        "platform": "p", "calls": 1, "time_ns": 1000.0, "last_rank": 0, "notes": {}, "seed": 3,
        "path": {"compute_ns": 0.0, "latency_ns": 0.0, "bytes_ns": 0.0, "overhead_ns": 0.0, "messages": 0},
        "means": dict(zip(("time_ns", "compute_ns", "most_compute_ns", "transfer_ns", "waiting_ns"),
                          (1000.0, *means, 50.0, 50.0), strict=True)),
    }  # fmt: skip
    nodes = {
        number: {"waiting_ns": ns, "compute_ns": 80.0, "path_compute_ns": 10.0 * number, "transfer_ns": 5.0}
        for number, ns in waiting.items()
    }
    mean = dict.fromkeys(waiting, 80.0)
    row = {"operation": "Send", "site": "ring.py:4:turn", "calls": 80, "path_ns": 0.0, "path_compute_ns": 0.0}
    row |= {"transfer_ns": 400.0, "waiting_ns": 0.0, "compute_ns": 0.0}
    return PageOptions(
        prediction=PagePrediction.of(facts, {"operation": [row], "site": [row]}, {}, nodes, mean)
    )


def test_simulated_waiting_counts_where_ranks_shared_cores() -> None:
    """It does not where each rank had a core: measured times are better then."""
    trace = ring(8, steps=5)
    numbers = {node.op: node.number for node in below(gather(trace, "x").tree.root)}
    options = simulated({numbers["Wait"]: 2000.0, numbers["Allreduce"]: 800.0})
    assert gather(trace, "x", options=options).advice == gather(trace, "x").advice
    found = gather(shared_cores(trace), "x", options=options)
    kinds = {one.kind: one for one in found.advice}
    late, imbalance = (kinds[kind] for kind in ("late-senders", "imbalance"))
    assert found.advice[0] == late
    assert (late.share, imbalance.share) == (0.25, 0.1)  # of 1000 ns on each of 8 ranks
    assert dict(late.numbers)["with mean computation times"] == "10 ns per rank"
    on_path = sum(10 * numbers[op] for op in ("Wait", "Allreduce"))
    text = dict(late.numbers)["computation that is late"]
    assert text.endswith(f": {on_path} ns on the longest path, 20 ns on the mean rank")
    assert "single long computations" in late.text
    lasting = replace(options.prediction, mean_waiting={numbers["Wait"]: 1900.0})
    found_again = gather(shared_cores(trace), "x", options=PageOptions(prediction=lasting))
    assert any("some ranks or calls always take longer" in one.text for one in found_again.advice)
    assert dict(late.numbers)["possible saving, at most"] == "250 ns per rank"
    assert [(one.op, one.waiting_ns, one.share) for one in found.waits] == [
        ("Wait", 2000.0, 0.25),
        ("Allreduce", 800.0, 0.1),
    ]
    assert found.tree.root.waiting_ns == 2800.0


def test_load_of_a_simulated_run() -> None:
    trace = shared_cores(ring(8, steps=5))
    kinds = {one.kind: one for one in gather(trace, "x", options=simulated({}, (400.0, 800.0))).advice}
    assert kinds["load"].share == pytest.approx(0.4)
    numbers = dict(kinds["load"].numbers)
    assert (numbers["mean computation"], numbers["largest computation"]) == ("400 ns", "800 ns")
    assert "load" not in {one.kind for one in gather(trace, "x", options=simulated({})).advice}


def test_measured_computation_is_scaled_to_the_simulated_run() -> None:
    """A platform may compute faster than the machine of the run."""
    trace = shared_cores(ring(8, steps=5))
    numbers = [node.number for node in below(gather(trace, "x").tree.root) if node.op]
    found = gather(trace, "x", options=simulated(dict.fromkeys(numbers, 0.0)))
    assert found.tree.root.compute_ns == 80.0 * len(numbers)
    assert found.tree.root.comm_ns == 5.0 * len(numbers)
    assert found.tree.root.recorded_ns == found.summary.comm_ns
    assert found.basis.compute_factor == pytest.approx(80.0 * len(numbers) / (found.summary.compute_ns or 0))


def test_oversubscription_is_noted_where_there_are_times() -> None:
    assert summary_of(shared_cores(ring(8, steps=5))).shared_cores.startswith("8 ranks shared 2 cores")
    b = Builder(2)
    without = shared_cores(b.of(b.event("Comm_rank", comm=Comm())))
    assert summary_of(without).shared_cores == ""
    assert [one.kind for one in gather(without, "x").advice] == ["nothing"]


def test_nothing_to_look_at() -> None:
    b = Builder(2)
    trace = b.of(b.event("Comm_rank", comm=Comm()))
    aggregates = gather(trace, "quiet")
    assert [one.kind for one in aggregates.advice] == ["nothing"]
    assert advice_of(aggregates.summary, aggregates.tree, aggregates.basis) == aggregates.advice


class TestSources:
    def test_lines_around(self, tmp_path: Path) -> None:
        path = tmp_path / "app.py"
        path.write_text("\n".join(f"line {i}" for i in range(1, 10)))
        found = SourceReader("2099-01-01").at(f"{path}:5:f")
        assert found is not None
        assert (found.first, found.lines, found.changed) == (
            3,
            tuple(f"line {i}" for i in range(3, 8)),
            False,
        )
        assert SourceReader().at(f"{path}:1:f").first == 1  # type: ignore[union-attr]
        assert SourceReader().at(f"{path}:10:f") is None

    def test_changed_files_are_marked(self, tmp_path: Path) -> None:
        path = tmp_path / "app.c"
        path.write_text("call();\n")
        found = SourceReader("2001-01-01T00:00:00+00:00").at(f"{path}:1:f")
        assert found is not None
        assert found.changed

    @pytest.mark.parametrize("name", ["secret", "secret.txt", "id_rsa", "shadow.conf"])
    def test_only_source_files_are_read(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("secret\n")
        assert SourceReader().at(f"{tmp_path / name}:1:f") is None

    def test_no_files_on_request_and_no_devices(self, tmp_path: Path) -> None:
        path = tmp_path / "app.py"
        path.write_text("x\n")
        assert SourceReader(enabled=False).at(f"{path}:1:f") is None
        os.mkfifo(tmp_path / "pipe.py")
        assert SourceReader().at(f"{tmp_path / 'pipe.py'}:1:f") is None
        assert SourceReader().at("app.py:1:f") is None
        assert SourceReader().at("\0.py:1:f") is None

    def test_loops_of_deep_expressions_are_not_known(self, tmp_path: Path) -> None:
        path = tmp_path / "deep.py"
        path.write_text("for i in range(2):\n    call()\n")
        assert SourceReader().has_loop(f"{path}:2:f", f"{path}:2:f")
        path = tmp_path / "deeper.py"
        path.write_text("x = " + "+".join(["1"] * 2000) + "\nfor i in range(2):\n    call()\n")
        assert SourceReader().has_loop(f"{path}:3:f", f"{path}:3:f") is None


def test_provenance_of_formulas() -> None:
    trace = ring(4)
    assert provenance_of(trace, {}) is None
    trace.meta["extrapolated"] = "from 16, 20 ranks to 2x2"
    trace.meta["unconfirmed"] = "formulas were accepted"
    found = provenance_of(trace, {}, ModelFacts(("a line",)))
    assert found is not None
    assert (found.origin, found.formulas, found.model) == ("from 16, 20 ranks to 2x2", (), ("a line",))
    assert found.notes == ("formulas were accepted",)


def test_formulas_of_a_trace() -> None:
    import scalatrace

    paths = [path for path in SEEDS.glob("*.st") if any(map(has_formulas, scalatrace.load(path).leaves()))]
    for path in paths:
        trace = scalatrace.load(path)
        trace.meta["extrapolated"] = "for a test"
        found = provenance_of(trace, node_numbers(trace.nodes))
        assert found is not None
        assert found.formulas


def has_formulas(leaf: Event) -> bool:
    values = [param.value if isinstance(param, Peer) else param for param in leaf.params]
    return any(isinstance(value, Formulas) for value in (*values, leaf.repeat))


def test_colours_mean_better_and_worse() -> None:
    assert [change(ratio, LESS) for ratio in (5.0, 1.04, 0.5, None)] == ["worse", "", "better", ""]
    assert [change(ratio, MORE) for ratio in (5.0, 0.5)] == ["better", "worse"]
    assert change(2.78, NEITHER) == ""
    traces = {n: ring(n) for n in (2, 4)}
    sides = {n: gather(trace, "x").summary for n, trace in traces.items()}
    worse = replace(sides[4], efficiency=dict.fromkeys(EFFICIENCIES, 0.1), run_time_ns=9e9)
    better = replace(sides[2], efficiency=dict.fromkeys(EFFICIENCIES, 0.5), run_time_ns=1e9)
    found = comparison_of(traces[2], traces[4], (better, worse))
    figures = {one.name: one for one in found.figures}
    assert figures["ranks"].change == ""
    assert {figures[name.replace("_", " ")].change for name in EFFICIENCIES} == {"worse"}
    assert figures["run time"].change == "worse"
    assert "calls per rank" in figures
    assert "time in MPI per rank" in figures


EFFICIENCIES = ("parallel_efficiency", "load_balance", "communication_efficiency")


def test_comparison() -> None:
    left, right = ring(4), ring(6, nbytes=1600)
    sides: list[TraceAggregates] = [gather(trace, "x") for trace in (left, right)]
    found = comparison_of(left, right, (sides[0].summary, sides[1].summary))
    figures = {one.name: one for one in found.figures}
    assert (figures["ranks"].left, figures["ranks"].right, figures["ranks"].ratio) == ("4", "6", 1.5)
    sends = next(row for row in found.operations if row["operation"] == "Send")
    # Those of a rank, since the numbers of ranks differ.
    assert (sends["left"]["bytes_sent"], sends["right"]["bytes_sent"]) == (8_000, 16_000)
    assert comparison_of(left, left, (sides[0].summary, sides[0].summary)).sites == ()


def test_limits_become_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    from scalatrace.errors import LimitError
    from scalatrace.report.page import gather as module

    def refuse(*_: object) -> None:
        raise LimitError("too many ranks differ")

    monkeypatch.setattr(module, "messages_of", refuse)
    found = gather(ring(4), "ring")
    assert found.blocks.cells == ()
    assert any("too many ranks differ" in note for note in found.notes)


def test_rows_of_ranks_are_binned() -> None:
    trace = replace(RECORDED["p2p"])
    summary = summary_of(trace)
    assert all(one.compute_ns[0] <= one.compute_ns[1] <= one.compute_ns[2] for one in summary.ranks)


def test_threads_are_nodes() -> None:
    b = Builder(2)
    trace = b.of(b.event("Barrier", comm=Comm()), b.event("Barrier", comm=Comm()))
    trace = replace(trace, nodes=[trace.nodes[0], Sequence(Vec(1), (trace.nodes[1],), 3)])
    assert [child.thread for child in gather(trace, "a.st").tree.root.children] == [0, 3]
