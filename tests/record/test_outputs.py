"""Paths of traces: placeholders, and worlds and runs that were given the same path."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from record.conftest import Builder
from scalatrace import load
from scalatrace.launched import array_task, batch_variables, launcher_variables, restarts
from scalatrace.record import placeholders
from scalatrace.record.placeholders import fill
from support.mpis import Mpi
from support.running import Argument, run


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*launcher_variables(), *batch_variables()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(placeholders.socket, "gethostname", lambda: "node7")


def test_outside_of_a_job() -> None:
    assert fill("%j-%a-%r-%h-%%h.st") == "0-0-0-node7-%h.st"
    assert fill("run-%p.st") == f"run-{os.getpid()}.st"
    assert fill("100%.st %x %d") == "100%.st %x %d"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "0", "SLURM_RESTART_COUNT": "2"}, "4711-0-2"),
        ({"PBS_JOBID": "12[3].server", "PBS_ARRAY_INDEX": "3"}, "12_3_.server-3-0"),
        ({"LSB_JOBID": "9", "LSB_JOBINDEX": "0"}, "9-0-0"),
        ({"JOB_ID": "5", "SGE_TASK_ID": "undefined", "RESTARTED": "1"}, "5-0-1"),
    ],
)
def test_batch_systems(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert fill("%j-%a-%r") == expected
    assert restarts() == int(expected.rsplit("-", 1)[1])
    assert bool(array_task()) == any(name.endswith(("TASK_ID", "INDEX")) and value.isdigit() and (
        value != "0" or name.startswith("SLURM")) for name, value in variables.items())  # fmt: skip


def start(mpi: Mpi, output: Path, program: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    """Record a program without a launcher."""
    command = [*mpi.recorder(), "-o", str(output), "--", str(program), *words]
    variables = {**mpi.environment(), **env}
    return subprocess.Popen(command, env=variables, cwd=output.parent, stderr=subprocess.PIPE, text=True)


def errors_of(*processes: subprocess.Popen[str]) -> str:
    texts = [process.communicate(timeout=120)[1] for process in processes]
    assert not any(process.returncode for process in processes), texts
    return "".join(texts)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if ".st" in path.name)


@pytest.mark.mpi
def test_all_ranks_have_the_path_of_rank_0(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """The third rank is killed; the others' parts are where rank 0 says."""
    program = build(mpi, "ending.c")
    command = [mpi.mpiexec, "-n", "3", *mpi.recorder(), "-o", tmp_path / "a-%p.st", "--", program, "abort"]
    run(command, env=mpi.environment(), cwd=tmp_path)
    (folder,) = tmp_path.glob("*.parts")
    assert len(list(folder.glob("rank-*.part"))) == 3


@pytest.mark.mpi
def test_tasks_of_a_launcher_that_mpi_does_not_know(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program, output = build(mpi, "hello.c"), tmp_path / "a.st"
    tasks = [start(mpi, output, program, SLURM_PROCID=str(i), SLURM_STEP_NUM_TASKS="3") for i in range(3)]
    printed = errors_of(*tasks)
    assert names(tmp_path) == [f"a.st.task-{i}" for i in range(3)]
    assert printed.count("the launcher started 3 tasks, but MPI made each a world of one rank") == 1
    alone = start(mpi, output, program, SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="1")
    assert "world of one rank" not in errors_of(alone)
    assert load(output).nprocs == 1


@pytest.mark.mpi
def test_runs_at_the_same_time(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program, output = build(mpi, "hello.c"), tmp_path / "a.st"
    seconds = "4"  # on a busy machine, the third run begins late
    printed = errors_of(*(start(mpi, output, program, seconds) for _ in range(3)))
    assert names(tmp_path) == ["a.st", "a.st.run-2", "a.st.run-3"]
    assert printed.count("a.st is the trace of another run, which stays; this one is") == 2
    for path in tmp_path.glob("a.st*"):
        assert load(path).nevents() == 1


@pytest.mark.mpi
def test_runs_after_each_other_replace_the_trace(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program, output = build(openmpi, "hello.c"), tmp_path / "a.st"
    for _ in range(2):
        assert "another run" not in errors_of(start(openmpi, output, program))
    assert names(tmp_path) == ["a.st"]


@pytest.mark.mpi
def test_tasks_of_an_array_job(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program, output = build(openmpi, "hello.c"), tmp_path / "a.st"
    for task in "12":
        printed = errors_of(start(openmpi, output, program, SLURM_ARRAY_TASK_ID=task))
        assert "all tasks of this job array write" in printed
    assert names(tmp_path) == ["a.st", "a.st.run-2"]
    printed = errors_of(start(openmpi, tmp_path / "b-%a.st", program, SLURM_ARRAY_TASK_ID="2"))
    assert "all tasks" not in printed
    assert (tmp_path / "b-2.st").exists()


@pytest.mark.mpi
def test_jobs_that_were_requeued(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program, output = build(openmpi, "hello.c"), tmp_path / "a.st"
    output.with_name("a.st.parts").mkdir()
    (tmp_path / "a.st.parts" / "rank-0.part").write_text("of the first run")
    errors_of(start(openmpi, tmp_path / "b-%r.st", program, SLURM_RESTART_COUNT="1"))
    output.write_text("of the first run")
    printed = errors_of(start(openmpi, output, program, SLURM_RESTART_COUNT="1"))
    assert "this job was requeued" in printed
    assert names(tmp_path) == ["a.st", "a.st.restart-0", "a.st.restart-0.parts", "b-1.st"]
    assert (tmp_path / "a.st.restart-0").read_text() == "of the first run"
    assert load(output).nevents() == 1


@pytest.mark.mpi
def test_the_programs_of_all_ranks(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """`program` has the command of each, as mpiexec has it."""
    hello, output = build(mpi, "hello.c"), tmp_path / "a.st"
    recorded = [*mpi.recorder(), "-o", output, "--", hello]
    parts: list[list[Argument]] = [
        ["-n", "1", *recorded, "0"],
        ["-n", "2", *recorded, "0"],
        ["-n", "1", *recorded],
    ]
    command = [word for part in parts for word in (":", *part)][1:]
    run([mpi.mpiexec, *command], env=mpi.environment(), cwd=tmp_path).check()
    assert load(output).meta["program"] == f"-n 3 {hello} 0 : -n 1 {hello}"
