"""What reporters and commands print."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from scalatrace.cli import main


def drawn(reporter: object, width: int = 160) -> str:
    """The text of a reporter on a console of this width."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    reporter.render(console)  # type: ignore[attr-defined]
    return console.file.getvalue()  # type: ignore[attr-defined]


def json_of(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> Any:
    """Run a command with `--json`; return what it prints."""
    assert main([*map(str, words), "--json"]) == status
    return json.loads(capsys.readouterr().out)


def complaint_of(capsys: pytest.CaptureFixture[str], *words: object, status: int = 2) -> str:
    """Run a command that refuses; return the one line that it prints."""
    assert main([*map(str, words)]) == status
    err = capsys.readouterr().err
    assert err.startswith("scalatrace: ")
    assert err.count("\n") == 1
    return err
