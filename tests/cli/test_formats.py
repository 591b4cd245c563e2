"""Every command prints plain text into pipes, JSON with --json, and its tables as documented CSV."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.parsing import subparsers_of
from scalatrace.cli.registry import COMMANDS, MODES, Command
from support.command_lines import FORMER_LINES, LINES, UNDER_MPI, prepare
from support.terminals import terminal

FINDING = {"diff", "resolve", "diff --logs", "verify"}
"""Commands that find a difference or something missing here: status 1."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    prepare(folder)
    return folder


@pytest.fixture(autouse=True)
def in_folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def output(capsys: pytest.CaptureFixture[str], name: str, *options: str) -> str:
    words = {**LINES, **FORMER_LINES}[name].split()
    capsys.readouterr()
    status = main([*words, *options])
    captured = capsys.readouterr()
    assert status == (name in FINDING) or name == "doctor", captured.err
    return captured.out


def has(command: Command, option: str) -> bool:
    _, parser = parser_of(command)
    return any(option in one._option_string_actions for one in (parser, *subparsers_of(parser).values()))


def test_every_command_has_a_line_here() -> None:
    names = {command.name for command in (*COMMANDS, *MODES)}
    assert set(LINES) | UNDER_MPI == names
    assert not set(LINES) & UNDER_MPI


@pytest.mark.parametrize("command", [*COMMANDS, *MODES], ids=lambda c: c.name)
def test_every_command_has_json(command: Command) -> None:
    assert has(command, "--json")


def imported(module: str) -> set[str]:
    """Modules that a module imports, also in functions."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    found = set()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def prints_table(module: str) -> bool:
    """Whether a command imports a reporter that draws tables, by itself or by another reporter."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        names = imported(waiting.pop())
        if "scalatrace.report.style.text_table" in names:
            return True
        further = {name for name in names - seen if name.startswith("scalatrace.report.")}
        seen |= further
        waiting += [name for name in further if "page" not in name and _is_module(name)]
    return False


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a name in a module
        return False


@pytest.mark.parametrize("command", [*COMMANDS, *MODES], ids=lambda c: c.name)
def test_commands_with_tables_have_csv(command: Command) -> None:
    assert has(command, "--csv") == prints_table(f"scalatrace.cli.{command.module}")


def test_tables_have_one_style() -> None:
    """Only `style.text_table` makes tables."""
    folder = Path(__file__).parents[2] / "scalatrace"
    makers = []
    for path in folder.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        imports = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "rich.table")
        names = {name.asname or name.name for node in imports for name in node.names}
        called = (
            node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        if names & set(called):
            makers.append(str(path.relative_to(folder)))
    assert makers == ["report/style.py"]


@pytest.mark.parametrize("name", sorted(set(LINES) - {"completion"}))
def test_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(output(capsys, name, "--json"))


@pytest.mark.parametrize("name", FORMER_LINES)
def test_former_names_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(output(capsys, name, "--json"))


WITH_CSV = [command for command in (*COMMANDS, *MODES) if command.name in LINES and has(command, "--csv")]


@pytest.mark.parametrize("command", WITH_CSV, ids=lambda c: c.name)
def test_csv(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """The columns are those that the help lists, and rows have as many values."""
    head, *rows = csv.reader(io.StringIO(output(capsys, command.name, "--csv")))
    _, parser = parser_of(command)
    listed = parser.format_full_help().partition("columns of --csv")[2]
    assert rows
    assert all(len(row) == len(head) for row in rows)
    assert all(re.search(rf"^  {name}( |$)", listed, re.MULTILINE) for name in head)
    assert len(set(head)) == len(head)


def test_csv_and_json_have_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(output(capsys, "stats", "--csv"))))
    facts = json.loads(output(capsys, "stats", "--json"))["rows"]
    assert [{name: str(value) for name, value in row.items() if value is not None} for row in facts] == [
        {name: value for name, value in row.items() if value} for row in rows
    ]


@pytest.mark.parametrize("options", ["--rank 1", "--notation", "--depth 1"])
def test_forms_of_show(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = csv.reader(io.StringIO(output(capsys, "show", *options.split(), "--csv")))
    assert {len(row) for row in rows} == {len(head)}
    lines = output(capsys, "show", *options.split(), "--json")
    facts = [json.loads(line) for line in lines.splitlines()] if "--rank" in options else json.loads(lines)
    count = {"--rank 1": lambda: len(facts), "--notation": lambda: len(facts["events"]),
             "--depth 1": lambda: len(facts["nodes"])}[options]()  # fmt: skip
    assert len(rows) == count


def test_show_has_every_node(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = json.loads(output(capsys, "show", "--json"))["nodes"]
    facts = json.loads(output(capsys, "info", "--json"))
    assert [node["node"] for node in nodes] == list(range(1, facts["nodes"] + 1))
    assert all(nodes[node["parent"] - 1]["operation"] == "" for node in nodes if node["parent"])
    formulas = main(["show", "ring.stx", "--json"])
    assert formulas == 0
    assert json.loads(capsys.readouterr().out)["lines"]


@pytest.mark.parametrize("name", sorted(LINES))
def test_pipes_get_plain_lines(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No control sequences; lines are as long as they need to be, whatever the terminal's width."""
    monkeypatch.setenv("COLUMNS", "40")
    narrow = output(capsys, name)
    monkeypatch.setenv("COLUMNS", "100")
    assert output(capsys, name) == narrow or name == "check"
    assert "\x1b" not in narrow


@pytest.mark.parametrize("name", ["info", "stats", "diff", "show", "simulate", "extrapolate"])
def test_call_sites_are_not_broken(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    site = "ring.py:4:turn"
    lines = output(capsys, name).splitlines()
    assert any(site in line for line in lines)
    assert all(len(line) - len(line.lstrip()) < 30 or not line.strip() for line in lines)


@pytest.mark.parametrize("name", sorted(set(LINES) - {"completion"}))
def test_no_color(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stdout") as shown:
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(LINES[name].split()) in (0, 1)
        assert "\x1b[" not in shown.text


def test_terminals_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stdout") as shown:
        assert main(["stats", "a.st"]) == 0
        assert "\x1b[" in shown.text
