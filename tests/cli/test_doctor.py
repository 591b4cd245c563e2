"""`doctor`: marks of what works, fails and is missing, and its exit status."""

from __future__ import annotations

import pytest

from scalatrace.cli import main
from scalatrace.record import doctor
from scalatrace.record.doctor import Fact
from support.drawing import json_of

WORKS = Fact("mpi4py", True, "4.1")
MISSING = Fact("ranks > cores", False, "mpiexec -n 3 fails", "export A=1", optional=True)
FAILS = Fact("starts a rank", False, "mpiexec -n 1 fails", "export B=1")


@pytest.mark.parametrize(("facts", "status"), [([WORKS, MISSING], 0), ([WORKS, MISSING, FAILS], 1)])
def test_marks_and_exit_status(
    facts: list[Fact], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "facts", lambda: facts)
    assert main(["doctor"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ mpi4py")
    assert lines[1].startswith("– ranks > cores")
    assert lines[2].split() == ["→", "export", "A=1"]
    assert ("✗ starts a rank" in "\n".join(lines)) == (status == 1)
    assert json_of(capsys, "doctor", status=status)[1]["optional"] is True


def test_what_is_not_installed_has_no_tick(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "facts", list)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("– SimGrid  not installed")
