"""Time lines that 64 bits of nanoseconds do not hold are refused by every format, in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Histogram
from support.builder import Builder, Comm

CENTURY_NS = 1 << 62


@pytest.mark.parametrize("name", ["csv", "parquet", "perfetto", "chrome", "paraver"])
def test_times_of_centuries(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder(2)
    b.trace.stats.append(RecordedStat("comm_ns", 1.0))
    long = Histogram.of(CENTURY_NS)
    event = replace(b.event("Barrier", comm=Comm()), stats=(PredStats(0, (long, long)),))
    save(b.of(b.loop(9, event), every=True), path := tmp_path / "a.st")
    assert main(["export", str(path), "--to", name, "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "passes 2^63 ns (292 years) in Barrier" in error
