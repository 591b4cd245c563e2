"""`scalatrace regress`: traces and tables in, a verdict and an exit status out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.report.predictions.regress import time_factors
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import Vec
from support.drawing import json_of
from support.runs import SITES, run_of


@pytest.fixture
def history(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{number:02}.st" for number in range(20)]
    for number, path in enumerate(paths):
        scalatrace.save(run_of(number), path)
    return paths


def regress(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> str:
    assert main(["regress", *map(str, words)]) == status
    captured = capsys.readouterr()
    return captured.out + captured.err


def saved(path: Path, trace: Trace) -> Path:
    scalatrace.save(trace, path)
    return path


def test_factors_are_times_per_rank() -> None:
    factors = time_factors(run_of(0))
    assert factors["Allreduce solver.py:10:step before"] == pytest.approx(40e6, rel=0.03)
    assert factors["Barrier solver.py:11:step MPI"] == pytest.approx(3e6, rel=0.03)
    assert set(time_factors(run_of(0), "op")) == {
        f"{op} {what}" for op in SITES for what in ("before", "MPI")
    }


def test_lines_may_move_between_versions() -> None:
    old, new = (set(time_factors(run_of(0, line=line), "function")) for line in (10, 90))
    assert old == new


@pytest.mark.parametrize("by", ["site", "function"])
def test_call_sites_of_a_renamed_program_are_paired(
    capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path, by: str
) -> None:
    """As `diff` pairs them, so names alone are no regression; and a slower one is named as before."""

    def renamed(path: str, line: int, slow: float = 1.0) -> Path:
        trace = run_of(77, {"Barrier": slow}, line=line)
        trace.frames[:] = [frame.replace("solver.py", "solver_new.py") for frame in trace.frames]
        return saved(tmp_path / path, trace)

    new = renamed("new.st", 30)
    shown = regress(capsys, *history, new, "--by", by)
    assert "no regression" in shown
    assert "solver_new.py" not in shown
    slow = renamed("slow.st", 90, 1.1)
    shown = regress(capsys, *history, new, slow, "--by", by, status=1)
    assert f"Barrier solver.py:{'11:' * (by == 'site')}step before" in shown.splitlines()[0]


def test_a_slower_site_fails(capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path) -> None:
    new = saved(tmp_path / "new.st", run_of(77, {"Barrier": 1.05}))
    shown = regress(capsys, *history, new, status=1)
    assert "REGRESSION" in shown
    assert "Barrier solver.py:11:step before" in shown.splitlines()[0]
    assert "Allreduce" not in shown.splitlines()[0]


def test_an_equal_run_passes(capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path) -> None:
    shown = regress(capsys, *history, saved(tmp_path / "new.st", run_of(77)))
    assert "no regression" in shown


def test_the_verdict_comes_first_with_its_limit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A call site that is a third slower is named, though six runs do not show it."""
    rows = [f"run{i},{wait},{100 + i % 2}" for i, wait in enumerate((20, 21, 18, 22, 19, 27))]
    table, page = tmp_path / "runs.csv", tmp_path / "history.html"
    table.write_text("\n".join(["run,wait,solve", *rows]) + "\n")
    shown = regress(capsys, "--table", table, "--report", page).splitlines()
    assert shown[0].startswith("no regression, total: 6 runs show only changes above ")
    assert shown[1].startswith("slower, perhaps by chance: wait +35%")
    assert "; 6 runs show only changes above " in shown[1]
    assert shown[-1] == f"wrote {page}"
    assert all("show only changes above" in line for line in shown if "  as before" in line)
    text = page.read_text()
    assert "slower, perhaps by chance: wait" in text
    assert "No regression, total: 6 runs show only changes above" in text
    assert 'class="verdict better"' not in text


def test_runs_that_differ_too_much_decide_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An interval, or a smallest change, of more than a factor of 4 is words in place of numbers."""
    rows = [f"run{i},{wait},{100 + i % 2}" for i, wait in enumerate((9, 30, 4, 14, 7, 32))]
    table, page = tmp_path / "runs.csv", tmp_path / "history.html"
    table.write_text("\n".join(["run,wait,solve", *rows]) + "\n")
    lines = regress(capsys, "--table", table, "--report", page).splitlines()
    words = "6 runs differ too much to tell a change from chance"
    assert lines[1].startswith("slower, perhaps by chance: wait +2")
    assert lines[1].endswith(words)
    (row,) = (line for line in lines if line.split()[1:2] == ["wait"])
    assert row.split()[6] == "-"  # no interval
    assert "fold" not in "".join(lines)
    assert words in page.read_text()
    wait = next(test for test in judged(capsys, table) if test["factor"] == "wait")
    assert wait["detectable"] > 3
    assert wait["high"] > 4 * wait["low"]


def judged(capsys: pytest.CaptureFixture[str], table: Path) -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = json.loads(regress(capsys, "--table", table, "--json"))["verdict"]["tests"]
    return tests


def test_run_time_and_total_are_explained(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runs = [run_of(number) for number in range(6)]
    for run in runs:
        run.load[:] = [Vec((-3, 2)), Vec((1, -1))]
    paths = [saved(tmp_path / f"{number}.st", run) for number, run in enumerate(runs)]
    shown = regress(capsys, *paths, "--report", tmp_path / "history.html")
    assert "run time: of the longest rank; total and all other factors: means of the ranks" in shown
    assert "The run time is that of the longest rank" in (tmp_path / "history.html").read_text()


def test_json(capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path) -> None:
    new = saved(tmp_path / "new.st", run_of(77, {"Barrier": 1.05}))
    data = json.loads(regress(capsys, *history, new, "--json", status=1))
    assert data["verdict"]["regression"] is True
    assert len(data["runs"]) == 21
    slower = [test for test in data["verdict"]["tests"] if test["result"] == "slower"]
    assert {"Barrier solver.py:11:step before"} <= {test["factor"] for test in slower}
    assert len(data["evolution"][0]["values"]) == 21


def test_outliers_and_earlier_versions_can_be_left_out(
    capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path
) -> None:
    for path in history[:8]:
        saved(path, run_of(int(path.stem), {"Barrier": 1.5}))
    new = saved(tmp_path / "new.st", run_of(77, {"Barrier": 1.05}))
    regress(capsys, *history, new)  # too much noise
    regress(capsys, *history, new, "--since", history[8], status=1)
    outliers = [word for path in history[:8] for word in ("--outlier", path)]
    regress(capsys, *history, new, *outliers, status=1)


def test_prediction_for_more_ranks(
    capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path
) -> None:
    new = saved(tmp_path / "new.st", run_of(77))
    data = json.loads(regress(capsys, *history[:6], new, "-P", 64, "--json"))
    predictions = [row["prediction"] for row in data["efficiency"]]
    assert [row["nranks"] for row in predictions] == [64] * 7
    assert all(row["recorded_ns"] <= row["median_ns"] * 1.000001 for row in predictions)
    assert "slowest of 64 ranks" in regress(capsys, *history[:6], new, "-P", 64)


def test_plot(capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    regress(capsys, *history, "--plot", tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")


def test_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    rows = [f"day{i},{random.normal(3, 0.01)},{random.normal(7, 0.01)}" for i in range(15)]
    table = tmp_path / "parameters.csv"
    table.write_text("\n".join(["run,MNK,MN", *rows, "today,3.2,7"]) + "\n")
    assert "MNK" in regress(capsys, "--table", table, status=1).splitlines()[0]


def test_runs_on_other_numbers_of_ranks_are_left_out(
    capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path
) -> None:
    other = saved(tmp_path / "other.st", run_of(1, nprocs=4))
    alone = json_of(capsys, "regress", *history)
    together = json_of(capsys, "regress", other, *history)
    assert together.pop("other_sizes") == [str(other)]
    assert alone.pop("other_sizes") == []
    assert together == alone


def test_errors(capsys: pytest.CaptureFixture[str], history: list[Path], tmp_path: Path) -> None:
    assert "--table" in regress(capsys, status=2)
    assert "at least 4" in regress(capsys, *history[:3], status=2)
    other = saved(tmp_path / "other.st", run_of(1, nprocs=4))
    assert "only equal numbers are compared" in regress(capsys, *history, other, status=2)
    assert "unknown format" in regress(capsys, *history, "--plot", "x.txt", status=2)
    assert "no such run" in regress(capsys, *history, "--outlier", "x", status=2)
    bare = saved(tmp_path / "bare.st", Trace(2, meta={}))
    assert "no times" in regress(capsys, bare, *history, status=2)
