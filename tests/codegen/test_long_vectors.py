"""Parameters of thousands of pieces without a rule: generated programs search the piece in a table."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from scalatrace import Trace, load, save
from scalatrace.codegen.generate import generate
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import PROC_NULL, Vec
from support.builder import INT, Builder, Comm
from support.generated import compiled
from support.mpis import Mpi
from support.running import record


def irregular(npieces: int, nranks: int = 1) -> Trace:
    """A call whose count stays the same for some executions, then is another one for some."""
    random, b, terms, n = Random(npieces), Builder(nranks), list[Any](), 0
    for _ in range(npieces):
        turns = random.randint(20, 40)
        terms += [(turns, 0, random.randint(0, 99)), random.randint(100, 199)]
        n += turns + 1
    return b.of(b.event("Send", n, count=Vec(tuple(terms)), datatype=INT, dest=PROC_NULL, tag=0, comm=Comm()))


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("npieces", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_programs_of_long_vectors_are_written(npieces: int, language: str) -> None:
    text = generate(irregular(npieces), language).text
    assert len(text) < 20_000 + 100 * npieces
    assert text.count("search(") == 2  # its definition, and one call


@pytest.mark.mpi
@pytest.mark.parametrize("way", ["c", "compiled", pytest.param("python", marks=pytest.mark.slow)])
def test_calls_of_long_vectors(openmpi: Mpi, way: str, tmp_path: Path) -> None:
    trace, again = tmp_path / "a.st", tmp_path / "again.st"
    app = irregular(500, 2)
    save(app, trace)
    source = tmp_path / f"bench.{way[:2].removesuffix('o')}"
    if way == "compiled":
        command = [*openmpi.scalatrace(), "replay", trace, "--engine", "compiled"]
    else:
        source.write_text(generate(app, way).text)
        command = [compiled(openmpi, source)] if way == "c" else [str(openmpi.python), source]
    record(openmpi, 2, command, again, timeout=120).check()
    assert not diff(app, load(again), ("callsites", "times"))
