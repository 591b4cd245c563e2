"""The command simulate: its facts, its table, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scalatrace.cli import main, simulation
from scalatrace.predict.platform import read_platform, write_platform
from scalatrace.report.style import coarse_duration
from scalatrace.trace.io.writer import save
from scalatrace.trace.values.histogram import Histogram
from support.builder import Builder, Comm, stencil
from support.drawing import json_of

CLUSTER = """
format = 1
name = "unequal"
unit = "m"
day = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
[[groups]]
nodes = 4
mean = [1.0, 0.0, 0.0]
spatial = [[0.04, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "a.st"
    save(stencil(), path)
    return str(path)


def facts(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    result: dict[str, object] = json_of(capsys, "simulate", *words, "--platform", "cluster")
    return result


def test_facts(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = facts(capsys, trace, "--repeat", "3")
    assert result["calls"] == 124
    rows = result["rows"]
    assert isinstance(rows, list)
    assert sum(row["path_ns"] for row in rows) == pytest.approx(result["time_ns"])
    tolerance = result["tolerance"]
    assert isinstance(tolerance, list)
    assert [row["slower"] for row in tolerance] == [0.01, 0.02, 0.05] * 2


TREE = """format = 1
interface = "unlimited"
[[network.segments]]
per_byte_ns = 1.0
[topology]
kind = "fat-tree"
radix = 2
oversubscription = 2.0
"""


def test_links_are_shared_as_asked(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tree.toml"
    path.write_text(TREE)

    def run(*words: str) -> dict[str, Any]:
        result: dict[str, Any] = json_of(
            capsys, "simulate", trace, "--platform", path, "--no-tolerance", *words
        )
        return result

    loads, flows, none = run(), run("--network", "flows"), run("--network", "none")
    assert [row["link"] for row in loads["links"]] == [row["link"] for row in flows["links"]]
    first = loads["links"][0]
    assert (first["operation"], first["site"]) == ("Isend", "halo.py:11:exchange")
    assert 0 < first["busy"] < 1
    assert "links" not in none
    assert "topology (--network none" in none["notes"]["platform"]
    hosts = tmp_path / "hosts"
    hosts.write_text("a\nb\n" * 2)  # all messages go to the other node
    links = [row["link"] for row in run("--placement", f"file:{hosts}")["links"]]
    assert sorted(links) == [
        "node 0 -> switch 1.0",
        "node 1 -> switch 1.0",
        "switch 1.0 -> node 0",
        "switch 1.0 -> node 1",
    ]
    assert main(["simulate", trace, "--platform", str(path), "--no-tolerance"]) == 0
    assert "links that are busy longest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--placement", "x"], "placement is 'x'; known: block"),
        (["--placement", "trace"], "does not say how many ranks a host had"),
        (["--network", "packets"], "invalid choice"),
    ],
)
def test_wrong_placements_and_networks(
    words: list[str], reason: str, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["simulate", trace, "--platform", "cluster", *words])
    except SystemExit as error:
        status = int(str(error.code))
    assert status == 2
    assert reason in capsys.readouterr().err


def test_nodes_of_a_cluster_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = tmp_path / "cluster.toml", str(tmp_path / "a.st")
    path.write_text(CLUSTER)
    b = Builder(4)
    save(b.of(b.event("Barrier", comm=Comm(), compute=Histogram.of(1_000_000))), trace)
    times = [
        facts(capsys, trace, "--cluster", str(path), "--seed", seed, "--no-tolerance")["time_ns"]
        for seed in ("1", "1", "2")
    ]
    assert times[0] == times[1] != times[2]


def test_measured_runs_make_the_interval(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    write_platform(path, read_platform("cluster"))
    words = ["simulate", trace, "--platform", str(path), "--repeat", "5"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "95 % interval" not in out
    assert "measured runs of this platform: 0" in out
    predicted_s = 0.0
    for done, factor in enumerate((1.1, 1.2, 1.3), 1):
        predicted_s = json_of(capsys, *words)["drawn"]["median_ns"] / 1e9
        assert main([*words, "--measured", str(factor * predicted_s)]) == 0
        out = capsys.readouterr().out
        assert f"{factor:.3f} of the predicted time" in out
        assert f"measured runs of this platform: {done}" in out
    assert [check.ranks for check in read_platform(path).checks] == [4] * 3
    drawn = json_of(capsys, *words)["drawn"]
    assert drawn["checks"] == {"count": 3, "low": pytest.approx(1.1), "high": pytest.approx(1.3)}
    assert drawn["low_ns"] <= drawn["median_ns"] < 1.3e9 * predicted_s < drawn["high_ns"]
    assert main(words) == 0
    assert "3 runs here took 1.10 to 1.30 of their predicted times" in capsys.readouterr().out


@pytest.mark.parametrize(("own", "measured"), [("single", "multiple"), ("single", "single"), ("", "single")])
def test_another_thread_level_is_noted(
    own: str, measured: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    platform, made = tmp_path / "mine.toml", stencil()
    write_platform(platform, replace(read_platform("cluster"), thread_level=measured))
    made.meta |= {"thread-level": own} if own else {}
    save(made, tmp_path / "a.st")
    assert main(["simulate", str(tmp_path / "a.st"), "--platform", str(platform)]) == 0
    assert ("thread level multiple, the program has single" in capsys.readouterr().out) == (
        own == "single" and measured == "multiple"
    )


def test_doubts_of_a_platform_are_repeated(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    platform, page = tmp_path / "busy.toml", tmp_path / "page.html"
    write_platform(platform, replace(read_platform("cluster"), doubts="35% of the repeats were interrupted"))
    assert main(["simulate", trace, "--platform", str(platform)]) == 0
    line = "35% of the repeats were interrupted; measure it again (calibrate)"
    assert f"platform: {line}" in capsys.readouterr().out
    assert main(["report", trace, "--platform", str(platform), "-o", str(page)]) == 0
    assert line in page.read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--platform", "cluster", "--measured", "1"], "is installed with the package"),
        (["--platform", "FILE", "--measured", "0"], "above 0"),
        (["--platform", "FILE", "--measured", "-1"], "no number of seconds"),
        (["--platform", "FILE", "--measured", "1", "--engine", "simgrid"], "leave out --engine"),
        (["--platform", "FILE", "--measured", "1", "--polls", "work"], "--polls and --compute-scale"),
        (["--platform", "FILE", "--polls", "work", "--engine", "simgrid"], "leave out --polls"),
        (["--platform", "FILE", "--measured", "1", "--compute-scale", "2"], "leave out --engine"),
    ],
)
def test_wrong_measured_times(
    words: list[str], reason: str, trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    write_platform(path, read_platform("cluster"))
    before = path.read_text()
    assert main(["simulate", trace, *(str(path) if word == "FILE" else word for word in words)]) == 2
    assert reason in capsys.readouterr().err
    assert path.read_text() == before


def test_predicted_time_is_the_median(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(capsys, trace, "--repeat", "5", "--seed", "3")
    drawn = found["drawn"]
    assert isinstance(drawn, dict)
    for words, name in (([], "mean times"), (["--times", "drawn"], "one run")):
        assert main(["simulate", trace, "--platform", "cluster", "--repeat", "5", "--seed", "3", *words]) == 0
        first, _, third = capsys.readouterr().out.splitlines()[:3]
        assert third.startswith(name)
        if not words:
            assert first.startswith(f"predicted time  {coarse_duration(drawn['median_ns'])} ")
            assert f"  {coarse_duration(found['time_ns'])} " in third
    assert main(["simulate", trace, "--platform", "cluster", "--repeat", "1"]) == 0
    assert "mean times" not in capsys.readouterr().out


@pytest.mark.parametrize("by", ["site", "operation", "rank"])
def test_tables(trace: str, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", trace, "--platform", "cluster", "--by", by, "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("predicted time")
    assert "longest path" in out
    assert "more rows" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--platform", "none"], "installed: "),
        (["--platform", "cluster", "--mpi", "lam"], "mpi is 'lam'; known: thakur"),
    ],
)
def test_errors(trace: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", trace, *words]) == 2
    assert message in capsys.readouterr().err


def test_tolerances_of_large_runs_are_computed_if_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, trace: str
) -> None:
    monkeypatch.setattr(simulation, "MAX_TOLERANCE_CALLS", 1)
    left_out = facts(capsys, trace)
    assert "tolerance" not in left_out
    assert "--tolerance" in str(left_out["notes"])
    computed = facts(capsys, trace, "--tolerance")
    assert "tolerance" in computed
    assert "tolerance" not in computed["notes"]
    left_out = facts(capsys, trace, "--no-tolerance")
    assert "tolerance" not in left_out
    assert "tolerance" not in left_out["notes"]
