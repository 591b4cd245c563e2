"""Operations: variants share the facts of their blocking form; others read no letters of names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scalatrace
from scalatrace.codegen.passes.whatif import BY_MESSAGES, SUFFIX
from scalatrace.compilers.timed import TIMED_COLLECTIVES
from scalatrace.operations import (
    BLOCKING_COLLECTIVES,
    COLLECTIVE_NAMES,
    Category,
    Meeting,
    Mode,
    blocking_name,
    is_collective,
    operation,
)
from scalatrace.replay.calls.by_messages import ROUNDS
from support.mpis import ROOT

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


@pytest.mark.parametrize(
    ("name", "collective", "block", "equal"),
    [
        ("Ibcast", "bcast", "count", True),
        ("Exscan", "scan", "count", True),
        ("Gather", "gather", "sendcount", False),
        ("Scatterv", "scatter", "recvcount", False),
        ("Allgather_init", "allgather", "recvcount", True),
        ("Alltoallv_c", "alltoall", "recvcounts", False),
        ("Reduce_scatter", "reduce_scatter", "recvcounts", False),
        ("Reduce_scatter_block", "reduce_scatter", "recvcount", True),
        ("Alltoallw", "alltoall", None, False),
        ("Barrier", "barrier", None, False),
        ("Neighbor_alltoall", "", None, False),
        ("Send", "", None, False),
    ],
)
def test_blocks_of_collectives(name: str, collective: str, block: str | None, equal: bool) -> None:
    row = operation(name)
    assert row.collective == collective
    assert (row.block.count if row.block else None) == block
    assert (row.equal_block is not None) == equal


def test_collectives_with_unequal_blocks() -> None:
    unequal = {name for name in BLOCKING_COLLECTIVES if operation(name).has_unequal_blocks}
    assert unequal == {"Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Alltoallw", "Reduce_scatter"}


def test_native_code_numbers_collectives_as_the_table_does() -> None:
    header = (ROOT / "scalatrace/executor/native/st_sim.h").read_text()
    names = re.findall(r"ST_SIM_(\w+)", header.partition("enum st_sim_collective {")[2].partition("}")[0])
    assert names == [*(name.upper() for name in COLLECTIVE_NAMES), "NCOLLECTIVES"]
    cases = (ROOT / "scalatrace/compilers/timed_calls.h").read_text().partition("switch (op) {")[2]
    called = re.findall(r"return MPI_(\w+)\(", cases.partition("\n}")[0])
    assert tuple(name.lower() for name in called) == TIMED_COLLECTIVES
    assert {operation(name).collective for name in called} == set(COLLECTIVE_NAMES)


def test_replays_and_generated_programs_issue_the_same_collectives_as_messages() -> None:
    for library in ("messages.c", "messages.py.in"):
        heads = re.findall(
            r"^[/#]+: (.*) \|", (ROOT / "codegen/emit/runtime" / library).read_text(), re.MULTILINE
        )
        names = {
            name.removesuffix(SUFFIX) for head in heads for name in head.split() if name.endswith(SUFFIX)
        }
        assert names == set(BY_MESSAGES) == set(ROUNDS)


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
