"""Record, replay, record: the two traces are equal. With MPI, on few ranks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scalatrace import load
from support.mpis import Mpi
from support.programs import PYTHON_SAMPLES, Sample
from support.running import mpirun, record, scalatrace

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]

PROGRAM = Path(__file__).with_name("chapters.py")
CHAPTERS = (
    "p2p", "completion", "persistent", "partitioned", "probe", "collectives", "vectors", "nonblocking",
    "persistent_collectives", "communicators", "topologies", "datatypes", "one_sided", "files",
    "file_transfers", "shared_pointers", "addresses", "no_process", "dynamic_windows", "ports",
)  # fmt: skip
IGNORED = {
    **dict.fromkeys(("files", "file_transfers", "shared_pointers"), "callsites,times,filename"),
    "dynamic_windows": "callsites,times,target_disp",
    "ports": "callsites,times,port_name",
}
"""A replay does not touch the program's files, has other addresses and opens ports of its own."""
PYTHON_ONLY = ("dynamic_windows", "ports")
"""Chapters of which no program can be generated."""
SOURCES = ("ring.py", "subcomms.py", "pickled.py", "persistent.py")
QUICK = tuple(s for s in PYTHON_SAMPLES if s.source in SOURCES)
SLOW_CHAPTERS = (
    "persistent", "probe", "vectors", "nonblocking", "topologies", "file_transfers", "shared_pointers",
    "addresses", "no_process", "partitioned", "persistent_collectives", "communicators",
)  # fmt: skip
"""Chapters that differ from the others in the names of the calls only."""
QUICK_COMPILED = ("p2p", "ring.py")
"""The chapters and samples whose compiled replays are quick tests, too: compiling takes a second."""


def by_engine(names: Sequence[str], values: Sequence[object] = ()) -> list[object]:
    """Parameters (chapter or sample, engine)."""
    return [
        pytest.param(
            value,
            engine,
            id=f"{name}-{engine}",
            marks=[pytest.mark.slow]
            if name in SLOW_CHAPTERS or (engine == "compiled" and name not in QUICK_COMPILED)
            else [],
        )
        for name, value in zip(names, values or names, strict=True)
        for engine in ("python", "compiled")
        if engine == "python" or name not in PYTHON_ONLY
    ]


@pytest.fixture(scope="module")
def persistent(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the chapter of persistent requests on two ranks."""
    trace = tmp_path_factory.mktemp("persistent") / "a.st"
    record(openmpi, 2, [str(openmpi.python), PROGRAM, "persistent"], trace).check()
    return trace


def replay_and_record(mpi: Mpi, nprocs: int, trace: Path, *options: str) -> Path:
    again = trace.with_name("again.st")
    command = [*mpi.scalatrace(), "replay", trace, "--compute", "none", *options]
    record(mpi, nprocs, command, again).check()
    return again


def assert_equal(mpi: Mpi, left: Path, right: Path, ignore: str = "callsites,times") -> None:
    assert scalatrace(mpi, "diff", left, right, "--ignore", ignore).check().stdout.strip() == "equal"


@pytest.mark.parametrize(("chapter", "engine"), by_engine(CHAPTERS))
def test_chapters(openmpi_first: Mpi, chapter: str, engine: str, tmp_path: Path) -> None:
    mpi, trace = openmpi_first, tmp_path / "a.st"
    record(mpi, 2, [str(mpi.python), PROGRAM, chapter], trace).check()
    again = replay_and_record(mpi, 2, trace, "--verify", "--engine", engine)
    assert_equal(mpi, trace, again, IGNORED.get(chapter, "callsites,times"))


@pytest.mark.parametrize(("sample", "engine"), by_engine([s.source for s in QUICK], QUICK))
def test_samples(openmpi: Mpi, sample: Sample, engine: str, recorded: Recorder, tmp_path: Path) -> None:
    trace = Path(shutil.copy(recorded(openmpi, 4, sample)[0], tmp_path))
    assert_equal(openmpi, trace, replay_and_record(openmpi, 4, trace, "--verify", "--engine", engine))


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_the_report_of_a_replay(openmpi: Mpi, engine: str, persistent: Path, tmp_path: Path) -> None:
    command = [*openmpi.scalatrace(), "replay", persistent, "--verify", "--json", "--engine", engine]
    facts = json.loads(mpirun(openmpi, 2, command, cwd=tmp_path).check().stdout)
    assert facts["engine"] == engine
    assert facts["nprocs"] == 2
    assert facts["unequal"] == []
    assert facts["calls"]["Start"] == 22
    assert facts["wall_s"] >= facts["computed_s"] > 0
    assert facts["recorded_s"] > 0


@pytest.mark.parametrize("level", ["single", "funneled", "multiple"])
def test_a_replay_has_the_thread_level_of_the_program(mpi: Mpi, level: str, tmp_path: Path) -> None:
    """With more, MPI locks and each call takes longer."""
    trace, program = tmp_path / "a.st", tmp_path / "level.py"
    program.write_text(
        f"import mpi4py\nmpi4py.rc.thread_level = '{level}'\n"
        "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
    )
    record(mpi, 2, [str(mpi.python), program], trace).check()
    assert load(trace).meta["thread-level"] == level
    assert load(replay_and_record(mpi, 2, trace)).meta["thread-level"] == level


def test_another_number_of_ranks_is_said_once(openmpi: Mpi, persistent: Path, tmp_path: Path) -> None:
    done = mpirun(openmpi, 3, [*openmpi.scalatrace(), "replay", persistent], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("the trace is of 2 ranks, this is 3") == 1
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_trace_is_said_once(mpi: Mpi, tmp_path: Path) -> None:
    done = mpirun(mpi, 2, [*mpi.scalatrace(), "replay", tmp_path / "no.st"], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("no.st") == 1


def test_a_fault_on_one_rank_ends_all(openmpi: Mpi, tmp_path: Path) -> None:
    """Rank 1 finds no communicator to use; rank 0 would wait for its message for ever."""
    trace, text = tmp_path / "a.st", tmp_path / "a.txt"
    record(openmpi, 2, [str(openmpi.python), PROGRAM, "probe"], trace).check()
    shown = scalatrace(openmpi, "show", trace, "--text").check().stdout
    text.write_text(shown.replace('type "MPI_DOUBLE" size 8', 'type "MPI_DOUBLE" size 9'))
    scalatrace(openmpi, "pack", text, "-o", trace).check()
    done = mpirun(openmpi, 2, [*openmpi.scalatrace(), "replay", trace], cwd=tmp_path, timeout=60)
    assert done.returncode != 0
    assert "MPI_DOUBLE has size 8" in done.stderr


GENERALIZED = """
from mpi4py import MPI
for _ in range(3):
    request = MPI.Grequest.Start(lambda status: None, lambda: None, lambda completed: None)
    request.Complete()
    while MPI.Request.Testsome([request]) == []:
        pass
MPI.COMM_WORLD.Barrier()
"""


def test_calls_that_complete_generalized_requests_only(openmpi_first: Mpi, tmp_path: Path) -> None:
    """These requests are no calls of MPI to repeat: the replay passes null requests."""
    trace, program = tmp_path / "a.st", tmp_path / "generalized.py"
    program.write_text(GENERALIZED)
    record(openmpi_first, 2, [str(openmpi_first.python), program], trace).check()
    command = [*openmpi_first.scalatrace(), "replay", trace, "--verify", "--json"]
    facts = json.loads(mpirun(openmpi_first, 2, command, cwd=tmp_path).check().stdout)
    assert (facts["unequal"], facts["calls"]["Testsome"]) == ([], 6)


THREADED = """
import threading
from mpi4py import MPI
for _ in range(2):
    thread = threading.Thread(target=MPI.COMM_WORLD.Barrier)
    thread.start()
    thread.join()
"""


def test_threads_of_a_rank_that_call_one_after_another(openmpi: Mpi, tmp_path: Path) -> None:
    trace, program = tmp_path / "a.st", tmp_path / "threaded.py"
    program.write_text(THREADED)
    record(openmpi, 2, [str(openmpi.python), program], trace).check()
    command = [*openmpi.scalatrace(), "replay", trace, "--verify", "--json"]
    facts = json.loads(mpirun(openmpi, 2, command, cwd=tmp_path).check().stdout)
    assert (facts["unequal"], facts["calls"]["Barrier"]) == ([], 4)
