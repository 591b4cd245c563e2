"""Progress on terminals: of every command after a second, never in a pipe, never over the output."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import scalatrace
from scalatrace.cli import dispatch, main, progress
from scalatrace.cli.parsing import Parser
from scalatrace.cli.registry import COMMANDS, Command
from support.builder import stencil
from support.terminals import terminal

CLEARED = "\x1b[2K"
"""Erases the line of progress."""
OWN_TERMINAL = {"record", "replay", "ncptl"}
"""Commands whose programs write to the terminal themselves."""


def works(seconds: float, body: Callable[[], None] = lambda: None, shown: bool = True) -> SimpleNamespace:
    """A command that takes some time, waits for its progress if that is shown, then prints."""

    def run(_: argparse.Namespace) -> int:
        body()
        time.sleep(seconds)
        while shown and (activity := progress._current) is not None and activity.bar is None:
            time.sleep(0.01)  # the first import of rich may take a while
        print("the result")
        return 0

    return SimpleNamespace(run=run)


def use(patch: pytest.MonkeyPatch, module: SimpleNamespace) -> None:
    patch.setattr(dispatch, "parser_of", lambda command: (module, Parser(prog=f"scalatrace {command.name}")))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_command_shows_progress(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)
    use(monkeypatch, works(0.1))
    with terminal(monkeypatch, "stderr") as shown:
        assert main([command.name]) == 0
        assert (f"{command.name}" in shown.text) == (command.name not in OWN_TERMINAL)
        assert (CLEARED in shown.text) == (command.name not in OWN_TERMINAL)
    assert capsys.readouterr().out == "the result\n"


def test_quick_commands_and_pipes_show_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, works(0.05, shown=False))
    with terminal(monkeypatch, "stderr") as shown:
        assert main(["stats"]) == 0
        assert shown.text == ""
    monkeypatch.setattr(progress, "DELAY_S", 0.01)
    assert main(["stats"]) == 0
    assert capsys.readouterr().err == ""


def test_ranks_of_a_launcher_show_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)
    use(monkeypatch, works(0.3))
    for rank in (0, 1):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
        with terminal(monkeypatch, "stderr") as shown:
            assert main(["merge"]) == 0
            assert (shown.text != "") == (rank == 0)


def test_output_comes_after_the_line_on_the_same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)

    def body() -> None:
        for _ in progress.track([1, 2, 3], "three steps"):
            time.sleep(0.1)
        print("a warning", file=sys.stderr)

    use(monkeypatch, works(0.1, body))
    with terminal(monkeypatch, "stdout", "stderr") as shown:
        assert main(["stats"]) == 0
        before, _, after = shown.text.partition("the result")
        assert "stats: three steps" in before
        assert "a warning" in before
        assert "stats" not in after


def test_forked_processes_write_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)

    def body() -> None:
        time.sleep(0.2)
        if not (child := os.fork()):
            progress.stage("nothing")
            print("from the child", file=sys.stdout, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    use(monkeypatch, works(0, body))
    with terminal(monkeypatch, "stdout", "stderr") as shown:
        assert main(["stats"]) == 0
        assert "from the child" in shown.text


def test_stages_of_a_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All stages are named; with a terminal they are drawn."""
    scalatrace.save(stencil(), tmp_path / "a.st")
    named: list[str] = []
    monkeypatch.setattr(progress._Activity, "set", lambda self, text, done, total: named.append(text))
    with terminal(monkeypatch, "stderr"):
        assert main(["simulate", str(tmp_path / "a.st"), "--platform", "cluster", "--json"]) == 0
    listed = list(dict.fromkeys(filter(None, named)))
    assert listed == [
        "reading",
        "lowering the calls to messages",
        "simulating 4 ranks",
        "runs with drawn times",
        "tolerance of latency",
    ]
