"""Operations: variants share the facts of their blocking form; others read no letters of names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scalatrace
from scalatrace.operations import Category, Meeting, Mode, blocking_name, is_collective, operation

SPELLING = re.compile(
    r"""(removesuffix|endswith)\("(_c|_init|_begin)"\)|startswith\("I"\)|"(mprobe|bsend|mrecv)" in""",
    re.IGNORECASE,
)
"""Tests of the letters of an operation's name."""

MAY_READ_NAMES = {"operations.py", "pmpi"}
"""The table itself, and what makes wrappers from the standard's list."""


@pytest.mark.parametrize(
    ("name", "meeting", "synchronises"),
    [
        ("Allreduce", Meeting.ALL, True),
        ("Iallreduce", Meeting.ALL, False),
        ("Allreduce_init", Meeting.ALL, False),
        ("Allreduce_c", Meeting.ALL, True),
        ("Bcast", Meeting.SOME, False),
        ("Neighbor_alltoallw", Meeting.SOME, False),
        ("Comm_dup", Meeting.SETUP, True),
        ("Comm_idup", Meeting.SETUP, False),
        ("Win_create_dynamic", Meeting.SETUP, True),
        ("Comm_free", Meeting.LOOSE, False),
        ("File_write_at_all", Meeting.LOOSE, False),
        ("File_write_all_begin", Meeting.LOOSE, False),
        ("File_write_all_end", Meeting.NONE, False),
        ("File_write", Meeting.NONE, False),
        ("Send", Meeting.NONE, False),
    ],
)
def test_meetings(name: str, meeting: Meeting, synchronises: bool) -> None:
    row = operation(name)
    assert (row.meeting, row.synchronises) == (meeting, synchronises)
    assert is_collective(name) == (meeting is not Meeting.NONE)


@pytest.mark.parametrize(
    ("name", "mode", "blocking"),
    [
        ("Send", Mode.STANDARD, "Send"),
        ("Ibsend", Mode.BUFFERED, "Bsend"),
        ("Ssend_init", Mode.SYNCHRONOUS, "Ssend"),
        ("Irsend_c", Mode.READY, "Rsend"),
        ("Isendrecv", Mode.STANDARD, "Sendrecv"),
    ],
)
def test_modes_are_those_of_all_variants(name: str, mode: Mode, blocking: str) -> None:
    assert operation(name).mode is mode
    assert blocking_name(name) == blocking


def test_matched_messages() -> None:
    assert all(operation(name).matched for name in ("Mprobe", "Improbe", "Mrecv", "Imrecv"))
    assert not any(operation(name).matched for name in ("Probe", "Iprobe", "Recv", "Irecv"))
    assert operation("Improbe").is_matched_probe
    assert not operation("Imrecv").is_matched_probe
    assert operation("Imrecv").category is Category.RECV


def test_no_other_module_reads_the_letters_of_names() -> None:
    root = Path(scalatrace.__file__).parent
    tops = [top for top in root.iterdir() if top.name not in MAY_READ_NAMES]
    sources = [path for top in tops for path in (top.resolve().rglob("*.py") if top.is_dir() else [top])]
    assert len(sources) > 500
    found = [
        f"{path}:{number}"
        for path in sources
        if path.suffix == ".py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SPELLING.search(line)
    ]
    assert found == []
