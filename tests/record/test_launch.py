"""Options, the environment they become, finding the MPI of a program, and building its shim once."""

from __future__ import annotations

import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from record.conftest import Builder
from scalatrace.compilers import build as building
from scalatrace.compilers.elf import linked_mpi
from scalatrace.compilers.mpi import installed, mpi_of
from scalatrace.errors import UsageError
from scalatrace.record.launch import RecordOptions, environment, parse_meta
from scalatrace.trace.io.reader import load
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record, run


def test_environment_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/other.so")
    monkeypatch.chdir(tmp_path)
    options = RecordOptions(output="b.st", stacks="none", meta={"param.n": "4"})
    made = environment(options, ["app", "x y"], {"SCALATRACE_FRONT": "/front.so"})
    assert made["SCALATRACE_OUTPUT"] == str(tmp_path / "b.st")
    assert made["LD_PRELOAD"] == "/front.so:/other.so"
    meta = dict(pair.split("=", 1) for pair in made["SCALATRACE_META"].split("\x1f"))
    assert meta["program"] == "app x y"
    assert meta["param.n"] == "4"


@pytest.mark.parametrize(
    "bad", [{"stacks": "some"}, {"stack_depth": 0}, {"stack_depth": 129}, {"checkpoint": -1}]
)
def test_options_that_make_no_sense(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        RecordOptions(**bad)  # type: ignore[arg-type]


def test_meta() -> None:
    assert parse_meta("--param", ["n=4=5", "m="], "param.") == {"param.n": "4=5", "param.m": ""}
    with pytest.raises(UsageError, match=r"--meta n: .* give NAME=VALUE"):
        parse_meta("--meta", ["n"])


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--resolve", "-o", "/dev/null", "--", sys.executable], 2, "--resolve needs a file as output"),
        (["--report", "x", "-o", "/dev/null", "--", sys.executable], 2, "--report needs a file as output"),
        (["--report", "/no-folder/x", "--", sys.executable], 2, "--report /no-folder/x: there is no folder"),
        ([], 2, "no program to record; give it"),
        (["--", "no-such-program-anywhere"], 2, "no such program; check its path"),
    ],
)
def test_mistakes(words: list[str], status: int, message: str) -> None:
    done = run([sys.executable, "-m", "scalatrace.record", *words])
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.mpi
def test_the_mpi_a_program_is_linked_to(
    any_mpi: Mpi, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever mpicc comes first on the PATH."""
    monkeypatch.delenv("MPICC", raising=False)
    library = linked_mpi(build(any_mpi, "ending.c"))
    assert library is not None
    assert mpi_of(library, "ending").compiler.resolve() == any_mpi.mpicc.resolve()
    assert mpi_of(library, "ending").flavour == any_mpi.family


@pytest.mark.mpi
def test_quiet(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """Nothing from the tracer, whatever happens to the trace; without the option it is said."""
    program = ["sh", "-c", 'rmdir gone; exec "$0"', build(openmpi, "some.c")]
    for quiet in ([], ["--quiet"]):
        (tmp_path / "gone").mkdir()
        options = ["-o", "gone/a.st", *quiet]
        done = record(openmpi, 1, program, tmp_path / "a.st", options=options, timeout=300).check()
        assert ("scalatrace: rank 0:" in done.stderr) == (not quiet)


@pytest.mark.mpi
def test_the_line_about_the_trace(openmpi: Mpi, tmp_path: Path) -> None:
    trace, program = tmp_path / "a.st", [openmpi.python, SAMPLES / "ring.py"]
    line = re.compile(
        rf"scalatrace: wrote (?:{re.escape(str(trace))}|a.st): (\d+) bytes, (\d+) events of 2 ranks, "
        r"(\d+\.\d\d) s each, (\d+) % in MPI\. Next: scalatrace info, show, stats"
    )
    (found,) = filter(
        None, map(line.fullmatch, record(openmpi, 2, program, trace).check().stderr.splitlines())
    )
    assert int(found[1]) == trace.stat().st_size
    assert int(found[2]) == load(trace).nevents()
    assert 0 <= int(found[4]) <= 100
    assert not record(openmpi, 2, program, trace, options=["--quiet"]).check().stderr


@pytest.mark.mpi
@pytest.mark.parametrize("quiet", [False, True])
def test_the_line_about_the_trace_as_json(openmpi: Mpi, tmp_path: Path, quiet: bool) -> None:
    """One line of JSON, with a path to quote; the program keeps its output and its exit status."""
    trace, options = tmp_path / 'a "b".st', ["--json", *(["--quiet"] if quiet else [])]
    program = (
        "from mpi4py.MPI import COMM_WORLD as w; print(w.allreduce(1)); raise SystemExit(3 * (w.rank == 0))"
    )
    words = [openmpi.python, "-c", program]
    done = record(openmpi, 2, words, trace, options=options)
    assert done.returncode == 3
    assert done.stdout == "2\n" * 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("{"))
    assert "scalatrace: wrote" not in done.stderr
    facts = json.loads(line)
    assert Path(facts.pop("output")).resolve() == trace.resolve()
    assert facts.pop("bytes") == trace.stat().st_size
    assert facts.pop("events") == load(trace).nevents()
    assert 0 < facts.pop("seconds") < 100
    assert 0 <= facts.pop("mpi_share") <= 1
    assert facts == {"nprocs": 2, "threads": 1, "stack_depth_advice": None, "lacks_spawned": False}


@pytest.mark.mpi
def test_the_shim_is_built_once(openmpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six processes need it at the same moment; one compiles."""
    env = {**openmpi.environment(), "SCALATRACE_CACHE": str(tmp_path)}
    library = next(installed(openmpi.mpicc)).library

    def ask(_: int) -> None:
        run([openmpi.python, "-m", "scalatrace.record.shim", library], env=env, timeout=300).check()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))
    assert len(list(tmp_path.glob("libscalatrace_mpi-*.so"))) == 1
    assert len(list(tmp_path.glob("libscalatrace_core-*.so"))) == 1
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


@pytest.mark.parametrize("notice", ["", "compiling something"])
@pytest.mark.parametrize("takes_s", [0.0, 0.5])
def test_long_builds_are_announced(
    notice: str,
    takes_s: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SCALATRACE_CACHE", str(tmp_path))
    monkeypatch.setattr(building, "SILENT_S", 0.1)

    def build(_: Path) -> bytes:
        time.sleep(takes_s)
        return b"a library"

    for _ in range(2):  # the second finds it
        assert building.built_once("lib.so", "a library", build, notice).read_bytes() == b"a library"
    announced = f"scalatrace: {notice}\n" if notice and takes_s else ""
    assert capsys.readouterr().err == announced
