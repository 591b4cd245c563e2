"""Predefined datatypes and reductions in generated programs and replays: all that the standard names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mpi4py import MPI

from scalatrace import Trace, load
from scalatrace.codegen.generate import generate
from scalatrace.predefined import DATATYPES, IN_EVERY_HEADER, OPERATIONS
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport import mpi_types
from scalatrace.trace.model.tables import Datatype
from support.builder import DOUBLE, Builder, Comm
from support.mpis import Mpi
from support.running import record, run

# Annex A.1.1 of MPI 4.1, and the pairs of 6.9.4, without `MPI_`.
_STANDARD = """
    CHAR SHORT INT LONG LONG_LONG_INT LONG_LONG SIGNED_CHAR UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED
    UNSIGNED_LONG UNSIGNED_LONG_LONG FLOAT DOUBLE LONG_DOUBLE WCHAR C_BOOL INT8_T INT16_T INT32_T
    INT64_T UINT8_T UINT16_T UINT32_T UINT64_T AINT COUNT OFFSET C_COMPLEX C_FLOAT_COMPLEX
    C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX BYTE PACKED CXX_BOOL CXX_FLOAT_COMPLEX CXX_DOUBLE_COMPLEX
    CXX_LONG_DOUBLE_COMPLEX INTEGER REAL DOUBLE_PRECISION COMPLEX LOGICAL CHARACTER DOUBLE_COMPLEX
    INTEGER1 INTEGER2 INTEGER4 INTEGER8 INTEGER16 REAL2 REAL4 REAL8 REAL16 COMPLEX4 COMPLEX8
    COMPLEX16 COMPLEX32 FLOAT_INT DOUBLE_INT LONG_INT 2INT SHORT_INT LONG_DOUBLE_INT 2REAL
    2DOUBLE_PRECISION 2INTEGER
"""
STANDARD = _STANDARD.split()
_REDUCTIONS = """
    MAX MIN SUM PROD LAND BAND LOR BOR LXOR BXOR MAXLOC MINLOC REPLACE NO_OP
"""
REDUCTIONS = _REDUCTIONS.split()


def of_types(*names: str) -> Trace:
    b = Builder(1)
    calls = [
        b.event(
            "Bcast", at=("app.py:3:f",), count=1, datatype=Datatype(f"MPI_{name}", 8, 8), root=0, comm=Comm()
        )
        for name in names
    ]
    return b.of(*calls)


def attributes(text: str) -> set[str]:
    """What a program takes from mpi4py's module."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "MPI"
    }


def test_the_table_has_all_of_the_standard() -> None:
    assert {f"MPI_{name}" for name in STANDARD} <= DATATYPES.keys()
    assert {f"MPI_{name}" for name in REDUCTIONS} <= OPERATIONS.keys()
    assert all(isinstance(getattr(MPI, name), MPI.Op) for name in OPERATIONS.values())
    known = [name for name in DATATYPES.values() if name]
    assert all(isinstance(getattr(MPI, name), MPI.Datatype) for name in known)


@pytest.mark.parametrize("name", sorted(name.removeprefix("MPI_") for name in DATATYPES))
def test_python_with_each_datatype(name: str) -> None:
    text = generate(of_types(name), "python").text  # which compiles it
    assert attributes(text) - set(dir(MPI)) == set()
    attribute = DATATYPES[f"MPI_{name}"]
    if f"MPI_{name}" in IN_EVERY_HEADER and attribute:
        assert attribute in attributes(text)
        assert getattr(MPI, attribute) != MPI.DATATYPE_NULL
    else:
        assert f'named("MPI_{name}")' in text


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction(language: str, name: str) -> None:
    b = Builder(1)
    op = {"op": f"MPI_{name}", "win": 0}
    target = {"target_rank": 0, "target_disp": 0, "target_count": 1, "target_datatype": DOUBLE}
    origin = {"origin_count": 1, "origin_datatype": DOUBLE}
    trace = b.of(b.event("Accumulate", **origin, **target, **op, comm=Comm()))
    text = generate(trace, language).text
    assert f"MPI_{name}," in text or f"MPI.{name}," in text
    assert "any_op" not in text


@pytest.mark.parametrize("name", sorted(IN_EVERY_HEADER))
def test_replays_find_each_datatype(name: str) -> None:
    try:
        found = mpi_types.predefined(name)
    except ReplayError:
        assert name.startswith("MPI_2")  # pairs of Fortran, where MPI was built without it
    else:
        assert found != MPI.DATATYPE_NULL


@pytest.mark.mpi
def test_c_with_all_datatypes(openmpi: Mpi, tmp_path: Path) -> None:
    """What every `mpi.h` has compiles; of the others those that it lacks are named."""
    source = tmp_path / "bench.c"
    names = [name.removeprefix("MPI_") for name in sorted(IN_EVERY_HEADER)]
    source.write_text(generate(of_types(*names), "c").text)
    compiling = [openmpi.mpicc, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source]
    run(compiling, env=openmpi.environment(), timeout=60).check()
    source.write_text(generate(of_types("DOUBLE", "LB"), "c").text)
    refused = run(compiling, env=openmpi.environment(), timeout=60)
    assert refused.returncode
    assert "this MPI has no datatype MPI_LB" in refused.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("language", ["c", "python"])
def test_a_pair_of_fortran_runs(openmpi: Mpi, language: str, tmp_path: Path) -> None:
    b = Builder(2)
    pair, least = (
        Datatype("MPI_2DOUBLE_PRECISION", 16, 16),
        {"op": "MPI_MINLOC", "comm": Comm(), "in_place": 0},
    )
    trace = b.of(b.event("Allreduce", count=1, datatype=pair, **least))
    source, again = tmp_path / f"bench.{language}", tmp_path / "again.st"
    source.write_text(generate(trace, language).text)
    command: list[str | Path] = [str(openmpi.python), source]
    if language == "c":
        source = source.rename(tmp_path / "bench.c")
        run([openmpi.mpicc, "-o", tmp_path / "bench", source], env=openmpi.environment(), timeout=60).check()
        command = [tmp_path / "bench"]
    record(openmpi, 2, command, again, timeout=60).check()
    assert [t.description for t in load(again).types] == ["MPI_2DOUBLE_PRECISION"]
