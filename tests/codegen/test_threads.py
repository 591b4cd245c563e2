"""Programs of traces with several threads: run and recorded, they give an equal trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from scalatrace import load
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.errors import ScalatraceError
from scalatrace.trace.io.writer import dumps
from support.generated import compiled
from support.mpis import Mpi
from support.running import record, run, scalatrace
from support.thread_scripts import NITERATIONS, NRANKS, Script, random_runs, scripts

pytestmark = pytest.mark.mpi

FOLDER = "bench-io"
PROGRAMS = Path(__file__).parents[1] / "record" / "programs"


@pytest.fixture(scope="session")
def threads(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program whose threads make the calls of a script."""
    binary = tmp_path_factory.mktemp("threads") / "streams"
    run([openmpi.mpicc, "-w", "-o", binary, PROGRAMS / "streams.c"], env=openmpi.environment()).check()
    return binary


def recorded(mpi: Mpi, program: Path, script: str, folder: Path) -> Path:
    """Record a script."""
    source, path = folder / "script", folder / "a.st"
    source.write_text(script)
    record(mpi, NRANKS, [program, source], path, timeout=60).check()
    return path


def check_program(mpi: Mpi, path: Path, language: str, folder: Path) -> None:
    """Run the program of a trace under the recorder, and compare the two traces."""
    source, again = folder / f"bench.{'c' if language == 'c' else 'py'}", folder / "again.st"
    options = GenerateOptions(compute_scale=0.01)
    source.write_text(generate(load(path), language, options).text)
    command = [compiled(mpi, source)] if language == "c" else [str(mpi.python), source]
    record(mpi, load(path).nprocs, command, again, timeout=90).check()
    made = load(again)
    made.strings = [text.removeprefix(f"{FOLDER}/") for text in made.strings]
    again.write_bytes(dumps(made))
    shown = scalatrace(mpi, "diff", "--ignore", "callsites,times", path, again)
    assert shown.stdout.strip() == "equal"


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("nprograms", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_programs_of_random_threads(
    openmpi: Mpi, threads: Path, tmp_path_factory: pytest.TempPathFactory, nprograms: int, language: str
) -> None:
    """A program makes the recorded calls, by the same threads, with what they share in the recorded order."""

    @random_runs(nprograms)
    @given(script=scripts(partitioned=False))
    def check(script: Script) -> None:
        folder = tmp_path_factory.mktemp("generated")
        check_program(openmpi, recorded(openmpi, threads, script.text(NITERATIONS), folder), language, folder)

    check()


SHARED = """\
2 3
0 dup 0 1
0 signal 0
1 await 0
1 exchange 50 7 1 2
1 signal 1
0 await 1
0 release 1
"""
"""A thread uses a communicator that another one makes and frees."""


@pytest.mark.parametrize("language", ["c", "python"])
def test_programs_of_two_threads(openmpi: Mpi, threads: Path, language: str, tmp_path: Path) -> None:
    check_program(openmpi, recorded(openmpi, threads, SHARED, tmp_path), language, tmp_path)


def test_refused(openmpi: Mpi, threads: Path, tmp_path: Path) -> None:
    """What takes one thread of each rank says so in one line."""
    trace = load(recorded(openmpi, threads, SHARED, tmp_path))
    with pytest.raises(ScalatraceError, match="2 threads of a rank call MPI, and conceptual has no threads"):
        generate(trace, "conceptual")
    for options in (
        GenerateOptions(absolute_ranks=True),
        GenerateOptions(by_messages=True),
        GenerateOptions(EmitOptions(hosted=True)),
    ):
        with pytest.raises(ScalatraceError, match="and this takes one thread of each rank"):
            generate(trace, "c", options)


@pytest.mark.parametrize("language", ["c", "python"])
def test_names_do_not_leak(openmpi: Mpi, threads: Path, language: str, tmp_path: Path) -> None:
    """An obfuscated program of several threads has words of the language and the library only."""
    trace = load(recorded(openmpi, threads, SHARED, tmp_path))
    assert "thread1" in generate(trace, language, GenerateOptions(obfuscate=True)).text


ONE_CHANNEL = """\
2 2
0 irecv 0 100 5 0
0 signal 0
1 await 0
1 irecv 2 200 5 0
1 isend 1 100 5 0
1 isend 3 200 5 0
1 wait 2
0 wait 0
1 wait 1
1 wait 3
"""
"""Two threads receive messages of different sizes on one channel, in an order that no trace has."""


@pytest.mark.parametrize("language", ["c", "python"])
def test_receives_have_room_for_messages_of_other_threads(
    openmpi: Mpi, threads: Path, language: str, tmp_path: Path
) -> None:
    text = generate(load(recorded(openmpi, threads, ONE_CHANNEL, tmp_path)), language).text
    assert text.count("Irecv(200, ") == 2
    assert "Irecv(100, " not in text
