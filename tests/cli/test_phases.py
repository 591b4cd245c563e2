"""Start-up and shut-down in the commands: one line, and no part of times, shares, efficiencies and advice."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.trace.model.trace import RUN_TIME_NS
from scalatrace.trace.symbolic.origin import EXTRAPOLATED
from support.drawing import json_of
from support.timed import S, trace_of, uneven_solver

START_UP, SHUT_DOWN, STEPS = 2.9 * S, 0.5 * S, 50


@pytest.fixture(scope="module")
def solver_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace with more time in start-up and shut-down than any rank but one has between them."""
    path = tmp_path_factory.mktemp("phases") / "a.st"
    trace_of(path, *uneven_solver())
    return str(path)


def check_phases(plain: dict[str, dict[str, int]]) -> None:
    assert plain["start_up"]["mean_ns"] == pytest.approx(START_UP, rel=0.01)
    assert plain["start_up"]["max_ns"] >= plain["start_up"]["mean_ns"]
    assert plain["shut_down"]["mean_ns"] == pytest.approx(SHUT_DOWN, rel=0.01)


def test_info(solver_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    performance = json_of(capsys, "info", solver_path)["performance"]
    check_phases(performance["phases"])
    efficiency = performance["efficiency"]
    assert efficiency["run_time_ns"] == pytest.approx(8.1 * S, rel=0.05)
    assert efficiency["load_balance"] == pytest.approx(2.425 / 8.05, rel=0.1)
    assert {row["operation"] for row in performance["costliest"] if row["mpi_ns"]} == {"Allreduce", "Bcast"}
    assert main(["info", solver_path]) == 0
    line = (
        r"start-up 2.\d+ s \(at most 3.\d+ s\), shut-down [45]\d+.* ms \(.*\) per rank: left out of all times"
    )
    assert re.search(line, capsys.readouterr().out)


def test_stats(solver_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "stats", solver_path)
    check_phases(data["phases"])
    assert data["whole"]["compute_ns"] == pytest.approx(4 * 2.425 * S, rel=0.02)
    rows = {row["operation"]: row for row in data["rows"]}
    assert rows["Cart_create"]["calls"] == 4
    assert rows["Cart_create"]["mpi_ns"] is rows["Cart_create"]["compute_ns"] is None
    ranks = json_of(capsys, "stats", solver_path, "--by", "rank")["rows"]
    assert ranks[0]["compute_ns"] == pytest.approx(8.05 * S, rel=0.05)
    assert ranks[1]["compute_ns"] == pytest.approx(0.55 * S, abs=0.2 * S)


def test_simulate(solver_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "simulate", solver_path, "--platform", "cluster")
    check_phases(data["phases"])
    assert data["drawn"]["median_ns"] == pytest.approx(8.05 * S, rel=0.05)
    path = {row["operation"]: row["path_ns"] for row in data["rows"]}
    assert path["Cart_create"] < 1e-4 * S  # of its messages; not the seconds of imports
    assert main(["simulate", solver_path, "--platform", "cluster"]) == 0
    assert "per rank: left out of the predicted time" in capsys.readouterr().out


def test_report(solver_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = json_of(capsys, "report", solver_path, "--platform", "cluster")["traces"]
    assert page["summary"]["phases"].startswith("start-up 2.")
    assert all("Cart_create" not in row["after"][0] for row in page["computing"])
    assert all("Cart_create" not in advice["title"] + advice["text"] for advice in page["advice"])
    assert page["basis"]["whole_ns"] == pytest.approx(4 * (2.425 + 5.63) * S, rel=0.05)


def test_variability(solver_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "variability", solver_path, "-P", "64")
    check_phases(data["phases"])
    assert data["total_ns"] < 12 * S


def test_regress(solver_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(copy(solver_path, tmp_path / f"{i}.st")) for i in range(5)]
    data = json_of(capsys, "regress", *runs, "--window", "0")
    check_phases(data["phases"][0])
    factors = {each["factor"]: each["values"][0] for each in data["evolution"]}
    assert factors["total"] == pytest.approx((2.425 + 5.63) * S, rel=0.05)
    assert not any("Cart_create" in name for name in factors)


def test_diff(solver_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slower imports are no difference of call sites."""
    ranks, comms = uneven_solver()
    slower = [[calls[0], calls[1], calls[2]._replace(compute_ns=9 * S), *calls[3:]] for calls in ranks]
    trace_of(tmp_path / "b.st", slower, comms)
    assert main(["diff", solver_path, str(tmp_path / "b.st")]) in (0, 1)
    assert "9 s" not in capsys.readouterr().out


def test_a_vague_extrapolated_run_time_is_an_interval_everywhere(
    solver_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, path = scalatrace.load(solver_path), tmp_path / "a.st"
    trace.meta |= {EXTRAPOLATED: "from 2, 3 ranks to 4, times by confirmed"}
    trace.meta[RUN_TIME_NS] = f"{2 * 10**9}..{20 * 10**9}"
    scalatrace.save(trace, path)
    for command in ("info", "stats"):
        assert main([command, str(path)]) == 0
        assert "run time 2 s .. 20 s (95 %)" in capsys.readouterr().out
        facts = json_of(capsys, command, str(path))
        assert facts.get("performance", facts)["run_time_interval_ns"] == [2 * 10**9, 20 * 10**9]
    assert main(["report", str(path), "-o", str(tmp_path / "a.html")]) == 0
    assert "2 s to 20 s (95 %)" in (tmp_path / "a.html").read_text()
