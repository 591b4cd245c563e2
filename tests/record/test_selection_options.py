"""The options and the file that say which calls are recorded, and their mistakes."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import pytest

from scalatrace.errors import UsageError
from scalatrace.operations import Category, operation
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import procedures
from scalatrace.record.__main__ import arguments, options_of
from scalatrace.record.policy import from_toml
from scalatrace.record.selection import CallSelection, choose, parse_size, parse_window
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


def _options(*words: str) -> CallSelection:
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
    assert CallSelection().meta() == {}
    assert not any(CallSelection().environment(queries=False).values())


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
        with pytest.raises(UsageError, match="leave no operation to record"):
            choose(only, excluded, queries=False)
    else:
        assert choose(only, excluded, queries=False) == chosen


def test_sizes_and_windows() -> None:
    assert [parse_size(text) for text in (7, "64", "4k", "2MB", "1G")] == [7, 64, 4096, 2 << 20, 1 << 30]
    assert [parse_window(text) for text in ("1-2.5", "3-", "-.5")] == [(1, 2.5), (3, None), (0, 0.5)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--only Sned", "Sned: no MPI operation has this name; did you mean Send"),
        ("--only collectives", "did you mean collective?"),
        ("--except X*", "--except X*: no MPI operation has this name; give a name"),
        ("--only Wait", "MPI_Wait is recorded with the call that created its request; name that call"),
        ("--except Comm_dup", "MPI_Comm_dup is always recorded"),
        ("--only types", "is a local query; add --record-queries to record it"),
        ("--only Send --except p2p", "leave no operation to record"),
        ("--only Send,,Recv", "--only: 'Send,,Recv' has an empty word; give words separated by commas"),
        ("--only-sites a.py --stacks none", "need call stacks: leave --stacks none out"),
        (
            "--except-sites a.py:9-3",
            "--except-sites: 'a.py:9-3' is not a range of lines; give FILE:FIRST-LAST",
        ),
        ("--min-bytes 1x", "--min-bytes: '1x' is not a number of bytes"),
        ("--max-bytes -1", "--max-bytes: '-1' is not a number of bytes"),
        ("--min-bytes 2k --max-bytes 1k", "--min-bytes 2048 exceeds --max-bytes 1024"),
        ("--window 3", "not a window of time"),
        ("--window 3-2", "not a window of time"),
        ("--window -", "not a window of time"),
        ("--communicators ,", "--communicators: ',' has an empty word"),
    ],
)
def test_mistakes(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        _options(*words.replace(" -1", "=-1").replace("w -", "w=-").split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lines = 3", "[selection] has no key 'lines'; give only, except"),
        ("only = 'Send'", "[selection] only = 'Send': give a list of strings"),
        ("min_bytes = true", "[selection] min_bytes = True: give a number of bytes"),
        ("windows = [3]", "[selection] windows = [3]: give a list of strings"),
        ("only = ['Send', '']", "has an empty word"),
    ],
)
def test_mistakes_in_the_file(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(f"[selection]\n{content}")
    with pytest.raises(UsageError, match=re.escape(message)):
        from_toml(tmp_path / "p.toml")


def test_a_mistake_ends_before_the_program_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    done = run([sys.executable, "-m", "scalatrace.record", "--only", "Sned", "--", "touch", ran])
    assert done.returncode == 2
    assert "did you mean Send" in done.stderr
    assert not ran.exists()
