"""Simulations and histories of runs on pages: embedded data, tables, hostile names, mistakes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.cli import main
from scalatrace.predict.platform import NetworkTopology, PlatformCheck, read_platform, write_platform
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.page import page
from scalatrace.report.page.predictions.history import history_page
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.trace.io.writer import save
from scalatrace.trace.values.ranklist import RankList
from support.builder import Builder, Comm
from support.drawing import json_of
from support.late_ranks import late
from support.reported import embedded, extrapolate_rings, hostile, recorded, ring, timed
from support.runs import run_of


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(ring(4), tmp_path / "a.st")
    return tmp_path / "a.st"


def test_a_simulated_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has the numbers of `simulate`."""
    facts = json_of(capsys, "simulate", "a.st", "--platform", "cluster")
    shown = json_of(capsys, "report", "a.st", "--platform", "cluster")["traces"][0]["prediction"]
    assert shown["time_ns"] == facts["time_ns"]
    assert sum(shown["path"]) == pytest.approx(facts["time_ns"])
    assert shown["interval"] == facts["drawn"]
    assert shown["tolerance"] == facts["tolerance"]
    assert shown["sites"] == facts["rows"]
    curves = {curve["parameter"]: dict(curve["points"]) for curve in shown["curves"]}
    assert {curve[1.0] for curve in curves.values()} == {facts["time_ns"]}
    assert curves["latency"][16.0] > facts["time_ns"] > curves["latency"][0.25]
    assert curves["bandwidth"][4.0] < facts["time_ns"]
    assert curves["compute"][2.0] > facts["time_ns"]
    assert main(["report", "a.st", "--platform", "cluster"]) == 0
    text = Path("report.html").read_text()
    assert embedded(text)["traces"][0]["prediction"]["time_ns"] == round(facts["time_ns"])
    for part in ("computation", "latency", "bytes", "overheads"):
        assert f'<th scope="row">{part}</th>' in text
    assert "if the latency is multiplied by" in text


def test_links_that_are_busy_longest(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology = NetworkTopology("fat-tree", topo_parameters="2;2,2;1,1;1,1")
    write_platform(Path("tree.toml"), replace(read_platform("cluster"), ranks_per_node=1, topology=topology))
    links = json_of(capsys, "simulate", "a.st", "--platform", "tree.toml")["links"]
    (page,) = json_of(capsys, "report", "a.st", "--platform", "tree.toml")["traces"]
    assert page["prediction"]["links"] == [{**row, "call site": row["site"]} for row in links]
    rows = page["prediction"]["link_map"]
    assert [(row["name"], row["links"]) for row in rows] == [
        (f"level {level}, {way}", 4 if level == 1 else 2) for level in (1, 2) for way in ("up", "down")
    ]
    assert max(row["most"] for row in rows) == pytest.approx(links[0]["busy"])
    drawing = page["prediction"]["link_drawing"]
    assert [name for *_, name, kind in drawing["vertices"] if kind == "node"] == [
        f"node {i}" for i in range(4)
    ]
    assert len(drawing["lines"]) == 6
    assert drawing["lines"][-1]["busy"] == pytest.approx(links[0]["busy"])
    assert {(line["operation"], line["site"]) for line in drawing["lines"]} >= {
        (links[0]["operation"], links[0]["site"])
    }
    assert all(row["most"] == max(row["busy"]) for row in rows)
    assert main(["report", "a.st", "--platform", "tree.toml"]) == 0
    text = Path("report.html").read_text()
    assert "Links that are busy longest" in text
    assert text.count('aria-label="level ') == len(rows)
    assert links[0]["link"] in unescape(text)
    assert text.count("<line ") == 6
    assert main(["report", "a.st", "--platform", "cluster"]) == 0
    assert "Links that are busy longest" not in Path("report.html").read_text()


def test_path_and_tables_are_of_the_drawn_run_with_the_median_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`simulate` makes that run with the seed on the page."""
    monkeypatch.chdir(tmp_path)
    save(recorded()["p2p"], "a.st")
    one = json_of(capsys, "report", "a.st", "--platform", "cluster")["traces"][0]
    shown = one["prediction"]
    drawn = ["simulate", "a.st", "--platform", "cluster", "--times", "drawn", "--json", "--seed"]
    assert main([*drawn, str(shown["seed"])]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert shown["time_ns"] == facts["time_ns"] != shown["mean_ns"]
    assert sum(shown["path"]) == pytest.approx(facts["time_ns"])
    assert (shown["sites"], shown["tolerance"]) == (facts["rows"][:12], facts["tolerance"])
    waiting = sum(times["waiting_ns"] for times in shown["nodes"].values())
    assert waiting == pytest.approx(sum(row["waiting_ns"] for row in facts["rows"]))
    assert one["tree"]["root"]["waiting_ns"] == pytest.approx(waiting)
    assert shown["predicted_ns"] == shown["interval"]["median_ns"] == shown["time_ns"]
    times = []
    for seed in range(20):
        assert main([*drawn, str(seed)]) == 0
        times.append(json.loads(capsys.readouterr().out)["time_ns"])
    assert sorted(times)[9] == shown["time_ns"]
    facts = json_of(capsys, "simulate", "a.st", "--platform", "cluster")
    assert shown["mean_ns"] == facts["time_ns"]
    waiting = sum(shown["mean_waiting"].values())
    assert waiting == pytest.approx(sum(row["waiting_ns"] for row in facts["rows"]))


def test_machines_and_their_gains(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = json_of(capsys, "report", "a.st", "--platform", "cluster")["traces"][0]["prediction"]
    gains = dict(shown["gains"])
    assert gains.keys() == {"half the latency", "twice the bandwidth", "cores twice as fast"}
    assert max(gains.values()) < shown["time_ns"]
    assert min(shown["machine"]["latency_ns"]) > 0
    assert len(shown["ranks"]) == 4
    assert shown["means"]["most_compute_ns"] >= shown["means"]["compute_ns"]


@pytest.mark.usefixtures("trace")
def test_a_trace_without_some_ranks_is_not_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder(4)
    part = timed(b.of(b.loop(5, b.event("Comm_rank", at=("a.c:3:f",), comm=Comm()))))
    part.ranks = RankList(range(3))
    save(part, "part.st")
    assert main(["report", "part.st", "--platform", "cluster"]) == 1
    assert "the trace has 3 of 4 ranks" in capsys.readouterr().err


@pytest.mark.usefixtures("trace")
def test_predicted_times_on_the_ranks_of_the_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    extrapolate_rings()
    capsys.readouterr()
    words = ["--model", "ring.stx", "--platform", "cluster"]
    shown = json_of(capsys, "report", "big.st", *words)["traces"][0]["prediction"]
    assert [row["ranks"] for row in shown["scaling"]] == [4, 6, 8, 64]
    assert shown["scaling"][-1]["time_ns"] == shown["predicted_ns"]
    drawn = json_of(capsys, "simulate", "r4.st", "--platform", "cluster")["drawn"]
    assert shown["scaling"][0]["time_ns"] == pytest.approx(drawn["median_ns"], rel=0.02)
    text, exponents = shown["scaling_growth"][0]
    assert text == "from 4 to 8 ranks"
    assert exponents[0] == pytest.approx(
        math.log2(shown["scaling"][2]["time_ns"] / shown["scaling"][0]["time_ns"])
    )
    assert main(["report", "big.st", *words]) == 0
    assert "Predicted on the platform" in Path("report.html").read_text()


def test_the_interval_follows_from_checks(trace: Path, tmp_path: Path) -> None:
    ranks = load(trace).nprocs
    checks = tuple(PlatformCheck(ranks, measured_s, 1.0) for measured_s in (1.1, 1.2, 1.3))
    write_platform(tmp_path / "mine.toml", replace(read_platform("cluster"), checks=checks))
    assert main(["report", "a.st", "--platform", str(tmp_path / "mine.toml")]) == 0
    text = Path("report.html").read_text()
    assert "<dt>95 % interval</dt>" in text
    assert "3 runs on this platform, which took 1.10 to 1.30 of their predicted times" in text
    assert main(["report", "a.st", "--platform", "cluster"]) == 0
    assert "<dt>95 % interval</dt>" not in Path("report.html").read_text()


def test_two_simulated_traces(trace: Path) -> None:
    save(ring(6), "b.st")
    assert main(["report", "a.st", "b.st", "--platform", "cluster"]) == 0
    first, second = embedded(Path("report.html").read_text())["traces"]
    assert first["prediction"]["time_ns"] != second["prediction"]["time_ns"]


def test_no_platform_no_section(trace: Path) -> None:
    assert main(["report", "a.st"]) == 0
    text = Path("report.html").read_text()
    assert 'id="prediction"' not in text
    assert "--platform FILE" in text


def test_unknown_platforms(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "a.st", "--platform", "clustr"]) == 2
    assert "did you mean cluster?" in capsys.readouterr().err
    assert not Path("report.html").exists()


def test_predictions_of_large_traces_have_no_curves() -> None:
    facts = {
        "platform": "</script><b>", "calls": 1, "time_ns": 0.0, "last_rank": 0, "notes": {"Op": "<i>"},
        "path": {"compute_ns": 0.0, "latency_ns": 0.0, "bytes_ns": 0.0, "overhead_ns": 0.0, "messages": 0},
    }  # fmt: skip
    prediction = PagePrediction.of(facts, {"operation": [], "site": []}, {})
    text = page([gather(hostile(), "x", options=PageOptions(prediction=prediction))])
    assert "sensitivity-view" not in text.partition("<script id")[0]
    assert "<b>" not in text
    assert "<i>" not in text


def history(folder: Path, slow: float = 1.0) -> list[str]:
    paths = [folder / f"{number:02}.st" for number in range(12)]
    for number, path in enumerate(paths):
        save(run_of(number, {"Barrier": slow} if number == 11 else None), path)
    return [str(path) for path in paths]


@pytest.mark.parametrize("slow", [1.0, 1.5])
def test_a_history(slow: float, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = history(tmp_path, slow)
    status = int(slow > 1)
    facts = json_of(capsys, "regress", *paths, "--report", "history.html", status=status)
    text = Path("history.html").read_text()
    data = embedded(text)
    assert data["runs"] == facts["runs"] == paths
    for drawn, each in zip(data["evolution"], facts["evolution"], strict=True):
        assert drawn["factor"] == each["factor"]
        assert drawn["values"] == [round(value) for value in each["values"]]
        assert drawn["likelihood"] == each["likelihood"]
    assert data["efficiency"] == facts["efficiency"]
    assert ("No regression" in text) == (not status)
    assert ("Regression: " in text) == bool(status)
    assert text.count('<th scope="row">') >= len(facts["verdict"]["tests"])


def test_a_history_of_a_table(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["run,<b>one,two", *(f"r{n},{1 + 0.01 * (n % 3)},{2 + 0.01 * (n % 4)}" for n in range(12))]
    Path("runs.csv").write_text("\n".join(rows) + "\n")
    assert main(["regress", "--table", "runs.csv", "--report", "history.html"]) == 0
    text = Path("history.html").read_text()
    assert "<b>" not in text
    assert 'id="efficiency"' not in text
    assert embedded(text)["in_ns"] is False
    assert main(["regress", "--table", "runs.csv", "--report", "none/history.html"]) != 0
    assert "--report none/history.html: there is no folder" in capsys.readouterr().err


def test_many_factors() -> None:
    each = {"factor": "x", "window": 1, "values": [1.0], "low": [None], "high": [None], "likelihood": [None]}
    data = {
        "runs": ["a"], "verdict": {"tests": [], "undecided": [], "confidence": 0.99},
        "evolution": [each] * 40, "window_evolution": [each] * 40, "efficiency": [],
    }  # fmt: skip
    text = history_page(data)
    assert "16 more factors" in text
    assert len(embedded(text)["evolution"]) == 24


def test_all_ranks_that_compute_longest_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Totals of a rank are known within 5 %, so none of them is the longest."""
    monkeypatch.chdir(tmp_path)
    trace = late([0, 16, 0, 15], 1000)
    trace.meta.update({"hosts": "1", "ranks-per-host": "4", "cores-per-host": "2"})
    save(trace, tmp_path / "a.st")
    advice = json_of(capsys, "report", "a.st", "--platform", "cluster")["traces"][0]["advice"]
    assert [entry["where"] for entry in advice if entry["kind"] == "load"] == ["on ranks 1, 3"]
