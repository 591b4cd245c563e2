"""All formats through the command: sizes, selections, and errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.cli.export import NAMES
from scalatrace.errors import UsageError
from scalatrace.predict.export.extrap_json import experiment
from scalatrace.predict.export.formats import FORMATS
from scalatrace.predict.export.goal import GOAL
from scalatrace.predict.export.simgrid import SIMGRID
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.timeline import Timeline
from scalatrace.predict.timeline.window import WindowLowering
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import ANY_SOURCE
from support.builder import DOUBLE, Builder, Comm, stencil
from support.drawing import json_of
from support.lowered import every_kind, on, run


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "t.st"
    scalatrace.save(every_kind(6), path)
    return str(path)


def test_names() -> None:
    assert tuple(FORMATS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_format(name: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for package, names in (("otf2", ["otf2"]), ("perfetto", ["perfetto"]), ("pyarrow", ["parquet"])):
        if name in names:
            pytest.importorskip(package)
    out = str(tmp_path / "out.x")
    facts = json_of(capsys, "export", file, "--to", name, "-o", out)
    assert facts["bytes"] > 100
    if name != "extrap":
        assert 0.3 < facts["estimated_bytes"] / facts["bytes"] < 3
    if FORMATS[name].kind == "simulator":
        outcomes = Counter(row["outcome"] for row in facts["account"])
        assert outcomes["lost"] == 1
        assert sum(row["calls"] for row in facts["account"]) > 100
    if FORMATS[name].folder:
        assert main(["export", file, "--to", name, "-o", out]) == 2
        assert "is there already" in capsys.readouterr().err


def test_table(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", file, "--to", "goal", "-o", str(tmp_path / "x.goal"), "--ranks", "0-2"]) == 0
    printed = capsys.readouterr()
    assert "a peer that is not in the result" in printed.out
    assert "among the chosen ranks" in printed.out
    assert "about" in printed.err
    assert (tmp_path / "x.goal").read_text().startswith("num_ranks 3\n")


def test_simgrid_with_a_platform(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["export", file, "--to", "simgrid", "-o", str(out), "--platform", "cluster"]) == 0
    assert {"platform.xml", "hosts.txt", "ranks.txt"} < {path.name for path in out.iterdir()}
    assert "smpirun -np 6 -platform platform.xml" in capsys.readouterr().out


def test_dry_run_writes_nothing(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", file, "--to", "csv", "-o", str(tmp_path / "x.csv"), "--dry-run"]) == 0
    assert "about" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--to", "goal", "--ranks", "7"], "rank 7"),
        (["--to", "csv", "--ranks", "3-1"], "no range"),
        (["--to", "csv", "--ranks", "x"], "no rank"),
        (["--to", "csv", "--window", "5"], "START:END"),
        (["--to", "csv", "--window", "2s:1s"], "not after"),
        (["--to", "csv", "--collectives", "messages"], "for simulators"),
        (["--to", "extrap", "--ranks", "1"], "whole traces"),
        (["--to", "goal", "--platform", "nowhere"], "no such file"),
        (["--to", "pajek"], "invalid choice"),
    ],
)
def test_errors(
    words: list[str], reason: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["export", file, "-o", str(tmp_path / "x"), *words])
    except SystemExit as ended:  # argparse
        status = int(str(ended.code))
    assert status == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_open_receives_get_a_sender(tmp_path: Path) -> None:
    b = Builder(3)
    both = {"count": 1, "datatype": DOUBLE, "tag": 4, "comm": Comm()}
    trace = b.of(
        b.event("Send", repeat=on({1: 1, 2: 1}), dest=0, **both),
        b.event("Recv", repeat=on({0: 2}), source=ANY_SOURCE, **both),
    )
    path, out = str(tmp_path / "t.st"), tmp_path / "x.goal"
    scalatrace.save(trace, path)
    assert main(["export", path, "--to", "goal", "-o", str(out)]) == 0
    assert {line.split(" from ")[1] for line in out.read_text().splitlines() if "recv" in line} == {
        "1 tag 4",
        "2 tag 4",
    }


@pytest.mark.parametrize("target", [GOAL, SIMGRID])
@pytest.mark.parametrize("part", [(0.0, 0.5), (0.3, 0.6), (0.5, 1.0)])
def test_windows_keep_both_ends(target: LoweringTarget, part: tuple[float, float]) -> None:
    trace = every_kind(6)
    end = Timeline(trace).end_ns
    cut = WindowLowering(trace, (part[0] * end, part[1] * end), target)
    outcome = run(cut)
    whole = run(TraceLowering(trace, target))
    assert 0 < outcome.sent.total() < whole.sent.total()
    everything = WindowLowering(trace, (0, 2 * end), target)
    assert run(everything).sent == whole.sent


def timed(nprocs: int, compute_ns: int, **meta: str) -> Trace:
    b = Builder(nprocs)
    total = {"count": 2, "datatype": DOUBLE, "op": "MPI_SUM", "comm": Comm()}
    histogram = Histogram(nprocs, compute_ns, compute_ns, compute_ns, 0)
    b.trace.meta.update(meta)
    return b.of(b.event("Allreduce", at=("a->b", "main"), compute=histogram, **total))


def test_extrap() -> None:
    result = experiment([timed(2, 10), timed(4, 30), timed(4, 20)])
    assert result["parameters"] == ["p"]
    assert set(result["measurements"]) == {"main->a→b->MPI_Allreduce"}
    metrics = result["measurements"]["main->a→b->MPI_Allreduce"]
    assert metrics["computation"] == [
        {"point": [2.0], "values": [pytest.approx(1e-8)]},
        {"point": [4.0], "values": [pytest.approx(3e-8), pytest.approx(2e-8)]},
    ]
    assert metrics["visits"][0]["values"] == [1.0]
    assert metrics["bytes"][1]["values"] == [16.0, 16.0]


def test_extrap_parameters() -> None:
    traces = [timed(2, 10, **{"param.n": "8"}), timed(4, 10, **{"param.n": "16"})]
    result = experiment(traces)
    assert result["parameters"] == ["p", "n"]
    visits = result["measurements"]["main->a→b->MPI_Allreduce"]["visits"]
    assert [each["point"] for each in visits] == [[2.0, 8.0], [4.0, 16.0]]
    with pytest.raises(UsageError, match="no parameter n"):
        experiment([*traces, timed(8, 1)])
    with pytest.raises(UsageError, match="needs a number"):
        experiment([timed(2, 1, **{"param.n": "big"})])


def test_selected_ranks_of_a_simulator_are_numbered_from_0() -> None:
    lowering = TraceLowering(stencil(), GOAL, ranks=[1, 2])
    assert {a.peer for rank in (1, 2) for a in lowering.actions(rank) if hasattr(a, "peer")} == {0, 1}
