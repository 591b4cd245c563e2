"""Commands that start ranks themselves: sweep and fixpoint."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.registry import find
from scalatrace.replay.sweep import SweepResult, SweepSetting, grid
from scalatrace.report.columns import SETTINGS
from scalatrace.trace.io.writer import save
from support.builder import stencil
from support.mpis import Mpi
from support.running import mpirun, record, scalatrace

CHAPTERS = Path(__file__).parents[1] / "replay" / "chapters.py"


@pytest.fixture
def hand_made(tmp_path: Path) -> Path:
    path = tmp_path / "a.st"
    save(stencil(), path)
    return path


def test_a_grid_has_all_combinations() -> None:
    settings = grid([0, 1], [1, 8], ["native", "p2p"])
    assert len(set(settings)) == 8
    assert settings[:2] == [SweepSetting(0, 1), SweepSetting(1, 1)]


def test_rows_of_settings_are_those_of_the_table() -> None:
    row = SweepResult(SweepSetting(0.5, 2), (3.0, 1.0, 2.0)).row()
    expected = {"compute_scale": 0.5, "bytes_scale": 2, "collectives": "native"}
    assert row == {**expected, "median_s": 2.0, "least_s": 1.0, "most_s": 3.0}
    assert list(row) == SETTINGS.names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "--compute-scale", "-1"], "not a factor"),
        (["sweep", "--repeat", "0"], "1 or more"),
        (["sweep", "--plot", "a.jpg"], ".svg, .png, .pdf"),
        (["sweep", "--launcher", "no-such-launcher"], "no-such-launcher"),
        (["sweep", "--launcher", "false"], "failed"),
        (["fixpoint", "--launcher", "false"], "failed with status 1"),
        (["fixpoint", "--launcher", "no-such-launcher"], "no-such-launcher"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], said: str, hand_made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = words
    assert main([command, str(hand_made), *options]) != 0
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.fixture(scope="module")
def recorded(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("launching") / "a.st"
    record(openmpi, 2, [str(openmpi.python), CHAPTERS, "collectives"], path).check()
    return path


@pytest.mark.mpi
def test_sweep_writes_table_and_plot(openmpi: Mpi, recorded: Path, tmp_path: Path) -> None:
    table, plot = tmp_path / "a.csv", tmp_path / "a.svg"
    grid = ["--compute-scale", "0", "--bytes-scale", "1", "4", "--replay=--compute sleep"]
    words = ["sweep", recorded, *grid, "-o", table, "--json"]
    pytest.importorskip("matplotlib")
    rows = json.loads(scalatrace(openmpi, *words, "--plot", plot).check().stdout)
    assert [(row["compute_scale"], row["bytes_scale"]) for row in rows] == [(0, 1), (0, 4)]
    assert all(row["median_s"] > 0 for row in rows)
    assert len(table.read_text().splitlines()) == 3
    assert "<svg" in plot.read_text()


@pytest.mark.mpi
@pytest.mark.parametrize("command", ["sweep", "replay"])
def test_tables_as_csv(command: str, openmpi: Mpi, recorded: Path, tmp_path: Path) -> None:
    if command == "sweep":
        done = scalatrace(openmpi, "sweep", recorded, "--compute-scale", "0", "--csv").check()
    else:
        words = [*openmpi.scalatrace(), "replay", recorded, "--compute", "none", "--csv"]
        done = mpirun(openmpi, 2, words, cwd=tmp_path).check()
    entry = find(command)
    assert entry is not None
    listed = parser_of(entry)[1].format_full_help().partition("columns of --csv")[2]
    head, *rows = csv.reader(done.stdout.splitlines())
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert all(re.search(rf"^  {name}( |$)", listed, re.MULTILINE) for name in head)


@pytest.mark.mpi
def test_fixpoint_says_yes(openmpi: Mpi, recorded: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.st"
    done = scalatrace(openmpi, "fixpoint", recorded, "--keep", again, "--json").check()
    facts = json.loads(done.stdout)
    assert facts["differences"] == 0
    assert facts["events"] > 0
    scalatrace(openmpi, "diff", recorded, again, "--ignore", "callsites,times").check()


@pytest.mark.mpi
def test_a_replay_can_record_itself(openmpi: Mpi, recorded: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.st"
    mpirun(openmpi, 2, [*openmpi.scalatrace(), "replay", recorded, "--record", again], cwd=tmp_path).check()
    scalatrace(openmpi, "diff", recorded, again, "--ignore", "callsites,times").check()
