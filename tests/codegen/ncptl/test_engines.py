"""Both engines of `ncptl run`: the same output, log files and faults."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scalatrace.codegen.conceptual.run.compiled import PROGRAM
from support.mpis import ROOT, Mpi
from support.ncptl_programs import FOLDER, PROGRAMS
from support.running import Finished, mpirun

TASKS = 4
EXACT = [name for name in PROGRAMS if name != "for-a-time"]
QUICK = ["log", "aggregates", "processors"]


def same(mpi: Mpi, names: list[str], folder: Path) -> None:
    """The engines print and log the same on all tasks."""
    programs = [FOLDER / f"{name}.ncptl" for name in names]
    command = [mpi.python or sys.executable, "-m", "support.ncptl_engines", folder, *programs]
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    shown = mpirun(mpi, TASKS, command, env=env, timeout=600).check().stdout
    assert "status 0" in shown
    assert [line for line in shown.splitlines() if not line.startswith("status 0")] == []


@pytest.mark.mpi
def test_the_same_output(openmpi: Mpi, tmp_path: Path) -> None:
    same(openmpi, QUICK, tmp_path)


@pytest.mark.mpi
@pytest.mark.slow
def test_the_same_output_of_all_programs(openmpi: Mpi, tmp_path: Path) -> None:
    same(openmpi, EXACT, tmp_path)


@pytest.mark.mpi
@pytest.mark.slow
def test_the_same_output_with_mpich(mpich: Mpi, tmp_path: Path) -> None:
    same(mpich, QUICK, tmp_path)


def execute(mpi: Mpi, source: str, folder: Path, *words: str, tasks: int = 2, **env: str) -> Finished:
    """Run a program, with words of `ncptl run`."""
    (folder / "a.ncptl").write_text(source)
    command = [*mpi.scalatrace(), "ncptl", "run", *words, "a.ncptl"]
    return mpirun(mpi, tasks, command, cwd=folder, env={"SCALATRACE_CACHE": str(folder / "cache"), **env})


BACKEND = 'TASK 0 BACKEND EXECUTE "printf(\\"%.0f tasks\\\\n\\", " AND num_tasks AND ");".'


@pytest.mark.mpi
def test_text_in_c_is_executed(openmpi: Mpi, tmp_path: Path) -> None:
    assert execute(openmpi, BACKEND, tmp_path).check().stdout == "2 tasks\n"
    refused = execute(openmpi, BACKEND, tmp_path, "--engine", "python")
    assert refused.returncode == 1
    assert refused.stderr.count("BACKEND EXECUTE has text in C") == 1


@pytest.mark.mpi
def test_one_rank_compiles(openmpi: Mpi, tmp_path: Path) -> None:
    """A compiler wrapper that counts its calls."""
    wrapper, calls = tmp_path / "bin" / "mpicc", tmp_path / "calls"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {openmpi.mpicc} "$@"\n')
    wrapper.chmod(0o755)
    for _ in range(2):
        shown = (
            execute(openmpi, "ALL TASKS t OUTPUT t.", tmp_path, tasks=4, MPICC=str(wrapper)).check().stdout
        )
        assert sorted(shown.split()) == ["0", "1", "2", "3"]
    assert len([line for line in calls.read_text().splitlines() if "-shared" in line]) == 1


@pytest.mark.mpi
def test_without_a_compiler_the_program_is_interpreted(openmpi: Mpi, tmp_path: Path) -> None:
    env = {"MPICC": str(tmp_path / "mpicc")}
    ended = execute(openmpi, "TASK 0 OUTPUTS 1.", tmp_path, **env).check()
    assert ended.stdout == "1\n"
    assert ended.stderr.count("interpreting the program in Python: ") == 1
    refused = execute(openmpi, "TASK 0 OUTPUTS 1.", tmp_path, "--engine", "compiled", **env)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert (
        refused.stderr.count(f"--engine compiled: {env['MPICC']}: no such compiler; use --engine python") == 1
    )


@pytest.mark.mpi
def test_text_that_does_not_compile(openmpi: Mpi, tmp_path: Path) -> None:
    ended = execute(openmpi, 'TASK 0 BACKEND EXECUTE "no_function(1);".', tmp_path)
    assert ended.returncode == 1
    assert f"{PROGRAM.purpose} could not be built" in ended.stderr
    assert "BACKEND EXECUTE has text in C" in ended.stderr


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_errors_of_mpi_end_all_tasks(openmpi: Mpi, engine: str, tmp_path: Path) -> None:
    """Errors of MPI are reported by task: here a message that is too long for what receives it."""
    many = "FOR EACH i IN {1, ..., 110000} TASKS t SUCH THAT t<i RESET THEIR COUNTERS."  # not checked for all tasks
    source = f"{many} TASK 0 SENDS A 8 BYTE MESSAGE TO UNSUSPECTING TASK 1 THEN TASK 1 RECEIVES A 4 BYTE MESSAGE FROM TASK 0."
    ended = execute(openmpi, source, tmp_path, "--engine", engine)
    assert ended.returncode != 0
    assert "scalatrace: task 1: a.ncptl: " in ended.stderr
    assert "Traceback" not in ended.stderr
