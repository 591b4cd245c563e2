"""`study`: all combinations, the same times whoever simulates, files of times, settings that fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.predict.engine.study import FORMAT, StudyFile, StudyResult, StudyRun, StudySetting
from scalatrace.report.predictions.study import StudyReporter
from support.builder import stencil
from support.drawing import json_of
from support.mpis import Mpi
from support.running import mpirun

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "stencil.st"
    scalatrace.save(stencil(), path)
    return str(path)


def study(capsys: Capture, *words: str, status: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = json_of(capsys, "study", *words, "--workers", "1", status=status)
    return result


def test_all_combinations(trace: str, capsys: Capture) -> None:
    words = ("--platform", "cluster", "bluegene-p", "--placement", "block", "cyclic")
    rows = study(capsys, trace, *words, "--factors", "latency=1,100", "compute=2")["rows"]
    assert [(row["platform"], row["placement"], row["latency"], row["compute"]) for row in rows] == [
        (platform, placement, latency, 2)
        for platform in ("cluster", "bluegene-p")
        for placement in ("block", "cyclic")
        for latency in (1, 100)
    ]
    assert rows[0]["ratio"] == 1
    assert rows[1]["ratio"] == rows[1]["time_ns"] / rows[0]["time_ns"] > 1


def test_times_are_those_of_simulate(trace: str, capsys: Capture) -> None:
    rows = study(capsys, trace, "--platform", "cluster", "--repeat", "5", "--seed", "3")["rows"]
    simulate = ("simulate", trace, "--platform", "cluster")
    drawn = json_of(capsys, *simulate, "--repeat", "5", "--seed", "3")["drawn"]
    assert [rows[0][name] for name in ("time_ns", "low_ns", "high_ns", "runs")] == [
        drawn[name] for name in ("median_ns", "low_ns", "high_ns", "runs")
    ]
    mean = study(capsys, trace, "--platform", "cluster")["rows"][0]
    assert mean["time_ns"] == json_of(capsys, *simulate)["time_ns"]


def test_processes_give_the_same_times(trace: str, capsys: Capture) -> None:
    words = ("--platform", "cluster", "--factors", "latency=1,2,4", "--repeat", "2")
    assert json_of(capsys, "study", trace, *words, "--workers", "2") == study(capsys, trace, *words)


@pytest.mark.mpi
def test_ranks_give_the_same_times(trace: str, mpi: Mpi, tmp_path: Path, capsys: Capture) -> None:
    """Three ranks: one gives out the work and prints."""
    words = [trace, "--platform", "cluster", "--factors", "latency=1,2,4,8", "--json"]
    times = tmp_path / "study.jsonl"
    command = [*mpi.scalatrace(), "study", *words, "--workers", "mpi", "-o", str(times)]
    done = mpirun(mpi, 3, command, cwd=tmp_path).check()
    assert json.loads(done.stdout) == study(capsys, *words[:-1])
    assert len(times.read_text().splitlines()) == 5


@pytest.mark.mpi
def test_wrong_options_end_all_ranks(trace: str, mpi: Mpi, tmp_path: Path) -> None:
    command = [*mpi.scalatrace(), "study", trace, "--platform", "none", "--workers", "mpi"]
    done = mpirun(mpi, 2, command, cwd=tmp_path)
    assert done.returncode != 0
    assert "installed: " in done.stderr


def test_a_study_goes_on(
    trace: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = tmp_path / "study.jsonl"
    words = (trace, "--platform", "cluster", "-o", str(times), "--factors")
    first = study(capsys, *words, "latency=1,2")["rows"]
    assert times.read_text().splitlines()[0] == FORMAT
    times.write_text("\n".join(times.read_text().splitlines()[:2]) + "\n")
    simulated: list[float] = []
    real = scalatrace.cli.study._simulate  # type: ignore[attr-defined]

    def count(plugins: tuple[str, ...], run: Any) -> Any:
        simulated.append(dict(run.setting.factors)["latency"])
        return real(plugins, run)

    monkeypatch.setattr("scalatrace.cli.study._simulate", count)
    assert study(capsys, *words, "latency=1,2")["rows"] == first
    assert simulated == [2]
    assert len(study(capsys, *words, "latency=1,2,3")["rows"]) == 3
    assert simulated == [2, 3]


def test_an_interrupted_study_keeps_its_times(
    trace: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = tmp_path / "study.jsonl"
    real = scalatrace.cli.study._simulate  # type: ignore[attr-defined]

    def interrupted(plugins: tuple[str, ...], run: Any) -> Any:
        if dict(run.setting.factors)["latency"] == 4:
            raise KeyboardInterrupt
        return real(plugins, run)

    monkeypatch.setattr("scalatrace.cli.study._simulate", interrupted)
    words = ["study", trace, "--platform", "cluster", "--factors", "latency=1,2,4,8", "-o", str(times)]
    with pytest.raises(KeyboardInterrupt):
        scalatrace.cli.study.run(parsed(words))  # type: ignore[attr-defined]
    assert len(times.read_text().splitlines()) == 3


def parsed(words: list[str]) -> Any:
    import argparse

    parser = argparse.ArgumentParser()
    scalatrace.cli.study.arguments(parser)  # type: ignore[attr-defined]
    return parser.parse_args([*words[1:], "--workers", "1"])


def test_times_of_other_contents_are_not_used(trace: str, tmp_path: Path, capsys: Capture) -> None:
    platform = tmp_path / "p.toml"
    platform.write_text("format = 1\n[[network.segments]]\nlatency_ns = 1000\n")
    words = (trace, "--platform", str(platform), "-o", str(tmp_path / "study.jsonl"))
    before = study(capsys, *words)["rows"][0]["time_ns"]
    platform.write_text("format = 1\n[[network.segments]]\nlatency_ns = 3000\n")
    assert study(capsys, *words)["rows"][0]["time_ns"] > before


def test_times_of_other_hosts_are_not_used(trace: str, tmp_path: Path, capsys: Capture) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("a\n" * 4)
    words = (trace, "--platform", "cluster", "--placement", f"file:{hosts}", "-o", str(tmp_path / "s.jsonl"))
    before = study(capsys, *words)["rows"][0]["time_ns"]
    hosts.write_text("a\nb\nc\nd\n")
    assert study(capsys, *words)["rows"][0]["time_ns"] > before


def test_studies_may_share_a_file(tmp_path: Path) -> None:
    """What another study has written meanwhile stays."""
    path = tmp_path / "s.jsonl"
    first, second = StudyFile(path), StudyFile(path)
    runs = [StudyRun(StudySetting("a", "b", nprocs=n), None) for n in (1, 2)]
    for file, run in ((first, runs[0]), (second, runs[1])):
        file.add(run, StudyResult(float(run.setting.nprocs or 0), 4))
        file.save()
    assert [StudyFile(path).result(run).time_ns for run in runs] == [1.0, 2.0]


def test_a_line_that_was_cut_off_is_simulated_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file, run = StudyFile(path), StudyRun(StudySetting("a", "b"), 3)
    file.add(run, StudyResult(5.0, 4))
    file.save()
    path.write_text(path.read_text()[:-9])
    again = StudyFile(path)
    assert again.needs(run)
    again.add(run, StudyResult(5.0, 4))
    again.save()
    assert StudyFile(path).result(run).time_ns == 5.0


def test_csv_has_no_errors_but_names_them(trace: str, tmp_path: Path, capsys: Capture) -> None:
    platform = tmp_path / "p.toml"
    platform.write_text('format = 1\n[topology]\nkind = "torus"\ndims = [1, 1, 2]\n')
    assert main(["study", trace, "--platform", str(platform), "--csv", "--workers", "1"]) == 1
    assert "2 nodes" in capsys.readouterr().err


def test_settings_that_fail_are_listed(trace: str, tmp_path: Path, capsys: Capture) -> None:
    platform = tmp_path / "p.toml"
    platform.write_text('format = 1\n[topology]\nkind = "torus"\ndims = [1, 1, 2]\n')
    words = (trace, "--platform", "cluster", str(platform))
    result = study(capsys, *words, status=1)
    assert [row["platform"] for row in result["rows"]] == ["cluster"]
    assert "2 nodes" in result["errors"][0]["error"]
    assert main(["study", *words, "--workers", "1"]) == 1
    assert f"{platform}: " in capsys.readouterr().out


def test_warnings_about_traces_are_printed_once(
    trace: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, _: object) -> scalatrace.Trace:
        print("scalatrace: ranks shared cores", file=sys.stderr)
        return scalatrace.load(path)

    monkeypatch.setattr("scalatrace.cli.study.read_trace", read)
    other = tmp_path / "other.st"
    other.write_bytes(Path(trace).read_bytes())
    assert main(["study", trace, str(other), "--platform", "cluster", "--workers", "1"]) == 0
    assert capsys.readouterr().err == "scalatrace: ranks shared cores\n"


def test_a_plot(trace: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "study.svg"
    words = (trace, "--platform", "cluster", "bluegene-p", "--plot", str(plot))
    study(capsys, *words, "--factors", "latency=1,2")
    assert "<svg" in plot.read_text()


def test_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve for each platform, over the factor that varies."""
    drawn: list[Any] = []
    monkeypatch.setattr("scalatrace.report.predictions.study.draw_curves", lambda *words: drawn.append(words))
    same = {"trace": "a", "placement": "", "mpi": "", "network": "", "ranks": 4}
    rows = [
        {**same, "platform": platform, "latency": x, "time_ns": 1e9 * x, "low_ns": 5e8, "high_ns": 9e9}
        for platform in ("cluster", "torus")
        for x in (1.0, 2.0)
    ]
    StudyReporter(rows, [], ["latency"]).draw(tmp_path / "a.svg")
    [(_, curves, _, over)] = drawn
    assert over == "latency"
    points = {1.0: (1.0, 0.5, 9.0), 2.0: (2.0, 0.5, 9.0)}
    assert curves == {"cluster": points, "torus": points}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--platform", "none"], "installed: "),
        (["--platform", "cluster", "--factors", "latency"], "--factors latency: expected NAME=VALUE"),
        (["--platform", "cluster", "--factors", "speed=2"], "speed: no parameter to scale; known: latency"),
        (
            ["--platform", "cluster", "--factors", "bandwidth=0"],
            "factors must be 0 or more, that of the bandwidth",
        ),
        (["--platform", "cluster", "--factors", "latency=1", "latency=2"], "latency is given twice"),
        (["--platform", "cluster", "--plot", "a.svg"], "--plot needs settings with several"),
        (["--platform", "cluster", "--param", "n=1.5"], "--param n=1.5: expected NAME=VALUE"),
        (["--platform", "cluster", "--mpi", "lam"], "mpi is 'lam'"),
        (["--platform", "cluster", "--placement", "spread"], "spread"),
        (["--platform", "cluster", "--plot", "a.jpg"], ".svg, .png, .pdf"),
    ],
)
def test_wrong_options(trace: str, words: list[str], message: str, capsys: Capture) -> None:
    assert main(["study", trace, *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the first line is not"),
        ("a table\n", "the first line is not"),
        (f"{FORMAT}\n{{}}\n", "line 2 is no time of a study"),
        (f'{FORMAT}\n{{"trace": "a"}}\n', "line 2 is no time of a study"),
        (f"{FORMAT}\n[]\n", "no JSON object"),
        (
            f'{FORMAT}\n{{"trace": "a", "platform": "b", "seed": [], "time_ns": 1, "ranks": 1}}\n',
            "seed must be",
        ),
        (
            f'{FORMAT}\n{{"trace": "a", "platform": "b", "seed": 1, "time_ns": "x", "ranks": 1}}\n',
            "must be numbers",
        ),
    ],
)
def test_files_that_hold_no_times(
    content: str, message: str, trace: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(content)
    assert main(["study", trace, "--platform", "cluster", "-o", str(path)]) == 1
    assert message in capsys.readouterr().err
    assert path.read_text() == content
