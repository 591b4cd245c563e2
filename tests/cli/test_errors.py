"""User errors of the commands: each message names what is wrong, where, and what to do next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from support.builder import stencil

#: Command line, exit status, what the message names, its next step. Files are relative to the test's folder.
MISTAKES = [
    # command line
    ("statz a.st", 2, "statz", "did you mean stats?"),
    ("frobnicate", 2, "frobnicate", "see scalatrace --help"),
    ("stats a.st --by size", 2, "--by", "choose from 'op', 'site', 'memory', 'thread', 'rank'"),
    ("stats a.st --limit many", 2, "--limit", "'many' is not an integer of at least 1"),
    # files
    ("info none.st", 1, "none.st", "check the path"),
    ("info folder", 1, "folder", "give a file"),
    ("show text.st", 1, "text.st", "give a .st file"),
    ("matrix cut.st", 1, "cut.st", "copy or record it again"),
    ("stats flipped.st", 1, "flipped.st", "copy or record it again"),
    ("diff a.st version.st", 1, "version.st", "use the scalatrace that wrote it"),
    ("pack bad.txt -o x.st", 1, "bad.txt:2:8", "expected an integer"),
    ("pack a.st -o x.st", 1, "a.st", "text form of a trace"),
    ("verify a.st none", 1, "none", "check the path"),
    ("verify a.st bad.txt", 1, "bad.txt", "give a folder"),
    ("merge none.st.parts", 2, "none.st.parts", "check the path"),
    ("merge folder", 2, "folder", "with -o FILE"),
    ("merge folder -o x.st", 2, "folder", "give the folder FILE.st.parts"),
    ("instantiate none.stx -P 4 -o x.st", 1, "none.stx", "check the path"),
    # ranks, parameters and options
    ("show a.st --rank 9", 2, "rank 9", "give one of its ranks: 0 to 3"),
    ("show a.st --text --json", 2, "--text", "leave out --json"),
    ("stats a.st --json --csv", 2, "--csv", "not allowed with argument --json"),
    ("diff a.st a.st --ignore colour", 2, "--ignore colour", "give callsites, times, comms"),
    ("extrapolate a.st a.st -P 8", 2, "file for the result", "give -o FILE"),
    ("extrapolate a.st a.st -o x.st", 2, "size of the result", "give -P N or --dims XxY"),
    ("extrapolate a.st a.st --dims 3y4 -o x.st", 2, "--dims 3y4", "such as 8x4"),
    ("extrapolate a.st a.st --dims-of 2x2,4x -P 8 -o x.st", 2, "--dims-of 4x", "such as 8x4"),
    ("extrapolate a.st a.st -P 8 --param n -o x.st", 2, "--param n", "give NAME=VALUE"),
    ("extrapolate a.st a.st -P 8 --inputs n=1,2,3 -o x.st", 2, "--inputs n=1,2,3", "one for each trace"),
    ("extrapolate a.st a.st -P 8 --run-noise 2 -o x.st", 2, "--run-noise 2", "from 0 to below 1"),
    ("extrapolate a.st a.st -P 8 --snippets s -o x.st", 2, "--snippets", "add --lossy"),
    ("extrapolate a.st a.st --check --lossy", 2, "--check", "leave --lossy out"),
    ("generate a.st --to c --json", 2, "--json", "with -o FILE"),
    ("generate a.st --to c --timing-model linear", 2, "--timing-model", "leave them out"),
    # recording
    ("record", 2, "no program", "give it after the options"),
    ("record -- no-such-program", 2, "no-such-program", "check its path"),
    ("record -o none/x.st -- true", 2, "-o none/x.st", "create it or give another path"),
    ("record -o folder -- true", 2, "-o folder", "give the path of a file"),
    ("record --flat-log bad.txt -- true", 2, "--flat-log bad.txt", "give another one"),
    ("record --stack-depth 0 -- true", 2, "--stack-depth 0", "from 1 to 128"),
    ("record --checkpoint -1 -- true", 2, "--checkpoint -1", "or 0 for none"),
    ("record --meta author -- true", 2, "--meta author", "give NAME=VALUE"),
    ("record --stat bogus -- true", 2, "--stat: unknown statistic 'bogus'", "give cpu"),
    ("record --parameter count=some -- true", 2, "--parameter: 'some'", "give keep, drop"),
    ("record --window 2-1 -- true", 2, "--window: '2-1'", "give seconds"),
    ("record --min-bytes 4x -- true", 2, "--min-bytes: '4x'", "such as 64, 4k"),
    ("record --only Sned -- true", 2, "--only Sned", "did you mean Send"),
    ("record --policy none.toml -- true", 2, "--policy none.toml", "check the path"),
    ("record --policy policy.toml -- true", 2, "--policy policy.toml: [selection] only = 3", "give a list"),
]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scalatrace.save(stencil(), "a.st")
    data = Path("a.st").read_bytes()
    Path("cut.st").write_bytes(data[:-5])
    Path("flipped.st").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    Path("version.st").write_bytes(data[:8] + b"\x63\0" + data[10:])
    Path("text.st").write_text("not a trace")
    Path("bad.txt").write_text("scalatrace trace 1\nnprocs many\n")
    Path("policy.toml").write_text("[selection]\nonly = 3\n")
    Path("folder").mkdir()


@pytest.mark.parametrize(("command", "status", "named", "step"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_message_names_the_mistake_and_the_next_step(
    command: str, status: int, named: str, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == status
    message = capsys.readouterr().err.splitlines()[-1]
    assert re.match(r"scalatrace( \w+)?: ", message)
    assert named in message
    assert step in message
    assert "Traceback" not in message
    assert not Path("x.st").exists()
