"""Exports read by Pipit, Extra-P and LogGOPSim, where these are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalatrace.predict.export.events.otf2_archive import write_otf2
from scalatrace.predict.export.extrap_json import experiment_json
from scalatrace.predict.export.goal import GOAL, write_goal
from scalatrace.predict.export.simgrid_run import simgrid_time_ns
from scalatrace.predict.lowering import TraceLowering
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, Builder, Comm, stencil
from support.lowered import every_kind

COSTS = {"-L": "1000", "-o": "300", "-g": "0", "-G": "0", "-O": "0", "-S": "100000000"}
"""Parameters of LogGOPSim, in ns and bytes."""


def test_pipit(tmp_path: Path) -> None:
    """The package `pipit` of PyPI is empty; the real one is installed from its repository."""
    pipit: Any = pytest.importorskip("pipit")
    if not hasattr(pipit, "Trace"):
        pytest.skip("this is another package called pipit")
    trace = stencil()
    write_otf2(Timeline(trace), tmp_path / "archive")
    read = pipit.Trace.from_otf2(str(tmp_path / "archive"))
    entered = read.events[read.events["Event Type"] == "Enter"]
    walked = Counter(f"MPI_{call.op}" for rank in trace.ranks for call in trace.walk(rank))
    assert Counter(entered["Name"]) == walked
    assert np.array_equal(read.comm_matrix("size"), trace.matrix())


@pytest.mark.skipif(shutil.which("extrap") is None, reason="Extra-P is not installed")
def test_extra_p(tmp_path: Path) -> None:
    traces = []
    for nprocs in (2, 4, 8, 16, 32):
        b = Builder(nprocs)
        histogram = Histogram.of(1000 * nprocs)
        total = {"count": 2, "datatype": DOUBLE, "op": "MPI_SUM", "comm": Comm()}
        traces.append(b.of(b.event("Allreduce", at=("main",), compute=histogram, **total)))
    path = tmp_path / "experiment.json"
    path.write_text(experiment_json(traces))
    command = ["extrap", "--disable-progress", "--json", str(path), "--print", "functions"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert len(done.stdout.split()) >= 4


@pytest.mark.skipif(
    not all(map(shutil.which, ("txt2bin", "LogGOPSim", "smpirun"))), reason="LogGOPSim or SimGrid is missing"
)
def test_two_simulators_agree(tmp_path: Path) -> None:
    """LogGOPSim on GOAL and SimGrid's replay, with L = 1 us, o = 0.3 us and no other costs."""
    trace = every_kind(6)
    with open(tmp_path / "x.goal", "wb") as file:
        write_goal(TraceLowering(trace, GOAL), file)
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, "check": True}
    subprocess.run(["txt2bin", "-i", "x.goal", "-o", "x.bin"], **options)  # type: ignore[call-overload]
    costs = [word for name, value in COSTS.items() for word in (name, value)]
    parameters = ["-f", "x.bin", "--batchmode", *costs]
    done = subprocess.run(["LogGOPSim", *parameters], **options)  # type: ignore[call-overload]
    assert "queue contains" not in done.stdout
    found = re.search(r"finishing time at host \d+: (\d+)", done.stdout)
    assert found
    platform = Platform(network=Network((Segment(0, 1000, 0, 0, 300, 300),)))
    assert simgrid_time_ns(trace, platform) == pytest.approx(int(found[1]), rel=0.02)
