"""What `record` says when nothing is recorded, and what it checks before the program starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from record.conftest import Builder
from scalatrace import load
from scalatrace.compilers.elf import preload_obstacle
from support.mpis import Mpi
from support.running import mpirun, record, run, scalatrace

pytestmark = pytest.mark.mpi

LINE = "never called MPI_Init: nothing was recorded"


def test_program_without_mpi(mpi: Mpi, tmp_path: Path) -> None:
    done = scalatrace(mpi, "record", "--", "/bin/false", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"scalatrace: false {LINE}, {tmp_path}/out.st is not written"]
    assert scalatrace(mpi, "record", "--quiet", "--", "/bin/true", cwd=tmp_path).check().stderr == ""


def test_the_trace_of_an_earlier_run_is_deleted(openmpi: Mpi, tmp_path: Path) -> None:
    """Unless the program reads it."""
    old = tmp_path / "a.st"
    old.write_bytes(b"old")
    scalatrace(openmpi, "record", "-o", old, "--", "/bin/cat", old).check()
    assert old.read_bytes() == b"old"
    scalatrace(openmpi, "record", "-o", old, "--", "/bin/true").check()
    assert not old.exists()


def test_signals_are_handled_as_without_the_tracer(openmpi: Mpi) -> None:
    """Python ignores SIGPIPE and SIGXFSZ."""
    program = ["/bin/grep", "SigIgn", "/proc/self/status"]
    untraced = run(program, env=openmpi.environment()).check()
    assert scalatrace(openmpi, "record", "--", *program).check().stdout == untraced.stdout


def test_one_line_for_all_ranks(mpi: Mpi, tmp_path: Path) -> None:
    done = record(mpi, 3, ["/bin/true"], tmp_path / "a.st").check()
    assert done.stderr.count(LINE) == 1


def test_programs_that_start_others(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """A script or a launcher calls no MPI itself; its children do, or do not."""
    program = build(openmpi, "late.c")
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\nls >/dev/null\n{openmpi.mpiexec} -n 2 {program}\ntrue\n")
    script.chmod(0o755)
    trace = tmp_path / "a.st"
    for argv in ([script], [openmpi.mpiexec, "-n", "2", program]):
        command = [*openmpi.recorder(), "-o", trace, "--", *argv]
        done = run(command, env=openmpi.environment(), cwd=tmp_path)
        assert LINE not in done.stderr
        assert load(trace).nprocs == 2
    script.write_text("#!/bin/bash\nls >/dev/null\nls >/dev/null\n")
    done = run([*openmpi.recorder(), "--", script], env=openmpi.environment(), cwd=tmp_path)
    assert done.stderr.count(LINE) == 1


def test_static_program(tmp_path: Path) -> None:
    source, program = tmp_path / "a.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }\n")
    if subprocess.run(["cc", "-static", "-o", program, source], check=False, capture_output=True).returncode:
        pytest.skip("no static C library here")
    assert preload_obstacle(program) == "is statically linked"
    assert preload_obstacle("/bin/true") is None
    assert preload_obstacle(source) is None
    source.write_bytes(b"\x7fELF")
    assert preload_obstacle(source) is None


@pytest.mark.parametrize("options", [("-o", "none/a.st"), ("-o", "."), ("--flat-log", "file/logs")])
def test_outputs_are_checked_before_the_program_starts(
    openmpi: Mpi, tmp_path: Path, options: tuple[str, str]
) -> None:
    (tmp_path / "file").write_text("")
    command = [*openmpi.recorder(), *options, "--", "/usr/bin/touch", "started"]
    done = run(command, env=openmpi.environment(), cwd=tmp_path)
    assert done.returncode == 2
    assert f"scalatrace: {' '.join(options)}: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "started").exists()
    done = mpirun(openmpi, 2, command, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(f"scalatrace: {' '.join(options)}") == 1


def test_fifo_without_a_reader(any_mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """The program ends; its trace is not lost."""
    fifo, spared = tmp_path / "fifo", tmp_path / "spared"
    os.mkfifo(fifo)
    spared.mkdir()
    env = {"TMPDIR": str(spared)}
    done = record(any_mpi, 2, [build(any_mpi, "late.c")], fifo, env=env, timeout=60).check()
    assert done.stderr.count("fifo: no process reads it") == 1
    (instead,) = spared.glob("scalatrace-*/fifo")
    assert load(instead).nprocs == 2


def test_trace_through_a_fifo(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    fifo, copy = tmp_path / "fifo", tmp_path / "copy.st"
    os.mkfifo(fifo)
    with copy.open("wb") as file, subprocess.Popen(["cat", fifo], stdout=file) as reader:
        try:
            record(openmpi, 2, [build(openmpi, "late.c")], fifo).check()
            reader.wait(30)
        finally:
            reader.kill()
    assert load(copy).nprocs == 2
    assert fifo.is_fifo()


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (("LD_PRELOAD=", "/bin/true"), True),
        (("-u", "LD_PRELOAD", "/bin/true"), True),
        (("--unset=LD_PRELOAD", "A=1", "/bin/true"), True),
        (("-i", "/bin/true"), True),
        (("-u", "B", "A=1", "/bin/echo", "LD_PRELOAD="), False),
    ],
)
def test_env_that_removes_the_tracer(
    openmpi: Mpi, words: tuple[str, ...], lost: bool, tmp_path: Path
) -> None:
    done = scalatrace(openmpi, "record", "--", "env", *words, cwd=tmp_path).check()
    assert done.stderr.count("env removes LD_PRELOAD") == lost
