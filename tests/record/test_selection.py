"""A selection leaves of a program what one would pick from its whole log; the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace as package
from record.conftest import PROGRAMS, Builder, Traced
from record.picking import Entry, is_in, keys, picked_keys
from scalatrace.operations import Category
from support.mpis import Mpi
from support.running import Argument, mpirun, record, scalatrace

pytestmark = pytest.mark.mpi

PROGRAM = PROGRAMS / "selected.py"
P2P = (Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE, Category.PERSISTENT)
COLLECTIVE = (Category.COLLECTIVE, Category.NEIGHBOUR)
Whole = Callable[[Mpi, int, list[Argument]], Path]

RECEIVES = ("Recv", "Irecv", "Recv_init", "Mprobe", "Improbe")
LINES = {text: n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1)}
FIRST, LAST = LINES["def exchange(comm: MPI.Comm) -> None:"], LINES["    requests[0].Wait()"]


def _passes(entry: Entry, low: int, high: int) -> bool:
    frames = (frame.rsplit(":", 2) for frame in entry.stack)
    return any(file.endswith("selected.py") and low <= int(line) <= high for file, line, _ in frames)


#: Options, and which of the calls they leave to choice they select.
SELECTIONS: dict[str, Callable[[Entry], bool]] = {
    "--only collective": lambda e: is_in(e, *COLLECTIVE),
    "--only P2P --except Send*": lambda e: is_in(e, *P2P) and not e.op.startswith("Send"),
    "--only Irecv,recv,MPI_Recv_init,mrecv": lambda e: e.op in RECEIVES,
    "--min-bytes 9 --max-bytes 2k": lambda e: 9 <= e.nbytes <= 2048,
    "--communicators cart,s*t": lambda e: e.comm.kind in ("cart", "split"),
    f"--only-sites selected.py:{FIRST}-{LAST}": lambda e: _passes(e, FIRST, LAST),
    f"--except-sites selected.py:{FIRST}-{LAST} --min-bytes 1": lambda e: (
        not _passes(e, FIRST, LAST) and e.nbytes > 0
    ),
    "--window 1000-": lambda e: False,
    "--window 1000- --window -500": lambda e: True,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs write: a file's name is recorded."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """whole(mpi, nprocs, argv) -> the logs of a run of which everything is recorded."""
    done: dict[tuple[str, Argument], Path] = {}

    def make(mpi: Mpi, nprocs: int, argv: list[Argument]) -> Path:
        key = (mpi.name, argv[-2])
        if key not in done:
            folder = tmp_path_factory.mktemp("whole")
            done[key] = folder / "logs"
            record(mpi, nprocs, argv, folder / "a.st", options=["--flat-log", done[key]]).check()
        return done[key]

    return make


def _agree(logs: Path, run: Traced, nprocs: int, wanted: Callable[[Entry], bool]) -> int:
    """Assert that a run recorded what should be left of the whole; how many events that is."""
    run.finished.check()
    assert "scalatrace:" not in run.finished.warnings
    for rank in range(nprocs):
        assert keys(run.logs, rank) == picked_keys(logs, rank, wanted)
    return sum(len(keys(run.logs, rank)) for rank in range(nprocs))


@pytest.mark.parametrize(
    "options",
    [pytest.param(one, marks=() if i % 2 else pytest.mark.slow) for i, one in enumerate(SELECTIONS)],
)
def test_what_is_left(
    openmpi_first: Mpi, options: str, whole: Whole, traced: Callable[..., Traced], data: Path
) -> None:
    mpi = openmpi_first
    argv: list[Argument] = [str(mpi.python), PROGRAM, data]
    logs = whole(mpi, 2, argv)
    run = traced(mpi, 2, argv, *options.split())
    left = _agree(logs, run, 2, SELECTIONS[options])
    assert f"{left:,} events" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    everything = sum(len(keys(logs, rank)) for rank in range(2))
    trace = package.load(run.trace)
    assert trace.nevents() == left
    assert (trace.counts.get("not selected", 0) > 0) == (left < everything)
    assert trace.meta["selection"].split("=")[0] == options.split("=")[0].split()[0].removeprefix("--")


@pytest.mark.parametrize(
    ("source", "options"),
    [
        pytest.param(source, options, marks=() if i == k % 3 else pytest.mark.slow)
        for k, source in enumerate(["collectives.c", "onesided_io.c", "mpi4.c", "pointtopoint.c", "some.c"])
        for i, options in enumerate(
            ["--min-bytes 4 --max-bytes 32", "--communicators world", "--only Irecv,Mrecv"]
        )
    ],
)
def test_compiled_programs(
    mpi: Mpi,
    source: str,
    options: str,
    build: Builder,
    whole: Whole,
    traced: Callable[..., Traced],
    data: Path,
) -> None:
    """Intercommunicators, partitions, split collectives, sequences of Waitsome."""
    select: dict[str, Callable[[Entry], bool]] = {
        "--min-bytes 4 --max-bytes 32": lambda e: 4 <= e.nbytes <= 32,
        "--communicators world": lambda e: e.comm.kind == "world",
        "--only Irecv,Mrecv": lambda e: e.op in ("Irecv", "Mprobe", "Improbe"),
    }
    nprocs = 4 if source == "collectives.c" else 2
    argv: list[Argument] = [build(mpi, source), data / "file"]
    logs = whole(mpi, nprocs, argv)
    _agree(logs, traced(mpi, nprocs, argv, *options.split()), nprocs, select[options])


def _agree_in_numbers(logs: Path, run: Traced, nprocs: int, wanted: Callable[[Entry], bool]) -> None:
    """For programs whose MPI chooses which request is the first to complete."""
    run.finished.check()
    for rank in range(nprocs):
        assert run.ops(rank) == Counter(op for op, *_ in picked_keys(logs, rank, wanted))


@pytest.mark.parametrize(
    "options",
    ["--only Irecv", *(pytest.param(o, marks=pytest.mark.slow) for o in ("--only Isend", "--except Irecv"))],
)
def test_completion(
    mpi: Mpi, options: str, build: Builder, whole: Whole, traced: Callable[..., Traced], data: Path
) -> None:
    """All ways to complete requests."""
    argv: list[Argument] = [build(mpi, "completion.c"), data / "file"]
    logs = whole(mpi, 2, argv)
    run = traced(mpi, 2, argv, *options.split())
    scalatrace(mpi, "verify", run.trace, run.logs).check()
    how, name = options.split()
    _agree_in_numbers(logs, run, 2, lambda entry: (entry.op == name) == (how == "--only"))


def test_fortran(
    any_mpi: Mpi, build: Builder, whole: Whole, traced: Callable[..., Traced], data: Path
) -> None:
    argv: list[Argument] = [build(any_mpi, "bindings.f90"), data / "file"]
    logs = whole(any_mpi, 4, argv)
    run = traced(any_mpi, 4, argv, "--except", "collective", "--max-bytes", "64")
    _agree_in_numbers(logs, run, 4, lambda e: not is_in(e, *COLLECTIVE) and e.nbytes <= 64)


def test_native_sites(mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """A module is a file, its offsets are lines."""
    program = build(mpi, "some.c")
    run = traced(mpi, 1, [program], "--only-sites", program.name)
    assert run.calls(0)
    assert not traced(mpi, 1, [program], "--only-sites", f"{program.name}:0-1").calls(0)


NAMED = """
from mpi4py import MPI
world = MPI.COMM_WORLD
rows = world.Split(0, world.rank)
rows.Barrier()
rows.Set_name("rows")
rows.Barrier()
window = MPI.Win.Allocate(8, comm=rows)
window.Fence()
rows.Set_name("other")
rows.Barrier()
world.Barrier()
"""


def test_names_given_to_communicators(mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    """A name counts from when it is given; a window is on the communicator as it was called then."""
    (tmp_path / "named.py").write_text(NAMED)
    run = traced(mpi, 2, [mpi.python, tmp_path / "named.py"], "--communicators", "row*")
    run.finished.check()
    assert [call.op for call in run.calls(0)] == ["Comm_split", "Barrier", "Win_allocate", "Win_fence"]


QUERIES = """
from mpi4py import MPI
MPI.COMM_WORLD.Get_rank()
MPI.COMM_WORLD.Barrier()
MPI.COMM_WORLD.Iprobe()
"""


def test_queries_are_selected_too(mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    (tmp_path / "queries.py").write_text(QUERIES)
    run = traced(mpi, 1, [mpi.python, tmp_path / "queries.py"], "--record-queries", "--only", "Comm_rank")
    run.finished.check()
    assert run.ops(0) == {"Comm_rank": run.ops(0)["Comm_rank"]}
    counts = package.load(run.trace).counts
    assert (counts["Barrier"], counts["Iprobe"]) == (1, 1)


SLOW = """
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
MPI.COMM_SELF.Barrier()
time.sleep(0.3)
MPI.COMM_SELF.Barrier()
MPI.COMM_WORLD.Barrier()
"""


def test_what_is_left_out_is_computation(mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    run = traced(mpi, 1, [mpi.python, tmp_path / "slow.py"], "--communicators", "world")
    run.finished.check()
    first, second = package.load(run.trace).walk(0)
    assert (first.op, second.op) == ("Barrier", "Barrier")
    assert second.stat("compute_ns").mean >= 0.3e9


SWITCHED = """
import numpy as np, scalatrace
from mpi4py import MPI
comm = MPI.COMM_SELF
def pair(tag):
    return [comm.Irecv(np.zeros(1), 0, tag), comm.Isend(np.zeros(1), 0, tag)]
first = pair(1)
with scalatrace.tracing(False):
    second = pair(2)
MPI.Request.Waitall(first)
MPI.Request.Waitall(second)
comm.Barrier()
"""


def test_beside_the_switch(mpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    """What happens while recording is off is not counted as left out."""
    (tmp_path / "switched.py").write_text(SWITCHED)
    run = traced(mpi, 1, [mpi.python, tmp_path / "switched.py"], "--only", "p2p")
    run.finished.check()
    assert run.ops(0)["Isend"] == run.ops(0)["Irecv"] == 1
    counts = package.load(run.trace).counts
    assert counts["switched off"] == 2
    assert counts["not selected"] == 2  # the Barrier, and the Waitall of requests that are not recorded


def test_a_replay_of_the_collective_part(
    mpi: Mpi, whole: Whole, traced: Callable[..., Traced], data: Path, tmp_path: Path
) -> None:
    argv: list[Argument] = [str(mpi.python), PROGRAM, data]
    run = traced(mpi, 2, argv, "--only", "collective")
    run.finished.check()
    again = tmp_path / "again.st"
    replay: list[Argument] = [
        *mpi.scalatrace(),
        "replay",
        run.trace,
        "--compute",
        "none",
        "--io-folder",
        data,
    ]
    record(mpi, 2, replay, again, timeout=120).check()
    scalatrace(mpi, "diff", run.trace, again, "--ignore", "callsites,times,filename").check()


def test_a_replay_of_half_a_conversation_is_refused(
    mpi: Mpi, traced: Callable[..., Traced], data: Path, tmp_path: Path
) -> None:
    run = traced(mpi, 2, [str(mpi.python), PROGRAM, data], "--only", "Irecv")
    run.finished.check()
    command: list[Argument] = [*mpi.scalatrace(), "replay", run.trace]
    refused = mpirun(mpi, 2, command, cwd=tmp_path, timeout=60)
    assert refused.returncode != 0
    said = [line for line in refused.stderr.splitlines() if line.startswith("scalatrace:")]
    assert len(said) == 1
    assert "only=Irecv" in said[0]
    assert "waits for 3 messages with tag 0" in said[0]


def test_what_info_says(openmpi: Mpi, traced: Callable[..., Traced], data: Path) -> None:
    run = traced(openmpi, 2, [str(openmpi.python), PROGRAM, data], "--only", "Barrier")
    said = scalatrace(openmpi, "info", run.trace).check().stdout
    left_out = package.load(run.trace).counts["not selected"]
    assert "only=Barrier" in said
    assert f"{left_out:,} calls not selected" in said
