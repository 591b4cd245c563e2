"""Commands on a million ranks that compute ten hours each: 3.6e19 ns are more than 64 bits hold."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from scalatrace.cli import main
from scalatrace.extrap import model_of
from scalatrace.trace.io.writer import save
from support.drawing import json_of
from support.many_hours import CALL_NS, COUNT, NPROCS, STEP_NS, STEPS, TOTAL_NS, many_hours

LATER_NS = TOTAL_NS // STEPS * (STEPS - 1)
"""Without the first step, which is start-up."""
EXACTLY = 1e-2
"""Histograms in files are rounded."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("hours") / "a.st"
    save(many_hours(), file)
    return str(file)


def numbers(value: Any) -> list[float]:
    """Return all numbers in plain data."""
    if isinstance(value, dict | list):
        return [n for each in (value.values() if isinstance(value, dict) else value) for n in numbers(each)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_stats(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "stats", path)
    rows = {row["operation"]: row for row in data["rows"]}
    assert rows["Irecv"]["compute_ns"] == pytest.approx(LATER_NS, rel=EXACTLY)
    assert rows["Send"]["bytes_sent"] == NPROCS * STEPS * COUNT * 8 > 1 << 63
    assert min(numbers(data)) >= 0


def test_info(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    performance = json_of(capsys, "info", path)["performance"]
    assert performance["compute_ns"] == pytest.approx(LATER_NS, rel=EXACTLY)
    assert performance["run_time_ns"] == pytest.approx(LATER_NS / NPROCS + STEPS * 4 * CALL_NS, rel=EXACTLY)


@pytest.mark.slow
def test_variability(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "variability", path, "--ranks", "2000000")
    assert all(row["median_ns"] > LATER_NS / NPROCS for row in data["predictions"])


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The formulas of the program, from few ranks."""
    file = tmp_path_factory.mktemp("hours") / "a.stx"
    sizes = [(4,), (5,), (6,), (8,)]
    save(model_of([many_hours(*size) for size in sizes], sizes)[1], file)
    return str(file)


def test_models(formulas: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "models", "--trace", formulas, "--platform", "cluster", "--ranks", str(NPROCS))
    found = numbers(data)
    assert min(found) >= 0
    assert max(found) > COUNT  # ns of messages of 2^43 bytes


def test_formulas_of_a_million_ranks(formulas: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "stats", formulas, "-P", str(NPROCS))
    rows = {row["operation"]: row for row in data["rows"]}
    assert rows["Send"]["bytes_sent"] == NPROCS * STEPS * COUNT * 8
    assert min(numbers(data)) >= 0


@pytest.mark.slow
def test_simulate(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "simulate", path, "--platform", "cluster")
    rows = {row["operation"]: row for row in data["rows"]}
    assert rows["Irecv"]["compute_ns"] == pytest.approx(TOTAL_NS, rel=EXACTLY)
    assert data["time_ns"] > STEPS * STEP_NS * 0.99
    assert min(n for row in data["rows"] for n in numbers(row)) >= 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "export", "regress"])
def test_others_end_well(command: str, path: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    runs = []
    for i in range(5):
        runs.append(str(tmp_path / f"{i}.st"))
        copyfile(path, runs[-1])
    words = {
        "report": ["report", path, "-o", str(output), "--no-source"],
        "export": ["export", *runs, "--to", "extrap", "-o", str(output)],
        "regress": ["regress", *runs],
    }
    assert main(words[command]) == 0
