"""The program chooses the MPI: the preloaded library finds it at the first call, however it was started."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, plain, sorted_lines
from scalatrace import load
from scalatrace.compilers.elf import linked_mpi
from scalatrace.pmpi.generate import front_names
from scalatrace.record.shim import find_shim, front_environment
from support.mpis import ROOT, Mpi
from support.running import Argument, Finished, mpirun, record, run, scalatrace

BARRIERS = {"Barrier": 3}


def counted(trace: Path, rank: int = 0) -> Counter[str]:
    return Counter(call.op for call in load(trace).walk(rank))


def library_of(mpi: Mpi, build: Builder) -> Path:
    library = linked_mpi(build(mpi, "late.c"))
    assert library is not None
    return library


def test_the_names_are_those_of_the_generator() -> None:
    assert (ROOT / "scalatrace/front/names.def").read_text() == front_names()


@pytest.mark.mpi
@pytest.mark.parametrize("flag", ["local", "deepbind"])
def test_functions_of_a_handle(mpi: Mpi, build: Builder, tmp_path: Path, flag: str) -> None:
    trace = tmp_path / "a.st"
    argv: list[Argument] = [build(mpi, "opens.c"), library_of(mpi, build), flag]
    done = record(mpi, 2, argv, trace)
    assert done.returncode == 7
    # mpiexec ends the other rank when it sees the status, and may mix what both write.
    assert "done" in done.stdout
    assert not done.stdout.replace("done", "").split()
    assert counted(trace) == BARRIERS


@pytest.mark.mpi
def test_functions_by_ctypes(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    code = (
        "import ctypes, sys; mpi = ctypes.CDLL(sys.argv[1]); mpi.MPI_Init(None, None); "
        "world = ctypes.addressof(ctypes.c_char.in_dll(mpi, 'ompi_mpi_comm_world')); "
        "[mpi.MPI_Barrier(ctypes.c_void_p(world)) for _ in range(3)]; mpi.MPI_Finalize()"
    )
    trace = tmp_path / "a.st"
    python = openmpi.python or sys.executable
    record(openmpi, 2, [python, "-c", code, library_of(openmpi, build)], trace).check()
    assert counted(trace) == BARRIERS


@pytest.mark.mpi
def test_a_library_that_is_bound_past_the_tracer(openmpi: Mpi, tmp_path: Path) -> None:
    """A line says so; that the program never called MPI_Init would be false."""
    library, program = tmp_path / "uses.so", tmp_path / "opens"
    calls = tmp_path / "calls.c"
    calls.write_text(
        "#include <mpi.h>\nint go(void) { return MPI_Init(0, 0) || MPI_Barrier(MPI_COMM_WORLD) "
        "|| MPI_Finalize(); }\n"
    )
    host = tmp_path / "host.c"
    host.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\nint main(int argc, char **argv) { int (*go)(void) = "
        'dlsym(dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND), "go"); return go(); }\n'
    )
    run([openmpi.mpicc, "-shared", "-fPIC", "-o", library, calls], env=openmpi.environment()).check()
    run(["cc", "-o", program, host, "-ldl"]).check()
    done = record(openmpi, 2, [program, library], tmp_path / "a.st").check()
    assert done.stderr.count("called MPI past the tracer") == 1


@pytest.mark.mpi
def test_a_constructor_that_calls_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """Constructors of libraries run before those of preloaded ones: libmpi_cxx.so of Open MPI 4 has one."""
    early, program, trace = tmp_path / "libearly.so", tmp_path / "uses", tmp_path / "a.st"
    (tmp_path / "early.c").write_text(
        "#include <mpi.h>\nint early = 1;\n"
        "__attribute__((constructor)) static void start(void) { MPI_Initialized(&early); }\n"
    )
    (tmp_path / "uses.c").write_text(
        "#include <mpi.h>\nextern int early;\nint main(int argc, char **argv) {\n"
        "    MPI_Init(&argc, &argv);\n    for (int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_WORLD);\n"
        "    MPI_Finalize();\n    return early;\n}\n"
    )
    environment = mpi.environment()
    run([mpi.mpicc, "-shared", "-fPIC", "-o", early, tmp_path / "early.c"], env=environment).check()
    place = [f"-L{tmp_path}", "-learly", f"-Wl,-rpath,{tmp_path}"]
    run([mpi.mpicc, "-o", program, tmp_path / "uses.c", *place], env=environment).check()
    record(mpi, 2, [program], trace).check()
    assert counted(trace) == BARRIERS


@pytest.mark.mpi
def test_another_tool(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    tool, trace = tmp_path / "tool.so", tmp_path / "a.st"
    source = PROGRAMS / "other_tool.c"
    run([mpi.mpicc, "-shared", "-fPIC", "-o", tool, source], env=mpi.environment()).check()
    program = build(mpi, "pointtopoint.c")
    preload = {"LD_PRELOAD": str(tool)}
    alone = mpirun(mpi, 2, [program], cwd=tmp_path, env=preload).check()
    both = record(mpi, 2, [program], trace, env=preload).check()
    assert sorted_lines(both) == sorted_lines(alone)
    record(mpi, 2, [program], tmp_path / "b.st").check()
    assert counted(trace) == counted(tmp_path / "b.st")


@pytest.mark.mpi
@pytest.mark.parametrize(
    "starter",
    [
        ["env", "X=1"],
        ["nice"],
        ["sh", "-c", 'true; exec "$0"'],
        ["sh", "-c", '"$0"; exit $?'],
        [sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"],
        # MPICH's ranks inherit the connection to their launcher.
        [
            sys.executable,
            "-c",
            "import subprocess as p, sys as s; s.exit(p.call(s.argv[1:], close_fds=False))",
        ],
    ],
)
def test_starters(mpi: Mpi, openmpi: Mpi, build: Builder, tmp_path: Path, starter: list[str]) -> None:
    """Also with the recorder of an environment that has another MPI."""
    trace = tmp_path / "a.st"
    command = [*openmpi.recorder(), "-o", trace, "--", *starter, build(mpi, "late.c")]
    done = mpirun(mpi, 2, command, cwd=tmp_path, timeout=300).check()
    assert sorted_lines(done) == sorted_lines(plain(mpi, 2, [build(mpi, "late.c")], tmp_path))
    assert load(trace).nprocs == 2


@pytest.mark.mpi
def test_the_mpi_that_mpi4py_is_told_to_load(
    openmpi: Mpi, mpich: Mpi, build: Builder, tmp_path: Path
) -> None:
    trace, code = tmp_path / "a.st", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    python = openmpi.python or sys.executable
    variables = {"MPI4PY_LIBMPI": str(library_of(mpich, build))}
    command = [*openmpi.recorder(), "-o", trace, "--", python, "-c", code]
    mpirun(mpich, 2, command, cwd=tmp_path, env=variables, timeout=300).check()
    assert counted(trace) == {"Barrier": 1}
    assert load(trace).nprocs == 2


@pytest.mark.mpi
def test_the_standard_abi(mpich: Mpi, tmp_path: Path) -> None:
    compiler = mpich.mpicc.with_name("mpicc_abi")
    if not compiler.exists():
        pytest.skip("this MPICH has no mpicc_abi")
    program, trace, logs = tmp_path / "late", tmp_path / "a.st", tmp_path / "logs"
    run([compiler, "-o", program, PROGRAMS / "collectives.c"], env=mpich.environment()).check()
    done = record(mpich, 4, [program], trace, options=["--flat-log", logs], timeout=300).check()
    assert not done.warnings
    scalatrace(mpich, "verify", trace, logs).check()
    assert load(trace).nevents() > 0
    assert "libmpi_abi" in scalatrace(mpich, "check", program).check().stdout


@pytest.mark.parametrize("flags", [[], ["-Wl,-z,now,-z,relro"], ["-no-pie"]])
@pytest.mark.mpi
def test_mpi_as_an_option(openmpi: Mpi, tmp_path: Path, flags: list[str]) -> None:
    """References to functions that are not there stay null; those of this MPI are there."""
    source, program = PROGRAMS / "optional_mpi.c", tmp_path / "optional"
    run(["cc", "-w", *flags, "-o", program, source, "-ldl"]).check()
    for preload in ({}, {"LD_PRELOAD": str(_library(openmpi))}):
        untraced = run([program], env={**openmpi.environment(), **preload}).check()
        command = [*openmpi.recorder(), "--quiet", "--", program]
        done = run(command, env={**openmpi.environment(), **preload}, cwd=tmp_path).check()
        assert done.stdout == untraced.stdout


def _library(mpi: Mpi) -> Path:
    return mpi.mpicc.parent.parent / "lib" / ("libmpi.so.40" if mpi.family == "openmpi" else "libmpi.so.12")


# -- shims ------------------------------------------------------------------------------------------------


def _alone(mpi: Mpi, program: Path, trace: Path, **variables: str) -> Finished:
    """Record one rank of a program without a compiler on the PATH."""
    env = {**mpi.environment(), "PATH": "/nonexistent", **variables}
    return run([*mpi.recorder(), "-o", trace, "--", program], env=env, cwd=trace.parent)


@pytest.fixture
def copied(openmpi: Mpi, build: Builder, tmp_path: Path) -> Path:
    """A program with a copy of its MPI library, beside which no compiler is."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    library = library_of(openmpi, build)
    shutil.copy(library, folder)
    program = tmp_path / "barriers"
    source = tmp_path / "barriers.c"
    source.write_text(
        "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); "
        "return 7; }\n"
    )
    run([openmpi.mpicc, "-o", program, source], env=openmpi.environment()).check()
    return program


@pytest.mark.mpi
def test_a_node_without_a_compiler(openmpi: Mpi, copied: Path, build: Builder, tmp_path: Path) -> None:
    """With a shim from elsewhere the program is recorded, without one it runs all the same."""
    library, shims, trace = library_of(openmpi, build), tmp_path / "shims", tmp_path / "a.st"
    record(openmpi, 1, [copied], tmp_path / "first.st", timeout=300)
    shim = find_shim(library)
    assert shim is not None
    variables = {"SCALATRACE_CACHE": str(tmp_path / "cache")}
    made = run(
        [*openmpi.scalatrace(), "doctor", "--build", "--into", shims],
        env={**openmpi.environment(), "SCALATRACE_SHIMS": str(shim.parent)},
    )
    assert (shims / shim.name).exists(), made.stdout
    done = _alone(openmpi, copied, trace, **variables, SCALATRACE_SHIMS=str(shims))
    assert done.returncode == 7
    assert counted(trace) == {"Barrier": 1}
    done = _alone(openmpi, copied, tmp_path / "b.st", **variables, MPICC="/bin/false")
    assert done.returncode == 7
    assert done.stderr.count("nothing is recorded") == 1
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "b.st").exists()


@pytest.mark.mpi
def test_one_of_three_nodes_without_a_tracer(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """It says why, and the other ranks go on after the limit."""
    start = tmp_path / "start.sh"
    recorder = shlex.join(mpi.recorder())
    start.write_text(
        f"""#!/bin/bash
[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ] && export SCALATRACE_SHIM_FLAGS=-fno-such-flag
exec {recorder} -o a.st -- {build(mpi, "late.c")}
"""
    )
    start.chmod(0o755)
    env = {"SCALATRACE_WAIT_LIMIT": "2"}
    done = mpirun(mpi, 3, [start], cwd=tmp_path, env=env)
    assert done.returncode == 0
    assert "nothing is recorded: " in done.stderr
    assert "only 2 of 3 ranks of MPI_COMM_WORLD reached the tracer" in done.stderr


@pytest.mark.mpi
def test_a_container_without_the_package(openmpi: Mpi, copied: Path, tmp_path: Path) -> None:
    """It sees the cache only: neither the package nor its Python."""
    record(openmpi, 1, [copied], tmp_path / "first.st", timeout=300)
    trace = tmp_path / "a.st"
    front = {**front_environment(), "SCALATRACE_OUTPUT": str(trace)}
    front["SCALATRACE_PYTHON"] = "/nonexistent/python"
    env = {**openmpi.environment(), **front, "LD_PRELOAD": front["SCALATRACE_FRONT"]}
    assert not front["SCALATRACE_FRONT"].startswith(str(ROOT / "scalatrace"))
    done = run([copied], env=env, cwd=tmp_path)
    assert done.returncode == 7
    assert counted(trace) == {"Barrier": 1}
    done = run([copied], env={**env, "SCALATRACE_SHIM_FOLDERS": "/nonexistent"}, cwd=tmp_path)
    assert done.returncode == 7
    assert done.stderr.count("nothing is recorded; run scalatrace doctor --build") == 1


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["with space", "a:b"])
def test_a_cache_whose_path_separates_words(
    openmpi: Mpi, copied: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD_PRELOAD has no way to quote."""
    record(openmpi, 1, [copied], tmp_path / "first.st", timeout=300)
    words = front_environment()["SCALATRACE_SHIM_FOLDERS"].split("\x1f")
    folders = [Path(word.removeprefix("!")) for word in words]
    shim_folder = next(folder for folder in folders if list(folder.glob("libscalatrace_mpi-*")))
    cache, trace = tmp_path / name, tmp_path / "a.st"
    env = {"SCALATRACE_CACHE": str(cache), "SCALATRACE_SHIMS": str(shim_folder), "TMPDIR": "/tmp"}
    done = record(openmpi, 1, [copied], trace, env=env)
    assert done.returncode == 7
    assert counted(trace) == {"Barrier": 1}


# -- instrumented programs --------------------------------------------------------------------------------


@pytest.mark.mpi
def test_a_sanitized_program(openmpi: Mpi, tmp_path: Path) -> None:
    program, trace = tmp_path / "late", tmp_path / "a.st"
    command: list[Argument] = [openmpi.mpicc, "-fsanitize=address", "-o", program, PROGRAMS / "late.c"]
    if run(command, env=openmpi.environment()).returncode:
        pytest.skip("no address sanitizer here")
    env = {"ASAN_OPTIONS": "detect_leaks=0"}
    untraced = mpirun(openmpi, 2, [program], cwd=tmp_path, env=env).check()
    assert sorted_lines(record(openmpi, 2, [program], trace, env=env).check()) == sorted_lines(untraced)
    assert load(trace).nprocs == 2


@pytest.mark.mpi
def test_a_profiler_whose_timer_survives_exec(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    profiler, trace = tmp_path / "profiler.so", tmp_path / "a.st"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", profiler, PROGRAMS / "profiler.c"], check=True)
    command = ["env", f"LD_PRELOAD={profiler}", *openmpi.recorder(), "-o", trace]
    for _ in range(5):  # a signal comes before the handler is there, or does not
        mpirun(openmpi, 2, [*command, "--", build(openmpi, "late.c")], cwd=tmp_path).check()
        assert load(trace).nprocs == 2
