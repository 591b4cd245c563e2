"""The commands as a user meets them: output, JSON, exit status, one clear line for every mistake."""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.parsing import MAX_EXAMPLES, Parser, subparsers_of
from scalatrace.cli.registry import ALIASES, COMMANDS, GROUPS, MODES, Command, find
from support.builder import stencil
from support.drawing import complaint_of


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    path = tmp_path / "stencil.st"
    scalatrace.save(stencil(), path)
    return path


def output(capsys: pytest.CaptureFixture[str], *argv: object, status: int = 0) -> str:
    assert main([str(a) for a in argv]) == status
    return capsys.readouterr().out


MAX_HELP_LINES, HELP_COLUMNS = 2 * 24, 80
"""Two screens."""

each_command = pytest.mark.parametrize("command", [*COMMANDS, *MODES], ids=lambda c: c.name)


def parsers_of(command: Command) -> dict[str, Parser]:
    """Return the parsers of a command and of its actions by the words that choose them."""
    parser = parser_of(command)[1]
    actions = {f"{command.name} {name}": action for name, action in subparsers_of(parser).items()}
    return {command.name: parser, **actions}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(HELP_COLUMNS))


def screen_lines(text: str) -> int:
    """Return how many lines of a terminal a text takes: long lines are wrapped."""
    return sum(max(1, -(-len(line) // HELP_COLUMNS)) for line in text.splitlines())


@pytest.mark.usefixtures("terminal")
@each_command
def test_help_fits_two_screens_and_help_all_has_the_rest(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, parser in parsers_of(command).items():
        assert screen_lines(helped(capsys, *name.split(), "--help")) <= MAX_HELP_LINES
        full = helped(capsys, *name.split(), "--help-all")
        shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        assert all(option in full for action in shown for option in action.option_strings)


@pytest.mark.usefixtures("terminal")
def test_help_has_the_first_examples_and_help_all_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    examples = importlib.import_module("scalatrace.cli.extrapolate").EXAMPLE.splitlines()
    assert len(examples) > MAX_EXAMPLES
    short, full = (helped(capsys, "extrapolate", option) for option in ("--help", "--help-all"))
    assert [line for line in examples if line in short] == examples[:MAX_EXAMPLES]
    assert all(line in full for line in examples)
    assert "usage: scalatrace extrapolate [options] trace [trace ...]" in short


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    return capsys.readouterr().out


def test_help_all_without_a_command_lists_modes_and_former_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    usual = capsys.readouterr().out
    assert main(["--help-all"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(usual.rstrip())
    for name in (*(mode.name for mode in MODES), *ALIASES):
        assert f"\n  {name} " in shown[len(usual) - 1 :]


def test_help_leaves_out_further_options(capsys: pytest.CaptureFixture[str]) -> None:
    shown = helped(capsys, "stats", "--help")
    for option in ("--by", "--json", "--help-all"):
        assert option in shown
    for option in ("--max-memory", "--names", "--plugin", "columns of --csv,"):
        assert option not in shown


@each_command
def test_every_command_explains_itself_with_an_example(command: Command) -> None:
    module, parser = parser_of(command)
    assert module.__doc__ is not None
    assert " ".join(module.__doc__.split("\n\n")[0].split()) in " ".join(parser.format_help().split())
    for name, one in parsers_of(command).items():
        examples = one.format_help().partition("\nexample:\n")[2]
        assert f"scalatrace {name}" in examples


@each_command
def test_every_command_prints_json(command: Command) -> None:
    for parser in parsers_of(command).values():
        assert "--json" in parser._option_string_actions or subparsers_of(parser)


def test_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output(capsys, "--help")
    assert all(command.summary in shown for command in COMMANDS)
    assert len(shown.splitlines()) <= MAX_HELP_LINES
    assert max(map(len, shown.splitlines())) <= HELP_COLUMNS
    table = shown.partition("\nscalatrace <command>")[0]
    titles = [line[2:11].strip() for line in table.splitlines() if re.match(r"  [a-z]", line)]
    assert titles == [group.title for group in GROUPS]


def test_former_names_are_in_no_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert not {command.name for command in COMMANDS} & set(ALIASES)
    table = output(capsys, "--help").partition("\nscalatrace <command>")[0]
    listed = set(re.findall(r"^ [ \w-]{12}(\w+)", table, re.MULTILINE))
    assert listed == {command.name for command in COMMANDS}
    assert not listed & set(ALIASES)
    assert all(find(name) is not None for name in ALIASES)


@pytest.mark.parametrize(("former", "words"), [(name, words.split()) for name, words in ALIASES.items()])
def test_former_names_have_the_help_of_todays(
    former: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert helped(capsys, former, "--help") == helped(capsys, *words, "--help")


def test_overview_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from scalatrace.cli import main; main(['--help']);"
        "print([m for m in ('rich', 'numpy', 'scipy', 'lark', 'mpi4py', 'msgpack') if m in sys.modules])"
    )
    assert min(_cpu_seconds(code) for _ in range(3)) < 0.3


def _cpu_seconds(code: str) -> float:
    """Processor time, which does not depend on what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "[]"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "--version").splitlines()
    assert lines[0] == f"scalatrace {scalatrace.__version__}"
    facts = json.loads(output(capsys, "--version", "--json"))
    assert facts["scalatrace"] == scalatrace.__version__
    assert lines[1] == f"trace format {facts['trace_format']}, text form {facts['text_form']}"
    assert lines[2].startswith(f"Python {platform.python_version()}, ")
    assert lines[3].startswith("MPI")
    assert "did you mean --json?" in complaint_of(capsys, "--version", "--jsn", status=2)


def test_no_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2


def test_unknown_command_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean stats?" in complaint_of(capsys, "stat", status=2)


def test_unknown_option_is_wrong_usage(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    assert "no option --colour" in complaint_of(capsys, "info", trace_file, "--colour", status=2)


@pytest.mark.parametrize("command", ["info", "show", "stats", "matrix"])
def test_missing_and_damaged_files(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "nowhere.st" in complaint_of(capsys, command, tmp_path / "nowhere.st", status=1)
    damaged = tmp_path / "damaged.st"
    damaged.write_bytes(b"\x89STRC\r\n\x1a" + bytes(40))
    assert "damaged.st" in complaint_of(capsys, command, damaged, status=1)


def test_info(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    facts = json.loads(output(capsys, "info", trace_file, "--json"))
    assert (facts["nprocs"], facts["events"], facts["nodes"]) == (4, 4 * 31, 5)
    assert facts["events_per_rank"] == {"min": 31, "max": 31}
    assert facts["file_bytes"] == trace_file.stat().st_size
    assert facts["communicators"][0] == {"family": 0, "kind": "world", "parent": -1, "sizes": [4]}
    shown = output(capsys, "info", trace_file)
    assert "124 calls (31 per rank)" in shown
    assert "by hand" in shown
    assert "payload" not in shown
    complete = output(capsys, "info", trace_file, "--all")
    assert "124 (31 per rank)" in complete
    assert "payload" in complete


def test_show_text_packs_to_an_equal_trace(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    text = trace_file.with_suffix(".txt")
    text.write_text(output(capsys, "show", trace_file, "--text"))
    packed = trace_file.with_name("packed.st")
    output(capsys, "pack", text, "-o", packed)
    assert scalatrace.load(packed) == scalatrace.load(trace_file)
    assert output(capsys, "diff", trace_file, packed).strip() == "equal"


def test_pack_names_the_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = tmp_path / "bad.txt"
    text.write_text("scalatrace trace 1\nnprocs many\n")
    assert "bad.txt:2" in complaint_of(capsys, "pack", text, "-o", tmp_path / "x.st", status=1)
    assert not (tmp_path / "x.st").exists()


def test_show_rank(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    lines = output(capsys, "show", trace_file, "--rank", 3, "--limit", 2).splitlines()
    assert [line.split()[1] for line in lines] == ["Irecv", "Isend"]
    assert "dest=0" in lines[1]
    calls = [
        json.loads(line) for line in output(capsys, "show", trace_file, "--rank", 3, "--json").splitlines()
    ]
    assert len(calls) == 31
    assert calls[1]["dest"] == 0
    assert calls[1]["datatype"] == {"description": "MPI_DOUBLE", "size": 8, "extent": 8}
    assert calls[2]["requests"] == [1, 0]


def test_show_refuses_ranks_that_are_not_there(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    assert "rank 9" in complaint_of(capsys, "show", trace_file, "--rank", 9, status=2)


def test_stats(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    rows = json.loads(output(capsys, "stats", trace_file, "--json"))["rows"]
    by_op = {row["operation"]: row for row in rows}
    assert by_op["Isend"]["calls"] == 40
    assert by_op["Isend"]["bytes_sent"] == 40 * 800
    assert by_op["Irecv"]["bytes_received"] == 40 * 800
    assert by_op["Isend"]["compute_ns"] == 40 * 2000
    shown = output(capsys, "stats", trace_file, "--by", "site")
    assert "halo.py:11:exchange" in shown
    assert "124 calls" in shown
    ranks = json.loads(output(capsys, "stats", trace_file, "--by", "rank", "--json"))["rows"]
    assert [row["calls"] for row in ranks] == [31] * 4


def test_matrix(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    facts = json.loads(output(capsys, "matrix", trace_file, "--json"))
    assert facts["matrix"] == [[8000 if j == (i + 1) % 4 else 0 for j in range(4)] for i in range(4)]
    rows = list(
        csv.DictReader(io.StringIO(output(capsys, "matrix", trace_file, "--csv", "--what", "messages")))
    )
    assert {(row["sender"], row["receiver"], row["messages"]) for row in rows} == {
        (str(i), str((i + 1) % 4), "10") for i in range(4)
    }


def test_diff_tells_where_and_exits_1(capsys: pytest.CaptureFixture[str], trace_file: Path) -> None:
    changed = trace_file.with_name("changed.st")
    text = output(capsys, "show", trace_file, "--text").replace("count=100", "count=101", 1)
    trace_file.with_suffix(".txt").write_text(text)
    output(capsys, "pack", trace_file.with_suffix(".txt"), "-o", changed)
    shown = output(capsys, "diff", trace_file, changed, status=1)
    assert "rank 0, event 1" in shown
    assert "count=101" in shown
    found = json.loads(output(capsys, "diff", trace_file, changed, "--json", status=1))
    assert [d["rank"] for d in found["differences"]] == [0, 1, 2, 3]
    assert output(capsys, "diff", trace_file, changed, "--ignore", "count").strip() == "equal"
    assert "nonsense" in complaint_of(capsys, "diff", trace_file, changed, "--ignore", "nonsense", status=2)


def test_verify_without_logs(capsys: pytest.CaptureFixture[str], trace_file: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    shown = output(capsys, "verify", trace_file, tmp_path / "logs", status=1)
    assert "rank 0: there is no flat log of it" in shown


def test_output_to_a_closed_pipe_is_no_error_of_ours(trace_file: Path) -> None:
    command = (
        f"{sys.executable} -m scalatrace show {trace_file} --rank 0 | head -n 1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Irecv" in done.stdout
    assert done.stderr == ""


def test_replay_without_handlers_or_with_other_ranks(tmp_path: Path, trace_file: Path) -> None:
    """One process is no MPI job of four ranks; it must say so and do nothing else."""
    pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    command = [sys.executable, "-m", "scalatrace", "replay", str(trace_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the trace is of 4 ranks, this is 1" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "option",
    ["--json", "--csv", "--names", "--plot", "--no-compress", "--max-memory", "--launcher", "--plugin"],
)
def test_common_options_are_declared_in_one_place(option: str) -> None:
    folder = Path(scalatrace.__file__).parent / "cli"
    declaring = [
        path.name
        for path in folder.glob("*.py")
        if re.search(rf'add_argument\(\s*"{option}"', path.read_text())
    ]
    assert len(declaring) == 1
