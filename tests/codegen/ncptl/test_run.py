"""Programs under MPI: the interpreter and compiled programs log the same, and make the calls they should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from support.generated import compiled as binary_of
from support.mpis import Mpi
from support.ncptl_programs import PROGRAMS, calls, lowered
from support.running import mpirun, record
from support.running import scalatrace as command

TASKS = 4
EXACT = [name for name in PROGRAMS if name != "for-a-time"]
QUICK = ("log",)
WAYS = ("python", "compiled", "compile")
"""The engines of `ncptl run`, and a program that `ncptl compile` writes."""


def data(path: Path) -> str:
    return "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#"))


def compiled(mpi: Mpi, folder: Path) -> Path:
    command(mpi, "ncptl", "compile", "a.ncptl", "-o", "a.c", cwd=folder).check()
    return binary_of(mpi, folder / "a.c", "-lm")


def command_of(mpi: Mpi, way: str, folder: Path) -> list[str | Path]:
    """The command that runs a.ncptl in one of WAYS."""
    if way == "compile":
        return [compiled(mpi, folder)]
    return [*mpi.scalatrace(), "ncptl", "run", "--engine", way, "a.ncptl"]


def same(mpi: Mpi, name: str, folder: Path) -> None:
    """Interpreted and compiled, a program logs and prints the same."""
    (folder / "a.ncptl").write_text(PROGRAMS[name])
    run = [*mpi.scalatrace(), "ncptl", "run", "--engine", "python", "a.ncptl"]
    one = mpirun(mpi, TASKS, [*run, "-L", "run-%p.log"], cwd=folder, timeout=120).check()
    two = mpirun(mpi, TASKS, [compiled(mpi, folder), "-L", "c-%p.log"], cwd=folder, timeout=120).check()
    assert sorted(one.stdout.splitlines()) == sorted(two.stdout.splitlines())
    logs = [path.name.removeprefix("run-") for path in folder.glob("run-*.log")]
    assert sorted(logs) == sorted(path.name.removeprefix("c-") for path in folder.glob("c-*.log"))
    for log in logs:
        assert data(folder / f"run-{log}") == data(folder / f"c-{log}") != ""


@pytest.mark.mpi
@pytest.mark.parametrize("name", QUICK)
def test_the_same_logs(openmpi: Mpi, name: str, tmp_path: Path) -> None:
    same(openmpi, name, tmp_path)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXACT if name not in QUICK])
def test_the_same_logs_of_all_programs(openmpi: Mpi, name: str, tmp_path: Path) -> None:
    same(openmpi, name, tmp_path)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_same_logs_with_mpich(mpich: Mpi, name: str, tmp_path: Path) -> None:
    same(mpich, name, tmp_path)


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_facts_of_a_run_as_json(openmpi: Mpi, engine: str, tmp_path: Path) -> None:
    """On standard error, in place of the line about the log; standard output is the program's."""
    source = (
        'n IS "N" AND COMES FROM "--n" OR "-n" WITH DEFAULT 2. TASK 0 OUTPUTS n THEN TASK 0 LOGS n AS "n".'
    )
    (tmp_path / "a.ncptl").write_text(source)
    run = [*openmpi.scalatrace(), "ncptl", "run", "--json", "--engine", engine, "a.ncptl", "--n", "5"]
    done = mpirun(openmpi, 2, run, cwd=tmp_path, timeout=120).check()
    assert done.stdout == "5\n"
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("{"))
    assert "scalatrace: wrote" not in done.stderr
    facts = json.loads(line)
    assert 0 < facts.pop("seconds") < 60
    assert (tmp_path / facts.pop("log")).exists()
    assert facts == {
        "file": "a.ncptl", "nprocs": 2, "engine": engine, "seed": 1, "parameters": {"n": 5}, "logs": "a-%p.log"
    }  # fmt: skip


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_what_the_log_holds(openmpi: Mpi, engine: str, tmp_path: Path) -> None:
    (tmp_path / "a.ncptl").write_text(PROGRAMS["counters"])
    run = [*openmpi.scalatrace(), "ncptl", "run", "--engine", engine, "a.ncptl", "-C", "for a test"]
    mpirun(openmpi, TASKS, run, cwd=tmp_path, env={"MY_TOKEN": "hidden", "MY_NUMBER": "5"}).check()
    assert len(list(tmp_path.glob("a-*.log"))) == TASKS
    text = (tmp_path / "a-1.log").read_text()
    assert data(tmp_path / "a-1.log").splitlines() == [
        '"a","b","c","d","e","f","g","h"',
        ",".join(['"(all data)"'] * 8),
        "20,28,2,3,48,5,40,0",
    ]
    for line in (
        "# Number of tasks: 4",
        "# Processor (0<=P<tasks): 1",
        "# Comment 1: for a test",
        "# MY_NUMBER: 5",
    ):
        assert line + "\n" in text
    assert "hidden" not in text
    assert "#     ALL TASKS t ASYNCHRONOUSLY SEND" in text
    assert "# Program exited normally.\n" in text


def recorded(path: Path, rank: int) -> list[str]:
    """The calls in a trace that move messages or make communicators."""
    plain = ("Init", "Init_thread", "Finalize", "Errhandler")
    return [call.op for call in scalatrace.load(path).walk(rank) if not call.op.startswith(plain)]


@pytest.mark.mpi
@pytest.mark.parametrize("way", WAYS)
def test_recorded_calls(openmpi: Mpi, way: str, tmp_path: Path) -> None:
    names = ("ring", "reduce-elsewhere", "many-to-some", "unsuspecting", "multicast")
    source = "\n".join(PROGRAMS[name] for name in names)
    (tmp_path / "a.ncptl").write_text(source)
    run = command_of(openmpi, way, tmp_path)
    record(openmpi, TASKS, run, tmp_path / "a.st", timeout=300).check()
    program = lowered(source)
    for rank in range(TASKS):
        wanted = [call.split()[0] for call in calls(program, rank)]
        assert [op for op in recorded(tmp_path / "a.st", rank) if op in ("Comm_split", *wanted)] == wanted


@pytest.mark.mpi
@pytest.mark.parametrize("way", WAYS)
def test_a_fault_is_told_once_and_nothing_runs(openmpi: Mpi, way: str, tmp_path: Path) -> None:
    fault = "ALL TASKS t SEND A 4 BYTE MESSAGE TO TASK (t+1) MOD num_tasks."
    (tmp_path / "a.ncptl").write_text(f'TASK 0 OUTPUTS "began".\n{fault}')
    run = command_of(openmpi, way, tmp_path)
    ended = mpirun(openmpi, TASKS, run, cwd=tmp_path)
    assert ended.returncode == 1
    assert "began" not in ended.stdout
    assert ended.stderr.count("a.ncptl:2:1: this never ends: task 0 waits for a message of task 3") == 1


@pytest.mark.mpi
@pytest.mark.parametrize("way", WAYS)
def test_a_fault_on_the_way_ends_all_tasks(openmpi: Mpi, way: str, tmp_path: Path) -> None:
    source = 'FOR EACH i IN {1,2} TASK 1 LOGS THE i AS "i". ALL TASKS SYNCHRONIZE.'
    (tmp_path / "a.ncptl").write_text(source)
    run = command_of(openmpi, way, tmp_path)
    ended = mpirun(openmpi, 2, run, cwd=tmp_path)
    assert ended.returncode != 0
    assert "THE value in 'i' is not always the same: 1, then 2" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_check_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.ncptl", tmp_path / "bad.ncptl"
    good.write_text("ALL TASKS t SYNCHRONIZE.")
    bad.write_text("TASK x SYNCHRONIZES.")
    assert main(["ncptl", "check", str(good), str(bad)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{good}:1:1: warning: t is bound but never used"
    assert shown[1].startswith(f"{good}: no errors. Next: ")
    assert shown[2].startswith(f"{bad}:1:6: x is not bound here")
    good.write_text("TASK 0 SENDS A MESSAGE TO TASK 0.")
    assert main(["ncptl", "check", str(good), "--json"]) == 0
    assert '"execution": "accept"' in capsys.readouterr().out
    assert main(["ncptl", "check", str(good), "-n", "2"]) == 1


@pytest.mark.parametrize(
    "words", [["check", "nowhere.ncptl"], ["run", "nowhere.ncptl"], ["compile", "nowhere.ncptl"]]
)
def test_no_such_file(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ncptl", *words]) == 1
    assert "nowhere.ncptl: cannot read" in capsys.readouterr().err


def test_help_and_usage_need_no_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ncptl"
    path.write_text(PROGRAMS["parameters"])
    assert main(["ncptl", "run", str(path), "-?"]) == 0
    assert "--reps=<number>" in capsys.readouterr().out
    assert main(["ncptl", "run", str(path), "--unknown"]) == 2
