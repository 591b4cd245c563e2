"""The templates of plug-ins in samples/plugins: each is loaded and used."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import scalatrace
from scalatrace import extrap
from scalatrace.codegen import emit
from scalatrace.codegen.generate import generate
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.grid import plugins, space
from scalatrace.extrap.lossy.snippets.parse import load
from scalatrace.extrap.solve import features
from scalatrace.extrap.timing.registry import TIMING_MODELS, timing_model
from scalatrace.formula import FUNCTIONS
from scalatrace.record.shim import INCLUDE
from scalatrace.stats.forms import Points
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record, run

PLUGINS = SAMPLES / "plugins"
SIZES = [(n,) for n in (5, 6, 8, 11, 16)]
GRIDS = [(4, 4), (5, 4), (5, 5), (6, 5), (6, 6)]


@pytest.fixture(autouse=True)
def unloaded() -> Iterator[None]:
    """Remove after each test what its plug-ins registered."""
    tables = (features.EXTRA, space.EXTRA_PARTITIONS, plugins.DIMS)
    dicts = (FUNCTIONS, plugins.OWNERS, TIMING_MODELS)
    lists_before, dicts_before = [list(table) for table in tables], [dict(known) for known in dicts]
    yield
    for table, entries in zip(tables, lists_before, strict=True):
        table[:] = entries  # type: ignore[index]
    for known, entries_before in zip(dicts, dicts_before, strict=True):
        known.clear()
        known.update(entries_before)  # type: ignore[arg-type]


def column_of_curve(rank: Rank) -> list[IssuedCall]:
    """A message whose length is the column of the sender on a Z-order curve."""
    count = sum((rank.number >> 2 * k & 1) << k for k in range(8))
    return [call("Bcast", 5, count=count, root=0, comm="world")]


def test_formula() -> None:
    traces = [trace_of(column_of_curve, dims) for dims in SIZES]
    with pytest.raises(ExtrapolationError):
        extrap.extrapolate(traces, 40)
    plugins.load_plugins([PLUGINS / "formula_template.py"])
    assert diff(extrap.extrapolate(traces, 40).trace, trace_of(column_of_curve, (40,)), ["times"]) == []


def checkerboard(rank: Rank) -> list[IssuedCall]:
    """A count for each colour of a checkerboard."""
    x, y = rank.place
    return [call("Bcast", 5, count=10 if (x + y) % 2 else 20, root=0, comm="world")] * 3


def test_grid() -> None:
    def trace(dims: tuple[int, int]) -> scalatrace.Trace:
        made = trace_of(checkerboard, dims)
        made.meta["program"] = f"app --grid {dims[0]}x{dims[1]}"
        return made

    traces = [trace(dims) for dims in GRIDS]
    with pytest.raises((ExtrapolationError, InputError)):
        extrap.extrapolate(traces, 56, (7, 8))
    plugins.load_plugins([PLUGINS / "grid_template.py"])
    assert diff(extrap.extrapolate(traces, 56, (7, 8)).trace, trace((7, 8)), ["times"]) == []


def test_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGINS))
    __import__("timing_template")
    scales = np.array([4.0, 9.0, 16.0, 25.0])
    points = Points.of(list(scales), list(100 + 7 * np.sqrt(scales)))
    (curve,) = timing_model("square-root").fit([points])
    assert curve.predict(100.0) == pytest.approx(170)
    assert curve.formula == "100 + 7 * p^(1/2)"
    traces = [trace_of(halo(wrap=True), dims) for dims in GRIDS]
    assert extrap.extrapolate(traces, 49, timing_model="square-root").trace.nprocs == 49


def test_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGINS))
    entry = EntryPoint("outline", "emitter_template:OutlineEmitter", emit.GROUP)
    monkeypatch.setattr(emit, "registered", lambda group, old_group: [entry])
    assert "outline" in emit.names()
    text = generate(trace_of(halo(wrap=True), (4, 4)), "outline").text
    assert text.startswith("16 ranks\n")
    assert "    Irecv count source tag comm\n" in text
    assert text.endswith("  Allreduce count comm\n")


def test_filter() -> None:
    found = load(PLUGINS / "filter_template.snippets")
    assert [(snippet.name, snippet.weight) for snippet in found.snippets] == [("exchange", 2)]
    traces = [trace_of(halo(wrap=False), dims) for dims in GRIDS]
    kept = extrap.extrapolate_lossy(traces, 49, snippets=found)
    ops = {one.op for one in kept.trace.walk(24)}
    assert {"Irecv", "Isend", "Waitall"} <= ops


@pytest.mark.mpi
def test_statistics(openmpi: Mpi, tmp_path: Path) -> None:
    library = tmp_path / "libfaults.so"
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}"]
    run(["cc", *flags, "-o", library, PLUGINS / "stat_template.c"]).check()
    stats = ["--stat", f"{library}:both", "--stat", f"{PLUGINS / 'stat_template.py'}:Collections"]
    path = tmp_path / "a.st"
    record(openmpi, 4, [str(openmpi.python), SAMPLES / "ring.py"], path, options=stats).check()
    trace = scalatrace.load(path)
    names = {stat.name for stat in trace.stats}
    assert {"page_faults", "page_faults.call", "collections"} <= names
