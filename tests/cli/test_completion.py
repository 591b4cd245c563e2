"""The completion of shells knows every command, its options and choices."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.cli.completion import SHELLS, whole_parser
from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.parsing import subparsers_of
from scalatrace.cli.registry import COMMANDS
from support.drawing import json_of


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "scalatrace.bash"
    done = subprocess.run(
        [sys.executable, "-m", "scalatrace", "completion", "bash"], capture_output=True, text=True, check=True
    )
    path.write_text(done.stdout)
    return path


def completed(script: Path, folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    line = " ".join(words)
    program = f"""
        source {script}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
        COMP_LINE='{line}'; COMP_POINT={len(line)}
        _shtab_scalatrace
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, cwd=folder, timeout=60
    )
    return {word.strip() for word in done.stdout.split("\n") if word.strip()}


def test_json_has_all_commands_and_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {command["name"]: command for command in json_of(capsys, "completion")["commands"]}
    assert list(commands) == [command.name for command in COMMANDS]
    (by,) = (one for one in commands["stats"]["arguments"] if "--by" in one["names"])
    assert {"op", "site", "rank"} <= set(by["choices"])
    (trace,) = (one for one in commands["stats"]["arguments"] if one["names"] == ["trace"])
    assert trace["path"] == "file"
    assert [action["name"] for action in commands["ncptl"]["actions"]] == [
        "ncptl check", "ncptl run", "ncptl compile"
    ]  # fmt: skip


@pytest.mark.parametrize("words", [[], ["bash", "--json"]])
def test_a_shell_or_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", *words]) == 2
    assert "give a shell (bash, zsh, tcsh), or --json" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_bash(command: object, script: Path, tmp_path: Path) -> None:
    name = command.name  # type: ignore[attr-defined]
    assert name in completed(script, tmp_path, "scalatrace", name[:3])
    _, parser = parser_of(command)  # type: ignore[arg-type]
    actions = subparsers_of(parser)
    assert set(actions) <= completed(script, tmp_path, "scalatrace", name, "")
    for mode in command.modes:  # type: ignore[attr-defined]
        options = parser_of(mode)[1]._option_string_actions
        assert {mode.option, *options} - {"-o", "-h"} <= completed(script, tmp_path, "scalatrace", name, "--")
    given = {option for option in parser._option_string_actions if option.startswith("--")}
    hidden = {
        one for action in parser._actions if action.help == "==SUPPRESS==" for one in action.option_strings
    }
    assert given - hidden <= completed(script, tmp_path, "scalatrace", name, "--")
    for action in parser._actions:
        if action.option_strings and action.choices:
            offered = completed(script, tmp_path, "scalatrace", name, action.option_strings[-1], "")
            assert set(map(str, action.choices)) <= offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_files_and_folders(script: Path, tmp_path: Path) -> None:
    (tmp_path / "app.st").touch()
    (tmp_path / "app.st.parts").mkdir()
    assert completed(script, tmp_path, "scalatrace", "info", "ap") == {"app.st", "app.st.parts"}
    assert completed(script, tmp_path, "scalatrace", "simulate", "app.st", "--platform", "app.st") == {
        "app.st",
        "app.st.parts",
    }
    assert completed(script, tmp_path, "scalatrace", "merge", "a") == {"app.st.parts"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(command.name in text for command in COMMANDS)
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True, timeout=60)


def test_paths_are_marked() -> None:
    """Every input and output is completed by files or folders."""
    parsers = subparsers_of(whole_parser())
    outputs = [(name, p._option_string_actions["--output"]) for name, p in parsers.items()
               if "--output" in p._option_string_actions]  # fmt: skip
    assert len(outputs) > 10
    assert [name for name, action in outputs if not hasattr(action, "complete")] == []
    unmarked = [
        (name, action.dest)
        for name, parser in parsers.items()
        for action in parser._get_positional_actions()
        if not action.choices and not hasattr(action, "complete")
    ]
    assert unmarked == [("record", "program"), ("models", "operations")]
