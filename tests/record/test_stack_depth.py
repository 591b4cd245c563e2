"""Many call paths: `info` recommends a stack depth, and recording with it gives a small trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.report.trees.depths import advised_depth, nodes_at_depth
from support.mpis import Mpi
from support.running import Finished, record, scalatrace

pytestmark = pytest.mark.mpi

#: Random paths of two functions that call each other lead to one MPI call.
PROGRAM = """
import random, sys
from mpi4py import MPI

def reduce_all():
    MPI.COMM_WORLD.Barrier()

def left(path):
    step(path)

def right(path):
    step(path)

def step(path):
    if not path:
        return reduce_all()
    (left if path[0] else right)(path[1:])

dice = random.Random(1)
for _ in range(int(sys.argv[1])):
    step([dice.random() < 0.5 for _ in range(dice.randrange(1, 9))])
"""


@pytest.fixture
def recorded(openmpi: Mpi, tmp_path: Path) -> Finished:
    """A run with the default depth; its trace is a.st."""
    (tmp_path / "paths.py").write_text(PROGRAM)
    argv = [openmpi.python, tmp_path / "paths.py", "3000"]
    return record(openmpi, 2, argv, tmp_path / "a.st", options=["--no-fold-recursion"]).check()


def test_recommended_depth(openmpi: Mpi, recorded: Finished, tmp_path: Path) -> None:
    advice = advised_depth(load(tmp_path / "a.st"))
    assert advice is not None
    assert advice.nodes_now >= 1000
    line = f"make {advice.nodes_now} nodes; --stack-depth {advice.depth} leaves at most {advice.nodes}"
    assert line in recorded.stderr  # the compressor's own estimate
    shown = scalatrace(openmpi, "info", "--json", tmp_path / "a.st").check()
    assert json.loads(shown.stdout)["stack_depth_advice"]["depth"] == advice.depth
    text = scalatrace(openmpi, "info", tmp_path / "a.st").check().stdout
    assert f"record --stack-depth {advice.depth}" in text

    argv = [openmpi.python, tmp_path / "paths.py", "3000"]
    options = ["--no-fold-recursion", "--stack-depth", str(advice.depth)]
    record(openmpi, 2, argv, tmp_path / "b.st", options=options).check()
    shallow = load(tmp_path / "b.st")
    assert sum(1 for _ in shallow.leaves()) <= advice.nodes <= advice.nodes_now / 2
    assert advised_depth(shallow) is None


def test_estimate_at_full_depth(recorded: Finished, tmp_path: Path) -> None:
    """The trace is folded already: hardly a repeated block is left."""
    trace = load(tmp_path / "a.st")
    n = sum(1 for _ in trace.leaves())
    assert 0.9 * n <= nodes_at_depth(trace, 32) <= n
    assert nodes_at_depth(trace, 1) == 1
