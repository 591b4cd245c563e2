"""Delta times where it is not plain whose they are: polls, and the first call of a thread."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import scalatrace
from record.conftest import Traced
from support.mpis import Mpi

pytestmark = pytest.mark.mpi

POLLS = """\
import time
from mpi4py import MPI
comm = MPI.COMM_SELF
request = comm.Irecv(bytearray(1), 0)
for _ in range(10):
    time.sleep(0.01)
    assert not request.Test()
comm.Send(b"x", 0)
while not request.Test():
    pass
waiting = comm.Irecv(bytearray(1), 0)
older = comm.Irecv(bytearray(1), MPI.PROC_NULL)
while not older.Test():
    pass
for _ in range(10):
    time.sleep(0.01)
    assert not waiting.Test()
comm.Send(b"x", 0)
waiting.Wait()
"""

THREAD = """\
import threading, time
from mpi4py import MPI
time.sleep(0.3)
thread = threading.Thread(target=MPI.COMM_SELF.Barrier)
thread.start()
thread.join()
"""


def test_computation_between_polls_is_kept(openmpi: Mpi, traced: Callable[..., Traced]) -> None:
    """Ten times 10 ms before polls that answer "not yet" belong to the call that comes then."""
    done = traced(openmpi, 1, [str(openmpi.python), "-c", POLLS])
    done.finished.check()
    sends = [call for call in scalatrace.load(done.trace).walk(0) if call.op == "Send"]
    for send in sends:
        compute = send.stat("compute_ns")
        assert compute is not None
        assert compute.mean > 90e6


def test_a_thread_has_no_past(openmpi: Mpi, traced: Callable[..., Traced]) -> None:
    done = traced(openmpi, 1, [str(openmpi.python), "-c", THREAD])
    done.finished.check()
    (barrier,) = (call for call in scalatrace.load(done.trace).walk(0) if call.op == "Barrier")
    compute = barrier.stat("compute_ns")
    assert compute is not None
    assert compute.mean == 0
