"""The options and the file that say which calls are recorded, and their mistakes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from scalatrace.errors import UsageError
from scalatrace.ops import Category, operation
from scalatrace.pmpi import rules
from scalatrace.pmpi.standard import procedures
from scalatrace.record.__main__ import arguments, options_of
from scalatrace.record.operations import choose
from scalatrace.record.policy import from_toml
from scalatrace.record.selection import Selection, parse_size, parse_window
from support.running import run

FILE = """
[selection]
only = ["p2p", "I*cast"]
except = ["Probe"]
only_sites = ["solver.py:10-40", "halo.py"]
min_bytes = "1k"
max_bytes = 4096
windows = ["0.5-2", "10-"]
communicators = ["world", "row*"]
"""


def _options(*words: str) -> Selection:
    parser = argparse.ArgumentParser()
    arguments(parser)
    return options_of(parser.parse_args([*words, "app"])).policy.selection


def test_file_and_options(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILE)
    selection = from_toml(tmp_path / "p.toml").selection
    assert selection.meta() == {
        "selection": "only=p2p,I*cast except=Probe only-sites=solver.py:10-40,halo.py min-bytes=1024"
        " max-bytes=4096 window=0.5-2,10- communicators=world,row*"
    }
    assert selection == _options("--policy", str(tmp_path / "p.toml"))
    changed = _options(
        "--policy", str(tmp_path / "p.toml"), "--only", "Send", "--window", "-3", "--min-bytes", "0"
    )
    assert (changed.only, changed.windows, changed.min_bytes) == (["Send"], [(0.0, 3.0)], 0)
    assert changed.communicators == ["world", "row*"]


def test_nothing_selected_is_nothing_said() -> None:
    assert Selection().meta() == {}
    assert not any(Selection().environment(queries=False).values())


def test_groups_hold_every_operation() -> None:
    """No event is in no group, so none can be out of reach."""
    events = {p.op for p in procedures() if rules.is_event(p)}
    assert not [op for op in events if operation(op).category is Category.OTHER]
    whole = choose([], [], queries=False)
    assert sorted(whole) == sorted({p.op for p in procedures() if rules.is_event(p) and not rules.role(p)})
    groups = [choose([group], [], queries=False) for group in ("p2p", "collective", "rma", "io", "comm")]
    assert sorted(whole) == sorted(op for group in groups for op in group)


@pytest.mark.parametrize(
    ("only", "excluded", "chosen"),
    [
        (["Send", "mpi_isend"], [], ["Isend", "Send"]),
        (["[IB]send"], [], ["Bsend", "Isend"]),
        (["*send"], ["i*"], ["Bsend", "Rsend", "Send", "Ssend"]),
        (["Mrecv"], [], ["Improbe", "Mprobe"]),
        (["File_write_all_*"], ["*_end"], []),
        (["comm"], [], []),
    ],
)
def test_operations(only: list[str], excluded: list[str], chosen: list[str]) -> None:
    if not chosen and excluded:
        with pytest.raises(UsageError, match="leaves no operation"):
            choose(only, excluded, queries=False)
    else:
        assert choose(only, excluded, queries=False) == chosen


def test_sizes_and_windows() -> None:
    assert [parse_size(text) for text in (7, "64", "4k", "2MB", "1G")] == [7, 64, 4096, 2 << 20, 1 << 30]
    assert [parse_window(text) for text in ("1-2.5", "3-", "-.5")] == [(1, 2.5), (3, None), (0, 0.5)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--only Sned", "called 'Sned'; near it: Send"),
        ("--only collectives", "near it: collective"),
        ("--except X*", "no MPI operation is called"),
        ("--only Wait", "MPI_Wait is recorded with the call that made its request"),
        ("--except Comm_dup", "MPI_Comm_dup is always recorded"),
        ("--only types", "recorded only with --record-queries"),
        ("--only Send --except p2p", "leaves no operation"),
        ("--only Send,,Recv", "not a list of words"),
        ("--only-sites a.py --stacks none", "not --stacks none"),
        ("--except-sites a.py:9-3", "not of the form FILE:FIRST-LAST"),
        ("--min-bytes 1x", "not a number of bytes"),
        ("--max-bytes -1", "not a number of bytes"),
        ("--min-bytes 2k --max-bytes 1k", "at least 2048 and at most 1024"),
        ("--window 3", "not a window of time"),
        ("--window 3-2", "not a window of time"),
        ("--window -", "not a window of time"),
        ("--communicators ,", "not a list of words"),
    ],
)
def test_mistakes(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _options(*words.replace(" -1", "=-1").replace("w -", "w=-").split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lines = 3", "has only, except"),
        ("only = 'Send'", "only of .selection. is a list of strings"),
        ("min_bytes = true", "min_bytes of .selection. is a number"),
        ("windows = [3]", "windows of .selection. is a list"),
        ("only = ['Send', '']", "not a list of words"),
    ],
)
def test_mistakes_in_the_file(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(f"[selection]\n{content}")
    with pytest.raises(UsageError, match=message):
        from_toml(tmp_path / "p.toml")


def test_a_mistake_ends_before_the_program_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    done = run([sys.executable, "-m", "scalatrace.record", "--only", "Sned", "--", "touch", ran])
    assert done.returncode == 2
    assert "near it: Send" in done.stderr
    assert not ran.exists()
