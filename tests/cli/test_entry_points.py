"""Installed plug-ins are found by their entry points, those of the old groups too."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.codegen.emit import emitter, names
from scalatrace.entry_points import registered

EMITTER = """
from scalatrace.codegen.emit.interface import Emitter


class Plain(Emitter):
    name, suffix = "plain", ".txt"

    def emit(self, program, options):
        return "a program"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, which is searched."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(folder: Path, package: str, group: str, entry: str) -> None:
    """Lay down the metadata of a package with one entry point."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


@pytest.mark.parametrize("group", ["scalatrace.codegen.emitters", "scalatrace.emitters"])
def test_emitter_of_a_package(installed: Path, capsys: pytest.CaptureFixture[str], group: str) -> None:
    (installed / "plain_emitter.py").write_text(EMITTER)
    install(installed, "plain-emitter", group, "plain = plain_emitter:Plain")
    assert "plain" in names()
    assert emitter("plain").name == "plain"
    warned = "plain-emitter" in capsys.readouterr().err
    assert warned == (group == "scalatrace.emitters")


def test_new_group_wins(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(installed, "new", "scalatrace.codegen.emitters", "same = new:Emitter")
    install(installed, "old", "scalatrace.emitters", "same = old:Emitter")
    found = registered("scalatrace.codegen.emitters", "scalatrace.emitters")
    assert [entry.value for entry in found] == ["new:Emitter"]
    assert not capsys.readouterr().err
