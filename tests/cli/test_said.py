"""Commands say what they wrote and what comes next, and long ones that they work, also without a terminal."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.cli.progress import PrintedSteps
from scalatrace.codegen.conceptual.run import run as ncptl_run
from scalatrace.launched import launcher_variables
from scalatrace.record import shim
from support.builder import Builder, Comm


@pytest.mark.parametrize(
    ("language", "name", "command"),
    [
        ("c", "b.c", "mpicc -O2 {path} -o {stem} && mpiexec -n 4 {stem}"),
        ("python", "b.py", "mpiexec -n 4 python {path}"),
        ("conceptual", "b.ncptl", "mpiexec -n 4 scalatrace ncptl run {path}"),
    ],
)
def test_generate_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, name: str, command: str
) -> None:
    b = Builder(4)
    scalatrace.save(b.of(b.event("Barrier", comm=Comm())), tmp_path / "a.st")
    path = tmp_path / name
    assert main(["generate", str(tmp_path / "a.st"), "--to", language, "-o", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{path}: {len(path.read_text().splitlines())} lines")
    assert shown.endswith(f"Next: {command.format(path=path, stem=path.with_suffix(''))}\n")


def test_ncptl_says_that_a_program_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ncptl"
    path.write_text("TASK 0 SENDS A 4 BYTE MESSAGE TO TASK 1.\n")
    assert main(["ncptl", "check", str(path), "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert f"{path}: no errors on 2 tasks. Next: mpiexec -n 2 scalatrace ncptl run {path}\n" in shown
    assert main(["ncptl", "compile", str(path), "-o", str(tmp_path / "a.c")]) == 0
    assert "lines. Next: mpicc -O2 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tasks", "wrote", "text"),
    [
        (1, True, "wrote a-0.log\n"),
        (4, True, "wrote a-0.log; each task that logs has its own file a-%p.log\n"),
        (4, False, "task 0 logs nothing; other tasks log to a-%p.log\n"),
    ],
)
def test_ncptl_run_says_which_log_it_wrote(
    capsys: pytest.CaptureFixture[str], tasks: int, wrote: bool, text: str
) -> None:
    for rank in (0, 1):
        this: Any = SimpleNamespace(template="a-%p.log", rank=rank, tasks=tasks)
        ncptl_run._say_log(this, wrote)
    assert capsys.readouterr().err == f"scalatrace: {text}"


@pytest.mark.parametrize(("rank", "says"), [(None, True), ("0", True), ("1", False)])
def test_rank_0_says_that_the_tracer_is_built(
    monkeypatch: pytest.MonkeyPatch, rank: str | None, says: bool
) -> None:
    for name in launcher_variables():
        monkeypatch.delenv(name, raising=False)
    if rank is not None:
        monkeypatch.setenv(launcher_variables()[0], rank)
    notices: list[str] = []
    monkeypatch.setattr(shim, "find_shim", lambda library: None)
    monkeypatch.setattr(shim, "_shim_name", lambda library: "a.so")
    monkeypatch.setattr(shim, "built_once", lambda name, purpose, build, notice: notices.append(notice))
    mpi: Any = SimpleNamespace(library="libmpi.so")
    shim.shim_for(mpi)
    assert [bool(notice) for notice in notices] == [says]


def test_steps_are_printed_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report = PrintedSteps("experiments")
    for done in range(5):
        report(done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "scalatrace: experiments: 0 of 4",
        "scalatrace: experiments: 4 of 4",
    ]
