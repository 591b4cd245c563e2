"""mpi4py programs: Python stacks, pickled objects, threads, switching, `import scalatrace.auto`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Traced
from scalatrace import load
from scalatrace.trace.io.flatlog import FlatLog
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi

STEPS = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD
def step(peer):
    comm.Send(b"abc", peer)
def steps():
    for _ in range(5):
        step(MPI.PROC_NULL)
steps()
if comm.rank == 0:
    comm.send({"a": 1}, dest=1)
elif comm.rank == 1:
    assert comm.recv(source=MPI.ANY_SOURCE) == {"a": 1}
"""

SWITCH = """\
import scalatrace
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
with scalatrace.tracing(False):
    older = comm.Irecv(bytearray(4), MPI.PROC_NULL)
    comm.Bcast(bytearray(3))
MPI.Pcontrol(0)
comm.Bcast(bytearray(3))
MPI.Pcontrol(1)
newer = comm.Isend(b"abcd", MPI.PROC_NULL)
older.Wait()
newer.Wait()
"""

THREADS = """\
import threading
from mpi4py import MPI
def work(comm):
    for _ in range(20):
        comm.Barrier()
comms = [MPI.COMM_WORLD.Dup() for _ in range(3)]
threads = [threading.Thread(target=work, args=(comm,)) for comm in comms]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for comm in comms:
    comm.Free()
"""


MIXED = """\
import threading
from mpi4py import MPI
def work(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    there, back = bytearray(8), bytearray(8)
    for i in range(20):
        requests = [comm.Isend(there, right, i), comm.Irecv(back, left, i)]
        MPI.Request.Waitall(requests)
        comm.Sendrecv(there, right, 1, back, left, 1)
        own = comm.Dup()
        own.Bcast(bytearray(4))
        own.Free()
        comm.Split(comm.rank % 2, 0).Free()
if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
    print("no threads")
else:
    comms = [MPI.COMM_WORLD.Dup() for _ in range(4)]
    threads = [threading.Thread(target=work, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in comms:
        comm.Free()
"""

CHILDREN = """\
import os, subprocess, sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
ask = "import os; print(os.environ.get('LD_PRELOAD'))"
subprocess.run([sys.executable, "-c", ask], check=True)
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "app.py"
        path.write_text(text)
        return path

    return write


def test_python_stacks(mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]) -> None:
    run = traced(mpi, 2, [mpi.python, script(STEPS)])
    run.finished.check()
    log = FlatLog(run.logs / "rank-0.log")
    calls = list(log)
    sends = [call for call in calls if call.op == "Send"]
    assert len({call.signature for call in sends[:5]}) == 1
    frames = [frame.split("app.py:")[-1] for frame in log.stacks[sends[0].signature]]
    assert frames == ["4:step", "7:steps", "8:<module>"]


def test_what_pickling_puts_on_the_wire(
    mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]
) -> None:
    """mpi4py receives an object by a matched probe, whichever way its version sends the size."""
    run = traced(mpi, 2, [mpi.python, script(STEPS)], "--stacks", "none")
    run.finished.check()
    received = run.ops(1)
    assert received["Mrecv"] + received["Recv"] >= 1
    assert all(call.signature == 0 for call in run.calls(1))


def test_switching(mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]) -> None:
    """What happens while events are off is not recorded, nor what completes the requests made then."""
    run = traced(mpi, 2, [mpi.python, script(SWITCH)])
    run.finished.check()
    assert [call.op for call in run.calls(0)] == ["Barrier", "Isend", "Wait"]
    assert run.calls(0)[2].values[0] == 0


def test_threads(openmpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]) -> None:
    run = traced(openmpi, 2, [openmpi.python, script(THREADS)])
    run.finished.check()
    assert run.ops(0) == {"Comm_dup": 3, "Barrier": 60, "Comm_free": 3}


def test_threads_that_do_different_things(
    mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]
) -> None:
    """Under MPI_THREAD_MULTIPLE: log and trace are equal, each communicator has its thread's order."""
    run = traced(mpi, 3, [mpi.python, script(MIXED)])
    if "no threads" in run.finished.check().stdout:
        pytest.skip(f"{mpi.name} has no MPI_THREAD_MULTIPLE")
    found = scalatrace(mpi, "verify", "--json", run.trace, run.logs).check()
    assert json.loads(found.stdout)["events"] == 3 * (4 + 4 + 4 * 20 * 9)
    trace = load(run.trace)
    assert trace.meta["threads"] == "5"
    for rank in range(3):
        calls = list(trace.walk(rank))
        comms = {call.comm.family for call in calls if call.op == "Sendrecv"}
        assert len(comms) == 4
        for comm in comms:
            mine = [
                call.op for call in calls if call.op in ("Isend", "Sendrecv") and call.comm.family == comm
            ]
            assert mine == ["Isend", "Sendrecv"] * 20


def test_one_thread_is_not_mentioned(
    openmpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]
) -> None:
    run = traced(openmpi, 2, [openmpi.python, script(STEPS)])
    run.finished.check()
    assert "threads" not in load(run.trace).meta


def test_header_describes_the_machine(
    mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]
) -> None:
    """Extrapolation warns of times from runs with more ranks than cores."""
    run = traced(mpi, 3, [mpi.python, script(STEPS)])
    run.finished.check()
    meta = load(run.trace).meta
    assert (meta["hosts"], meta["ranks-per-host"]) == ("1", "3")
    assert int(meta["cores-per-host"]) == os.cpu_count()


def test_auto(mpi: Mpi, script: Callable[[str], Path], tmp_path: Path) -> None:
    program = script("import scalatrace.auto\n" + STEPS)
    env = {"SCALATRACE_OUTPUT": str(tmp_path / "auto.st"), "SCALATRACE_FLAT_LOG": str(tmp_path)}
    mpirun(mpi, 2, [mpi.python, program], env=env, cwd=tmp_path, timeout=300).check()
    assert (tmp_path / "auto.st").exists()
    assert sum(call.op == "Send" for call in FlatLog(tmp_path / "rank-1.log")) == 5


def test_children_are_not_traced(
    mpi: Mpi, script: Callable[[str], Path], traced: Callable[..., Traced]
) -> None:
    """A program that a traced one starts does not get the tracer, and forks end quietly."""
    run = traced(mpi, 1, [mpi.python, script(CHILDREN)])
    assert run.finished.check().stdout == "None\n"
    assert run.ops(0) == {"Barrier": 1}
