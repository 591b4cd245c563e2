"""Runs on several numbers of ranks: efficiencies, kind of scaling, growth, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scalatrace import Trace, save
from scalatrace.cli.dispatch import main
from scalatrace.errors import UsageError
from scalatrace.report.page.scaling import scaling_page
from scalatrace.report.scaling.comparison import scaling_of
from scalatrace.report.scaling.rank_totals import PredictedAmount, RankTotal, describe_prediction
from scalatrace.report.scaling.recorded_growth import IN_MPI
from scalatrace.report.scaling.runs import ScalingRun, efficiency_rows, kind_of_scaling, scaling_run
from scalatrace.trace.model.groups import Groups
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.drawing import json_of
from support.late_ranks import STRONG, WEAK, run, times


def test_efficiencies_are_products() -> None:
    for runs, weak in ((STRONG, False), (WEAK, True)):
        for row in efficiency_rows(runs, weak):
            known = {name: value or 0.0 for name, value in row.items()}
            assert all(known.values())
            communication = known["serialisation"] * known["transfer"]
            assert known["communication_efficiency"] == pytest.approx(communication)
            parallel = known["load_balance"] * communication
            assert known["parallel_efficiency"] == pytest.approx(parallel)
            assert known["global_efficiency"] == pytest.approx(parallel * known["computation_scalability"])
    assert [row["speedup"] for row in efficiency_rows(STRONG, False)] == pytest.approx([
        1, 428 / 236, 428 / 152
    ])  # fmt: skip
    weak_row = efficiency_rows(WEAK, True)[-1]
    assert weak_row["efficiency"] == pytest.approx(480 / 720)
    assert weak_row["speedup"] == pytest.approx(4 * 480 / 720)


def test_the_kind_of_scaling_is_judged() -> None:
    assert kind_of_scaling(STRONG).name == "strong"
    assert kind_of_scaling(WEAK).name == "weak"
    grows = [run(n, 1600 / n**0.5, 10, 500, 500) for n in (4, 16)]
    assert kind_of_scaling(grows).name == ""
    # Computation that contains waiting for cores says nothing; messages do.
    shared = [replace(each, shared_cores="shared", typical_bytes=800 / each.nranks) for each in WEAK]
    assert kind_of_scaling(shared).name == "strong"
    assert kind_of_scaling([replace(each, typical_bytes=64.0) for each in shared]).name == "weak"


def test_runs_of_a_fixed_time_are_of_no_kind() -> None:
    """Slower runs do fewer steps, so neither speed-up says anything."""
    runs = [replace(each, collectives=42_000 / each.nranks) for each in WEAK]
    kind = kind_of_scaling(runs)
    listed = [times(n) for n in (4, 8, 16)]
    assert scaling_of(runs, listed).sentences[1] == (
        "More ranks are not predicted: the runs may not do the same steps."
    )
    assert scaling_of(runs, listed, weak=True).predicted_ranks == (32, 64, 256)
    assert kind.name == ""
    assert (
        kind.reason == "a rank makes 2,600 to 10,500 collective calls, so the runs may not do the same steps"
    )


def test_what_dominates_beyond_the_runs() -> None:
    scaling = scaling_of(STRONG, [times(n) for n in (4, 8, 16)])
    first, second = scaling.growth
    assert (first.kind, first.op) == (IN_MPI, "Allreduce")
    assert scaling.predicted_ranks == (32, 64, 256)
    assert [each.ns for each in first.predicted] == pytest.approx([3200, 6400, 25600], rel=0.01)
    assert [each.ns for each in second.predicted] == pytest.approx([500, 250, 62.5], rel=0.01)
    assert scaling.hidden == 1
    assert "On 256 ranks, Allreduce a.py:3 would take most" in scaling.sentences[2]
    assert "Transfer falls most: " in scaling.sentences[0]
    assert scaling_page(scaling).count("<h2") == 5


def test_times_with_wide_intervals_are_not_said_to_be_predicted() -> None:
    noisy = [{key: ns * factor for key, ns in times(n).items()} for n, factor in ((4, 1), (8, 9), (16, 0.2))]
    scaling = scaling_of(STRONG, noisy)
    assert scaling.growth[0].predicted[-1].vague
    assert scaling.sentences[2:] == (
        "What takes most time on 256 ranks cannot be predicted from these runs.",
    )


def test_computation_and_messages_that_contradict_each_other_are_no_kind() -> None:
    """Computation grows with the ranks, but each message is shorter: the problem is the same."""
    runs = [
        replace(each, compute_ns=1000.0, typical_bytes=8000.0 / each.nranks, shared_cores="")
        for each in STRONG
    ]
    kind = scaling_of(runs, [times(n) for n in (4, 8, 16)]).kind
    assert kind.name == ""
    assert ", but typical messages of the largest run have 25 % of the size" in kind.reason


def counted(each: ScalingRun) -> ScalingRun:
    """Each rank sends 10 messages of 80 B for each of all ranks, and makes 7 collective calls."""
    n = each.nranks
    return replace(each, calls=10.0 * n + 7, messages=10.0 * n, collectives=7.0, bytes_sent=800.0 * n)


@pytest.mark.parametrize("to_nobody", [0, 100])
def test_messages_without_a_receiver_do_not_count(to_nobody: int) -> None:
    """Only one of four ranks has a neighbour for its long message; each sends a short one."""
    b = Builder(4)
    data: dict[str, Any] = {"datatype": DOUBLE, "comm": Comm()}
    others = RankList([1, 2, 3])
    dest = Groups(((RankList([0]), Vec(1)), (others, Vec(PROC_NULL))))
    count = Groups(((RankList([0]), Vec(100)), (others, Vec(to_nobody))))
    short = b.event("Send", dest=To(Encoding.MODULO, Vec(1)), tag=0, count=8, **data)
    long = b.event("Send", dest=To(Encoding.ABSOLUTE, dest), tag=1, count=count, **data)
    stats = (PredStats(0, tuple(Histogram(4, 9000, 9000, 9000, 0) for _ in range(2))),)
    trace = b.of(replace(b.event("Barrier", comm=Comm()), stats=stats), b.loop(10, short, long))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    counts = scaling_run(trace, "a.st", None)
    assert counts.messages == 12.5
    assert counts.bytes_sent == 10 * (64 + 800 / 4)
    assert counts.typical_bytes == 800


def test_sizes_of_one_call_site_are_distinguished() -> None:
    """A loop over neighbours sends faces and corners; most bytes are in the faces."""
    b = Builder(2)
    faces_and_corners = Vec([(10, 0, 100, 1, 1, 1, 1)])
    send = b.event(
        "Send", dest=To(Encoding.MODULO, Vec(1)), tag=0, count=faces_and_corners, datatype=DOUBLE, comm=Comm()
    )
    stats = (PredStats(0, tuple(Histogram(2, 9000, 9000, 9000, 0) for _ in range(2))),)
    trace = b.of(replace(b.event("Barrier", comm=Comm()), stats=stats), b.loop(50, send))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    counts = scaling_run(trace, "a.st", None)
    assert (counts.message_bytes, counts.typical_bytes) == (8 * 104 / 5, 800)


def persistent(nranks: int) -> Trace:
    """Ranks on a ring start a send, a receive and a sum in each of five steps."""
    b = Builder(nranks)
    data: dict[str, Any] = {"count": 3, "datatype": DOUBLE, "comm": Comm()}
    requests = (
        b.event("Send_init", dest=To(Encoding.MODULO, Vec(1)), tag=0, **data),
        b.event("Recv_init", source=To(Encoding.MODULO, Vec(-1)), tag=0, **data),
        b.event("Allreduce_init", op="MPI_SUM", **data),
    )
    barrier = b.event("Barrier", comm=Comm())
    stats = (PredStats(0, tuple(Histogram(nranks, 9000, 9000, 9000, 0) for _ in range(2))),)
    steps = b.loop(5, *(b.event(op, requests=(2, 1, 0)) for op in ("Startall", "Waitall")))
    trace = b.of(replace(barrier, stats=stats), *requests, steps)
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    return trace


def test_persistent_requests_count_where_they_are_started() -> None:
    of_run = scaling_run(persistent(4), "4.st", None)
    assert (of_run.calls, of_run.messages, of_run.collectives) == (14, 5, 6)
    assert (of_run.bytes_sent, of_run.message_bytes) == (120, 24)


def test_empty_messages_have_a_size() -> None:
    empty = replace(STRONG[0], messages=4.0, bytes_sent=0.0)
    assert empty.message_bytes == 0
    text = scaling_page(scaling_of([empty, *STRONG[1:]], [times(n) for n in (4, 8, 16)]))
    assert '<td class="n">0 B</td>' in text


def test_run_time_on_more_ranks() -> None:
    """Of four runs; three do not tell a logarithm from a power, so their interval has both."""
    runs = [counted(run(n, 1600 / n, 20 + 2 * n, 1600 / n + 10, 1600 / n + 15)) for n in (4, 8, 16, 32)]
    scaling = scaling_of(runs, [times(n) for n in (4, 8, 16, 32)])
    time, computation = scaling.totals[:2]
    assert (time.name, computation.name) == ("run time", "computation")
    for each, true_ns in zip(time.predicted, (173, 288.5), strict=False):
        assert each.low <= true_ns <= (each.high or 0)
        assert each.interval in each.text
    assert [each.value for each in computation.predicted[:2]] == pytest.approx([25, 12.5], rel=0.01)
    assert scaling.sentences[1].startswith("Predicted run time on 64 and 128 ranks: ")
    three = {row.name: row for row in scaling_of(runs[:3], [times(n) for n in (4, 8, 16)]).totals}
    first = three["messages sent"].predicted[0]
    assert first.low == pytest.approx(10 * (4 + 12 * 1.5))  # by the logarithm of 8 over that of 4
    assert first.high == pytest.approx(320)


def test_of_runs_that_waited_for_cores_the_work_is_extended() -> None:
    shared = [counted(replace(each, shared_cores="shared")) for each in STRONG]
    scaling = scaling_of(shared, [times(n) for n in (4, 8, 16)])
    assert scaling.predicted_ranks == (32, 64, 256)
    rows = {row.name: row for row in scaling.totals}
    assert rows["run time"].predicted == ()
    assert rows["run time"].note == "not predicted: contains waiting for cores"
    assert [each.text for each in rows["collective calls"].predicted] == ["7", "7", "7"]
    assert rows["bytes in messages"].predicted[0].value == pytest.approx(32 * 800)
    _, beyond = scaling.sentences
    assert "a rank would send 220 to 320" in beyond
    assert "compute" not in beyond  # its interval begins at 0
    assert "make 7 collective calls." in beyond
    assert beyond.endswith(
        ". Run time is not predicted: that needs 3 runs with a core for each rank; "
        "the runs on 4, 8 and 16 ranks had fewer cores than ranks."
    )
    text = scaling_page(scaling)
    assert "Beyond the runs" in text
    assert "Call sites" not in text


def test_without_work_only_the_reason_is_stated() -> None:
    """Of a program that only asks for its rank, calls alone have a law."""
    runs = [replace(each, compute_ns=None, shared_cores="shared", calls=2.0) for each in STRONG]
    _, beyond = scaling_of(runs, [{} for _ in runs]).sentences
    assert beyond.startswith("Run time on 32 and 64 ranks is not predicted: that needs 3 runs with")


def test_predictions_without_a_limit_are_left_out_of_the_sentence() -> None:
    """Times that jump have a law, but an interval from 0 to infinity."""
    totals = [RankTotal("run time", (), "p", tuple(amount(n, None) for n in (32, 64)))]
    assert describe_prediction(STRONG, totals) == (
        "Run time on 32 and 64 ranks is not known: the runs set no narrow limit."
    )
    totals.append(RankTotal("collective calls", (), "7", tuple(amount(n, 7.0) for n in (32, 64))))
    assert describe_prediction(STRONG, totals) == (
        "On 32 and 64 ranks, a rank would make 7 collective calls. "
        "Run time is not known: the runs set no narrow limit."
    )


def amount(nranks: int, known: float | None) -> PredictedAmount:
    if known is None:
        return PredictedAmount(nranks, 5.0, 0.0, None, "not known", "not known")
    return PredictedAmount(nranks, known, known, known, f"{known:g}", "")


def test_runs_whose_cores_are_not_known_are_said() -> None:
    runs = [replace(run, cores_known=run.nranks == 4) for run in STRONG]
    (note,) = scaling_of(runs, [{}] * 3).notes
    assert note.startswith("the number of cores was not recorded (8, 16 ranks)")
    assert scaling_of(STRONG, [{}] * 3).notes == ()


def test_two_runs_have_no_law() -> None:
    scaling = scaling_of(STRONG[:2], [times(n) for n in (4, 8)])
    assert scaling.predicted_ranks == ()
    assert scaling.sentences[1] == "More ranks are not predicted: a law needs 3 runs or more."


def test_runs_come_in_any_order_but_once_for_each_size() -> None:
    listed = [times(n) for n in (4, 8, 16)]
    assert scaling_of(STRONG[::-1], listed[::-1]) == scaling_of(STRONG, listed)
    with pytest.raises(UsageError, match="both have 8 ranks"):
        scaling_of([*STRONG, replace(STRONG[1], name="again.st")], [*listed, times(8)])


def recorded(nranks: int) -> Trace:
    """Rank 0 computes twice as long as the others before each of ten barriers."""
    b = Builder(nranks)
    event = b.event("Barrier", comm=Comm(), at=("a.py:7:f",))
    stats = tuple(
        PredStats(pred, tuple(Histogram(n * nranks, ns, ns, ns, 0) for ns in (64_000 // nranks, 1000)))
        for pred, n in ((0, 1), (1, 9))
    )
    trace = b.of(b.loop(10, replace(event, stats=stats)))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds.append((event.op, event.signature))
    trace.load_between = True
    trace.load = [Vec([16] + [0] * (nranks - 1)), Vec([0] * nranks)]
    return trace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for n in (2, 4, 8):
        save(recorded(n), f"{n}.st")
    assert main(["report", "8.st", "2.st", "4.st", "-o", "s.html"]) == 0
    assert "From 2 to 8 ranks" in capsys.readouterr().out
    assert "Efficiencies" in Path("s.html").read_text()
    facts = json_of(capsys, "report", "2.st", "4.st", "8.st")
    assert [row["ranks"] for row in facts["efficiencies"]] == [2, 4, 8]
    assert facts["kind"]["name"] == "strong"
    assert all(0 < row["serialisation"] <= 1 for row in facts["efficiencies"])
    assert len(json_of(capsys, "report", "2.st", "4.st", "--scaling")["runs"]) == 2
    kind = json_of(capsys, "report", "2.st", "4.st", "8.st", "--weak")["kind"]
    assert kind == {"name": "weak", "reason": "as given"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.st", "--scaling"], "two traces or more"),
        (["a.st", "--weak"], "several runs"),
        (["a.st", "a.st", "a.st"], "both have 4 ranks"),
        (["a.st", "a.st", "a.st", "--platform", "cluster"], "--platform is of the page"),
    ],
)
def test_wrong_use(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save(recorded(4), "a.st")
    assert main(["report", *words]) == 2
    assert says in capsys.readouterr().err
    assert not Path("report.html").exists()
