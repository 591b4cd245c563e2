"""Exports read by Pipit and Extra-P, where these are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalatrace.predict.export.events.otf2_archive import write_otf2
from scalatrace.predict.export.extrap_json import experiment_json
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, Builder, Comm, stencil


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
