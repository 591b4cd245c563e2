"""The example notebook runs from start to end; it is kept small and without outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.mpis import Mpi

NOTEBOOK = Path(__file__).parents[2] / "samples" / "notebook.ipynb"
MAX_BYTES = 10_000


def test_it_is_kept_without_outputs() -> None:
    assert NOTEBOOK.stat().st_size < MAX_BYTES
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.mpi
def test_it_runs(openmpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    for package in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(package)
    for name, value in openmpi.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{openmpi.mpiexec.parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()
    outputs = {cell["id"]: cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"}
    kinds = {name: {key for one in listed for key in one.get("data", ())} for name, listed in outputs.items()}
    tables = ("record", "stats", "ranks", "events", "differences", "scaling")
    assert all("text/html" in kinds[name] for name in tables)
    plots = ("matrix", "timeline", "histograms", "heat", "flame", "differences", "scaling")
    assert all("image/png" in kinds[name] for name in plots)
