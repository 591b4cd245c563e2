"""Rules of MPI libraries: the decisions of their sources, how a library is found, and what overrides it."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace.errors import UsageError
from scalatrace.predict.platform import AlgorithmRule, Platform, read_platform
from scalatrace.predict.platform.algorithms import algorithm_table
from scalatrace.predict.platform.library_rules import (
    THAKUR,
    LibraryRules,
    list_library_rules,
    recorded_rules,
    rules_of_library,
)
from support.builder import Builder, Comm
from support.drawing import json_of

OPEN_MPI = "Open MPI v5.0.8, package: Open MPI, ident: 5.0.8, repo rev: v5.0.8"
MPICH = "MPICH Version:      4.1.2\nMPICH Release date: Wed Jun  7 15:22:45 CDT 2023"
EVERY = (*list_library_rules(), THAKUR)


@pytest.mark.parametrize("rules", EVERY, ids=lambda rules: rules.name)
def test_each_table_decides_every_call(rules: LibraryRules) -> None:
    """Each operation has rules, and the last one has no condition."""
    assert set(rules.collectives) == set(algorithm_table())
    for operation, listed in rules.collectives.items():
        assert listed[-1] == AlgorithmRule(listed[-1].algorithm), operation
        assert all(rule.algorithm in algorithm_table()[operation] for rule in listed)
        assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("mpi", "name"),
    [
        (OPEN_MPI, "openmpi-4.1"),
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "openmpi-4.1"),
        ("Open MPI v4.0.3, package: Open MPI", "thakur"),
        ("Open MPI v6.0.0a1", "thakur"),
        (MPICH, "mpich-3.4"),
        ("MPICH Version:      3.3.2", "thakur"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "thakur"),
        ("CRAY MPICH version 8.1.29.17 (ANL base 3.4a2)", "thakur"),
        ("", "thakur"),
    ],
)
def test_the_recorded_library(mpi: str, name: str) -> None:
    assert recorded_rules(mpi).name == name


@pytest.mark.parametrize(
    ("call", "openmpi", "mpich"),
    [
        (("allreduce", 100, 4), "recursive_doubling", "rabenseifner"),
        (("allreduce", 1024, 64), "recursive_doubling", "rabenseifner"),
        (("allreduce", 1024, 200), "reduce_bcast", "recursive_doubling"),
        (("allreduce", 1 << 20, 200), "rabenseifner", "rabenseifner"),
        (("allreduce", 128, 40), "linear", "recursive_doubling"),
        (("allreduce", 16, 16), "recursive_doubling", "recursive_doubling"),
        (("bcast", 4096, 4096), "knomial", "binomial"),
        (("bcast", 1 << 19, 2048), "scatter_doubling", "scatter_doubling"),
        (("bcast", 1 << 19, 2047), "scatter_doubling", "scatter_allgather"),
        (("barrier", 0, 6), "linear", "dissemination"),
        (("barrier", 0, 300), "tree", "dissemination"),
        (("alltoall", 300, 600), "bruck", "linear"),
        (("alltoall", 1 << 20, 64), "pairwise", "pairwise"),
        (("allgather", 1000, 64), "neighbor_exchange", "recursive_doubling"),
        (("allgather", 1000, 600), "recursive_doubling", "ring"),
        (("scan", 8, 4), "linear", "recursive_doubling"),
    ],
)
def test_decisions_of_the_sources(call: tuple[str, int, int], openmpi: str, mpich: str) -> None:
    chosen = [Platform(mpi=mpi).algorithm(*call) for mpi in ("openmpi-5.0.8", "mpich")]
    assert chosen == [openmpi, mpich]


def test_calls_with_a_size_for_each_rank_have_their_own_rules() -> None:
    open_mpi, mpich = Platform(mpi="openmpi"), Platform(mpi="mpich")
    assert [open_mpi.algorithm("alltoall", 100_000, 16, lists) for lists in (False, True)] == ["linear"] * 2
    assert [open_mpi.algorithm("alltoall", 300, 600, lists) for lists in (False, True)] == [
        "bruck", "pairwise",
    ]  # fmt: skip
    assert [mpich.algorithm("gather", 8, 16, lists) for lists in (False, True)] == ["binomial", "linear"]


def test_conditions_of_rules() -> None:
    rules = (
        AlgorithmRule("gather_bcast", blocks="lists"),
        AlgorithmRule("ring", max_total_bytes=1000),
        AlgorithmRule("bruck", max_bytes_per_rank=10),
        AlgorithmRule("neighbor_exchange", power_of_two=True),
        AlgorithmRule("sparbit"),
    )
    platform = Platform(collectives={"allgather": rules})
    calls = [(100, 10, True), (100, 10, False), (109, 10, False), (200, 8, False), (200, 10, False)]
    assert [platform.algorithm("allgather", *call) for call in calls] == [rule.algorithm for rule in rules]
    with pytest.raises(UsageError, match="blocks is 'list'"):
        AlgorithmRule("ring", blocks="list")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("opnmpi", "mpi is 'opnmpi'; known: thakur, mpich, openmpi; did you mean openmpi"),
        ("openmpi-3.1", "there are rules of openmpi from 4.1, before 6"),
        ("Open MPI", "known: thakur, mpich, openmpi"),
        ("mpich-", "known: thakur, mpich, openmpi"),
    ],
)
def test_unknown_libraries(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rules_of_library(name)
    with pytest.raises(UsageError, match=message):
        Platform(mpi=name)


def test_what_decides() -> None:
    """Rules of the platform, then its library, then the recorded one."""
    call = ("allreduce", 1024, 200)
    recorded = {"mpi": OPEN_MPI}
    assert Platform().placed(200).algorithm(*call) == "recursive_doubling"
    assert Platform().placed(200, recorded).algorithm(*call) == "reduce_bcast"
    assert Platform(mpi="mpich").placed(200, recorded).algorithm(*call) == "recursive_doubling"
    own = {"allreduce": (AlgorithmRule("ring", 1024),)}
    assert Platform(mpi="mpich", collectives=own).placed(200, recorded).algorithm(*call) == "ring"


def test_a_platform_file_names_a_library(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('format = 1\nmpi = "openmpi-5.0"\n')
    assert read_platform(path).library_rules.name == "openmpi-4.1"
    path.write_text('format = 1\nmpi = "lam"\n')
    with pytest.raises(UsageError, match=r"p\.toml: mpi is 'lam'"):
        read_platform(path)


def test_simulate_takes_the_rules_of_the_recorded_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A barrier of 6 ranks is linear in Open MPI: slower than the dissemination of MPICH."""
    barriers = Builder(6)
    trace = barriers.of(barriers.event("Barrier", repeat=3, comm=Comm()))
    trace.meta["mpi"] = OPEN_MPI
    path = tmp_path / "barriers.st"
    scalatrace.save(trace, path)
    times, notes = [], []
    for options in ((), ("--mpi", "openmpi"), ("--mpi", "mpich"), ("--mpi", "thakur")):
        facts = json_of(capsys, "simulate", path, "--platform", "cluster", *options)
        times.append(facts["time_ns"])
        notes.append(facts["notes"]["collectives"])
    assert times[0] == times[1] > times[2] == times[3]
    assert notes[0] == "algorithms by rules of the recorded MPI: Open MPI from 4.1, before 6"
    assert notes[2] == "algorithms by chosen rules: MPICH from 3.4, before 6"
