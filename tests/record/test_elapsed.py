"""The elapsed time of programs with several threads, and commands that refuse their traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Traced
from scalatrace import load
from scalatrace.cli import main
from scalatrace.report.costs.rows import whole_time
from scalatrace.trace.threads import elapsed_ns, thread_count
from support.drawing import json_of
from support.mpis import Mpi

PROGRAM = """
import threading, time
from mpi4py import MPI

def work():
    for step in range(5):
        time.sleep(0.2)
        MPI.COMM_SELF.Barrier()

MPI.COMM_WORLD.Barrier()
start = MPI.Wtime()
threads = [threading.Thread(target=work) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(MPI.Wtime() - start)
"""

REFUSING = (
    ["variability", "{}", "-P", "64"],
    ["regress", *["{}"] * 5],
)


@pytest.mark.mpi
def test_run_time_of_several_threads_is_elapsed_time(
    openmpi: Mpi,
    tmp_path: Path,
    traced: Callable[..., Traced],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program := tmp_path / "sleep.py").write_text(PROGRAM)
    run = traced(openmpi, 2, [openmpi.python, program])
    measured_ns = float(run.finished.check().stdout) * 1e9
    trace = load(run.trace)
    assert thread_count(trace.meta) == 5
    elapsed = elapsed_ns(trace)
    assert elapsed is not None
    assert measured_ns * 0.98 <= elapsed < 2 * measured_ns  # four threads' times add up to more
    whole = whole_time(trace.without_phases)
    sums = ((whole.compute_ns or 0.0) + (whole.comm_ns or 0.0)) / 2
    assert 1.5 * elapsed < sums < 5 * elapsed
    performance = json_of(capsys, "info", run.trace)["performance"]
    assert performance["run_time_ns"] == round(elapsed)
    assert performance["efficiency"] is None
    assert main(["stats", str(run.trace)]) == 0
    assert "(elapsed)\nup to 5 threads of a rank call MPI" in capsys.readouterr().out
    assert "5 threads of a rank" in run.finished.stderr
    for words in REFUSING:
        assert main([word.format(run.trace) for word in words]) == 1
        assert "the program calls MPI from 5 threads of a rank" in capsys.readouterr().err
