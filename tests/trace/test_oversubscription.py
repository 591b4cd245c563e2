"""Notes on runs with more ranks than cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.trace.io.writer import save
from scalatrace.trace.oversubscription import oversubscription_note, waited_for_cores
from support.drawing import json_of
from support.reported import ring


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({}, ""),
        ({"ranks-per-host": "4", "cores-per-host": "4"}, ""),
        ({"ranks-per-host": "2,4", "cores-per-host": "2"}, ""),
        ({"ranks-per-host": "8", "cores-per-host": "2"}, "8 ranks shared 2 cores of a host"),
        ({"ranks-per-host": "8", "cores-per-host": "1"}, "8 ranks shared 1 core of a host"),
        (
            {"oversubscribed": "runs with more ranks than cores: 8"},
            "runs with more ranks than cores: 8; times",
        ),
    ],
)
def test_note(meta: dict[str, str], text: str) -> None:
    note = oversubscription_note(meta)
    assert note.startswith(text)
    assert bool(note) == bool(text)


def test_info_has_the_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = ring(4)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    save(trace, tmp_path / "a.st")
    assert main(["info", str(tmp_path / "a.st")]) == 0
    assert "4 ranks shared 2 cores of a host" in capsys.readouterr().out
    assert json_of(capsys, "info", tmp_path / "a.st")["oversubscription"].startswith("4 ranks shared")


@pytest.mark.parametrize(
    ("meta", "compute_ns", "part"),
    [
        ({}, 1000.0, 0.0),
        ({"ranks-per-host": "2", "cores-per-host": "2"}, 1000.0, 0.0),
        # Of 8 ranks that compute all the time on two cores, six wait for a core.
        ({"ranks-per-host": "8", "cores-per-host": "2"}, 1000.0, 0.75),
        ({"ranks-per-host": "8", "cores-per-host": "2"}, 500.0, 0.5),
        ({"ranks-per-host": "8", "cores-per-host": "2"}, 200.0, 0.0),
        ({"ranks-per-host": "8", "cores-per-host": "2"}, 0.0, 0.0),
    ],
)
def test_computation_that_had_no_core(meta: dict[str, str], compute_ns: float, part: float) -> None:
    assert waited_for_cores(meta, compute_ns, 1000.0) == pytest.approx(part)
