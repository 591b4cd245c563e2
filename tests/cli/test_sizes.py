"""Commands on traces take symbolic traces, too, for the sizes that the command line gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.extrap import model_of
from scalatrace.extrap.extrapolate import of_model
from support.grids import halo, trace_of

SIZES = [(4, 4), (5, 4), (5, 5), (6, 5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A symbolic trace, the trace that it makes on a larger grid, and a recorded one there."""
    path = tmp_path_factory.mktemp("sizes")
    model = model_of([trace_of(halo(True), dims) for dims in SIZES], SIZES)[1]
    scalatrace.save(model, path / "app.stx")
    scalatrace.save(of_model(model, 36, (6, 6)).trace, path / "made.st")
    scalatrace.save(trace_of(halo(True), (6, 6)), path / "36.st")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [
    ["stats", "--json"], ["show", "--text"], ["matrix", "--json"], ["show", "--rank", "7"],
    ["info", "--csv"], ["simulate", "--platform", "cluster", "--csv"],
])  # fmt: skip
def test_results_are_those_of_the_trace_that_instantiate_writes(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    command, *options = words
    bound = run(capsys, command, folder / "app.stx", "--dims", "6x6", *options)
    assert bound == run(capsys, command, folder / "made.st", *options)


def test_a_recorded_trace_is_compared_with_formulas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "equal" in run(
        capsys, "diff", folder / "36.st", folder / "app.stx", "-P", "36", "--ignore", "times"
    )


def test_reports_and_exports(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, rows = tmp_path / "page.html", tmp_path / "rows.csv"
    run(capsys, "report", folder / "app.stx", "-P", "36", "-o", page)
    assert "6x6" in page.read_text()
    run(capsys, "export", folder / "app.stx", "-P", "36", "--to", "csv", "-o", rows)
    assert len(rows.read_text().splitlines()) == 1 + sum(
        1 for rank in range(36) for _ in scalatrace.load(folder / "36.st").walk(rank)
    )


def test_info_describes_formulas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(capsys, "info", folder / "app.stx", "--json"))
    assert facts["grid"] == ["X", "Y"]
    assert facts["traces"] == ["4x4", "5x4", "5x5", "6x5"]
    assert facts["formulas"] > 0
    assert "any number, as a grid X x Y" in run(capsys, "info", folder / "app.stx")


@pytest.mark.parametrize(("words", "error"), [
    (["stats", "app.stx"], "app.stx holds formulas for any number of ranks: give -P N or --dims XxY"),
    (["stats", "36.st", "-P", "4"], "-P: 36.st is a trace, whose size is fixed; leave it out"),
    (["matrix", "36.st", "--param", "n=4"], "--param: 36.st is a trace, whose size is fixed"),
    (["info", "app.stx", "--dims", "6"], "grid"),
    (["info", "app.stx", "--csv"], "add -P N"),
    (["generate", "app.stx", "--to", "c", "--times", "drawn"], "--times drawn needs the sizes of formulas"),
    (["generate", "app.stx", "--to", "c", "--at", "Send", "bytes=2"], "give -P N or --dims XxY"),
    (["generate", "36.st", "--to", "c", "--dims", "6x6"], "--dims: 36.st is a trace, whose size is fixed"),
    (["generate", "36.st", "--to", "c", "--timing-model", "linear"], "need formulas"),
])  # fmt: skip
def test_mistakes(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    error: str,
) -> None:
    monkeypatch.chdir(folder)
    assert main(words) in (1, 2)
    message = capsys.readouterr().err
    assert error in message
    assert "Traceback" not in message
