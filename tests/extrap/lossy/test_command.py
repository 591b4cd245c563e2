"""`scalatrace extrapolate --lossy`: what it writes, tells, and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.trace.query.diff import diff
from support.drawing import json_of
from support.rings import Extra, ring

SIZES = (4, 5, 6, 8)


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Traces of a ring; on 4 ranks one of them sends a message more."""
    result = []
    for size in SIZES:
        extras = [Extra(1, 2, 0, "blocking")] if size == 4 else []
        result.append(str(tmp_path / f"{size}.st"))
        scalatrace.save(ring(size, 3, extras), result[-1])
    return result


DIMS = ("--dims-of", "4,5,6,8")


def test_what_was_dropped_is_told(
    paths: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "big.st")
    assert main(["extrapolate", *paths, *DIMS, "-P", "12", "-o", out]) == 1  # not without --lossy
    assert main(["extrapolate", *paths, *DIMS, "-P", "12", "--lossy", "-o", out]) == 0
    told = capsys.readouterr().out
    assert "4 ranks (4): 2 of 74 events dropped (2.70%)" in told
    assert "8 ranks (8): 0 of 144 events dropped (0.00%)" in told
    assert "not common to all ranks" in told
    assert diff(scalatrace.load(out), ring(12, 3), ["times"]) == []
    assert scalatrace.load(out).meta["lossy"] == "up to 2.7 % of the events were dropped"
    assert main(["show", out]) == 0
    assert ", extrapolated, lossy" in capsys.readouterr().out
    page = tmp_path / "page.html"
    words = ["extrapolate", *paths, *DIMS, "-P", "12", "--lossy", "-o", out, "--report", str(page)]
    assert main(words) == 0
    assert "up to 2.7 % of the events were dropped" in page.read_text()
    assert "Not known: the traces have no times, or calls were dropped." in page.read_text()


def test_results_without_losses_are_not_lossy(paths: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / "big.st")
    assert main(["extrapolate", *paths[1:], "--dims-of", "5,6,8", "-P", "12", "--lossy", "-o", out]) == 0
    assert "lossy" not in scalatrace.load(out).meta


def test_as_json(paths: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "big.st")
    facts = json_of(capsys, "extrapolate", *paths, *DIMS, "-P", "12", "--lossy", "-o", out)
    assert (facts["events"], facts["alone"], facts["checked"]) == (12 * 18, None, True)
    assert [one["dropped"] for one in facts["losses"]] == [2, 0, 0, 0]
    assert {(row["op"], *row["by_rank"]) for row in facts["losses"][0]["calls"]} == {
        ("Send", "2"),
        ("Recv", "0"),
    }


def test_formulas(paths: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formulas, out = str(tmp_path / "app.stx"), str(tmp_path / "big.st")
    assert main(["extrapolate", *paths, *DIMS, "--lossy", "--symbolic", "-o", formulas]) == 0
    assert main(["instantiate", formulas, "-P", "9", "-o", out]) == 0
    assert diff(scalatrace.load(out), ring(9, 3), ["times"]) == []
    assert "2 of 74" in capsys.readouterr().out


def test_snippets_and_their_errors(
    paths: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rules = str(tmp_path / "big.st"), tmp_path / "ring.snippets"
    command = ["extrapolate", *paths, *DIMS, "-P", "12", "--lossy", "--snippets", str(rules), "-o", out]
    rules.write_text("snippet ring { Irecv*2 Isend*2 Waitall }")
    assert main(command) == 0
    assert "in no snippet" in capsys.readouterr().out
    rules.write_text("snippet ring { Irecv*2\n  Isend! }")
    assert main(command) == 1
    assert "ring.snippets:2:8: unexpected '!'; expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--snippets", "x", "-P", "9"], "--snippets selects the calls that --lossy keeps: add --lossy"),
        (["--lossy", "--check"], "--check compares exact predictions"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], reason: str, paths: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extrapolate", *paths, *options]) == 2
    assert reason in capsys.readouterr().err
