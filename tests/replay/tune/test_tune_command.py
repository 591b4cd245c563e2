"""`scalatrace tune` under mpiexec: rules that the library reads, and where it cannot work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from scalatrace import save
from scalatrace.cli.dispatch import main
from scalatrace.replay.tune.library import DYNAMIC, OperationRules, TunedSetting
from scalatrace.replay.tune.mpich import built_in_trees, tuned_trees
from scalatrace.replay.tune.openmpi import classic_text
from scalatrace.replay.tune.size_rules import size_rules
from support.builder import DOUBLE, Builder, Comm
from support.mpis import Mpi
from support.running import Finished, mpirun

PROGRAMS = Path(__file__).with_name("programs")


def collectives(folder: Path, nprocs: int = 2, count: int = 16) -> Path:
    """A trace with some collectives, among them one in halves of the ranks."""
    b = Builder(nprocs)
    half = nprocs // 2
    halves = b.family("split", (half, half), (*range(half), *range(half, nprocs)))
    sums = {"count": count, "datatype": DOUBLE, "op": "MPI_SUM"}
    nodes = [b.event("Allreduce", repeat=50, comm=Comm(), **sums)]
    nodes += [b.event("Bcast", repeat=20, count=count, datatype=DOUBLE, root=1, comm=Comm())]
    nodes += [b.event("Allreduce", repeat=9, comm=halves, **sums)] if half > 1 else []
    save(b.of(*nodes, b.event("Barrier", comm=Comm())), folder / "a.st")
    return folder / "a.st"


def tune(mpi: Mpi, nprocs: int, *words: str | Path, seconds: str = "1.5") -> Finished:
    command = [*mpi.scalatrace(), "tune", *words, "--seconds", seconds]
    return mpirun(mpi, nprocs, command, timeout=300)


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_measures_and_writes_what_a_replay_runs_with(mpi: Mpi, nprocs: int, tmp_path: Path) -> None:
    trace, rules = collectives(tmp_path, nprocs), tmp_path / "rules"
    facts = json.loads(tune(mpi, nprocs, trace, "-o", rules, "--json").check().stdout)
    assert facts["mpi"].startswith("Open MPI" if mpi.family == "openmpi" else "MPICH")
    rows = {(row["operation"], row["ranks"]): row for row in facts["points"]}
    assert set(rows) == {(op, nprocs) for op in ("Barrier", "Bcast", "Allreduce")} | (
        {("Allreduce", nprocs // 2)} if nprocs > 2 else set()
    )
    allreduce = rows["Allreduce", nprocs]
    assert (allreduce["bytes"], allreduce["calls"]) == (128, 50)
    assert allreduce["default_ns"] > 0
    assert allreduce["algorithms"] >= 3
    assert rules.exists() == (facts["file"] is not None) == bool(facts["environment"])
    assert any(row["rule"] for row in facts["points"]) == rules.exists()
    if nprocs == 2:  # in the trace of more ranks, no call makes the halves
        replay = [*mpi.scalatrace(), "replay", trace, "--verify"]
        mpirun(mpi, nprocs, replay, env=facts["environment"], timeout=120).check()


def probe(
    mpi: Mpi, nprocs: int, op: str, sizes: list[int], env: dict[str, str], folder: Path
) -> dict[int, str]:
    (folder / "outcomes").write_text("")
    mpirun(
        mpi, nprocs, [mpi.python, PROGRAMS / "probe.py", op, folder / "outcomes", *sizes], env=env, timeout=60
    )
    lines = (folder / "outcomes").read_text().splitlines()
    return {int(nbytes): outcome for nbytes, _, outcome in (line.partition(" ") for line in lines)}


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("nprocs", "ruled"), [(2, False), (3, True), pytest.param(4, False, marks=pytest.mark.slow)]
)
def test_open_mpi_reads_the_rules_where_they_hold(
    openmpi: Mpi, nprocs: int, ruled: bool, tmp_path: Path
) -> None:
    """An algorithm that does not exist is an error in exactly the calls for which there is a rule."""
    unknown = TunedSetting("unknown", 99, ())
    rules = [OperationRules("allreduce", {3: size_rules({256: unknown, 65536: None})})]
    (tmp_path / "rules.conf").write_text(classic_text(rules, ["of 1 test"]))
    env = {DYNAMIC: "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(tmp_path / "rules.conf")}
    outcomes = probe(openmpi, nprocs, "allreduce", [8, 56, 64, 256, 1024, 1032, 65536], env, tmp_path)
    failed = [nbytes for nbytes, outcome in outcomes.items() if outcome == "error"]
    assert failed == ([64, 256, 1024] if ruled else [])
    assert len(outcomes) == 7


@pytest.mark.mpi
def test_mpich_reads_the_rules_where_they_hold(mpich: Mpi, tmp_path: Path) -> None:
    """An algorithm for powers of two ends a program of three ranks in the call for which there is a rule."""
    library = mpich.mpiexec.resolve().parents[1] / "lib/libmpi.so.12"
    doubling = TunedSetting("recursive_doubling", 0, ())
    rules = [OperationRules("allgather", {3: size_rules({3 * 256: doubling, 3 * 65536: None})})]
    trees = tuned_trees(
        built_in_trees(library.read_bytes()), rules, lambda op, name: f"MPIR_Allgather_intra_{name}"
    )
    (tmp_path / "rules.json").write_text(json.dumps(trees))
    env = {
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(tmp_path / "rules.json"),
        "MPIR_CVAR_ALLGATHER_DEVICE_COLLECTIVE": "0",
    }
    assert probe(mpich, 3, "allgather", [8, 56, 1032, 65536, 1024], env, tmp_path) == dict.fromkeys(
        [8, 56, 1032, 65536], "ok"
    )
    assert probe(mpich, 3, "allgather", [56, 64], env, tmp_path) == {56: "ok"}


@pytest.mark.mpi
def test_settings_reach_the_library_and_are_taken_back(mpi: Mpi) -> None:
    """An algorithm for two ranks, or for powers of two, cannot carry out a call of three; all others can."""
    result = json.loads(mpirun(mpi, 3, [mpi.python, PROGRAMS / "forced.py"], timeout=120).check().stdout)
    outcomes = result["outcomes"]
    assert [label for label, outcome in outcomes.items() if outcome == "rejected"] == [result["wrong"]]
    assert len(outcomes) > 4
    assert all(ns > 0 for label, ns in outcomes.items() if label != result["wrong"])
    assert result["restored"]


@pytest.mark.mpi
def test_another_number_of_ranks_is_refused(mpi: Mpi, tmp_path: Path) -> None:
    result = tune(mpi, 3, collectives(tmp_path), "-o", tmp_path / "rules")
    assert result.returncode == 2
    assert result.stderr.count("the trace is of 2 ranks, this is 3: mpiexec -n 2") == 1
    assert not (tmp_path / "rules").exists()


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("", "the trace has no collective calls, so there is nothing to tune"),
        (
            "Iallreduce",
            "no collective calls whose algorithm can be chosen: 2 MPI_Iallreduce (nonblocking or persis",
        ),
    ],
)
def test_a_trace_without_calls_to_tune_is_refused(
    openmpi: Mpi, op: str, message: str, tmp_path: Path
) -> None:
    b = Builder(2)
    if op:
        nodes = [b.event(op, count=1, datatype=DOUBLE, op="MPI_SUM", comm=Comm(), request=0)]
    else:
        nodes = [b.event("Send", count=1, datatype=DOUBLE, dest=0, tag=1, comm=Comm())]
    save(b.of(*nodes), tmp_path / "a.st")
    result = tune(openmpi, 2, tmp_path / "a.st", "-o", tmp_path / "rules")
    assert result.returncode == 1
    assert result.stderr.count(message) == 1


@pytest.mark.mpi
def test_a_trace_that_cannot_be_read_is_refused_once(openmpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "a.st").write_bytes(b"nothing")
    result = tune(openmpi, 2, tmp_path / "a.st", "-o", tmp_path / "rules")
    assert result.returncode == 1
    assert result.stderr.count("scalatrace: ") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.mpi
def test_a_killed_rank_leaves_no_file(openmpi: Mpi, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    words = [*openmpi.scalatrace(), "tune", collectives(tmp_path), "-o", rules, "--seconds", "60"]
    command = [openmpi.mpiexec, "-n", "2", *words]
    run = subprocess.Popen(command, env=openmpi.environment(), stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    assert "seconds of measuring" in run.stderr.readline()
    [rank, *_] = _ranks_of(run.pid, str(rules))
    os.kill(rank, signal.SIGKILL)
    assert run.wait(60) != 0
    assert not rules.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.st"]


def _ranks_of(launcher: int, word: str) -> list[int]:
    """Processes with a word among their arguments, but for the launcher."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != launcher:
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words and b"mpiexec" not in words[0] and b"prterun" not in words[0]:
                found.append(int(path.name))
    return sorted(found)[::-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.st", "-o", "rules"], "missing.st"),
        (["a.st", "-o", "/no/such/folder/rules"], "there is no folder /no/such/folder"),
        (["a.st", "-o", "rules", "--seed", "-1"], "--seed is 0 or more"),
        (["a.st", "-o", "rules", "--seconds", "-1"], "'-1' is no number of seconds"),
        (["a.st"], "-o"),
    ],
)
def test_wrong_arguments_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DYNAMIC, raising=False)
    monkeypatch.setenv(DYNAMIC, "1")  # undone afterwards, whatever the command sets
    assert main(["tune", *words]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
