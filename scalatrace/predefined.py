"""The predefined datatypes, reductions and thread levels of MPI: their names, and what mpi4py calls them.

Replays and generated Python programs find them by this table; generated C programs check by it what their
`mpi.h` lacks.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "DATATYPES", "FORTRAN_PAIRS", "IN_EVERY_HEADER", "NO_DATATYPE", "OPEN_MPI_HANDLES", "OPERATIONS",
    "THREAD_LEVEL", "THREAD_LEVELS", "known_thread_level",
]  # fmt: skip

NO_DATATYPE = "MPI_DATATYPE_NULL"
"""Stands in a trace where a datatype means nothing on a rank."""

_IN_EVERY_HEADER = """
    CHAR SHORT INT LONG LONG_LONG_INT LONG_LONG SIGNED_CHAR UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED
    UNSIGNED_LONG UNSIGNED_LONG_LONG FLOAT DOUBLE LONG_DOUBLE WCHAR C_BOOL INT8_T INT16_T INT32_T
    INT64_T UINT8_T UINT16_T UINT32_T UINT64_T AINT COUNT OFFSET C_COMPLEX C_FLOAT_COMPLEX
    C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX BYTE PACKED FLOAT_INT DOUBLE_INT LONG_INT 2INT SHORT_INT
    LONG_DOUBLE_INT INTEGER REAL DOUBLE_PRECISION COMPLEX LOGICAL CHARACTER 2REAL 2DOUBLE_PRECISION
    2INTEGER
"""
_OPTIONAL = """
    CXX_BOOL CXX_FLOAT_COMPLEX CXX_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX DOUBLE_COMPLEX INTEGER1
    INTEGER2 INTEGER4 INTEGER8 INTEGER16 REAL2 REAL4 REAL8 REAL16 COMPLEX4 COMPLEX8 COMPLEX16
    COMPLEX32 LOGICAL1 LOGICAL2 LOGICAL4 LOGICAL8 LOGICAL16 2COMPLEX 2DOUBLE_COMPLEX LB UB
"""
_SPELLED_OTHERWISE = {"2INT": "TWOINT", "LONG_LONG_INT": "LONG_LONG"}
_WITHOUT_NAME = frozenset(
    ["2REAL", "2DOUBLE_PRECISION", "2INTEGER", "2COMPLEX", "2DOUBLE_COMPLEX", "LB", "UB"]
)

IN_EVERY_HEADER = frozenset(f"MPI_{name}" for name in _IN_EVERY_HEADER.split())
"""Datatypes that the standard requires in `mpi.h`; the others are optional, removed, or extensions."""

DATATYPES: dict[str, str | None] = {
    f"MPI_{name}": None if name in _WITHOUT_NAME else _SPELLED_OTHERWISE.get(name, name)
    for name in (*_IN_EVERY_HEADER.split(), *_OPTIONAL.split())
}
"""MPI's name -> the attribute of mpi4py.MPI; None: it has none (see `FORTRAN_PAIRS`)."""

FORTRAN_PAIRS = (0x4C000820, 0x4C000821, 0x4C001023)
"""Fortran handles of pairs in MPICH. Types without an attribute in mpi4py are searched by MPI's name."""

OPEN_MPI_HANDLES = range(128)
"""Fortran handles of all predefined types in Open MPI."""

_REDUCTIONS = "SUM MAX MIN PROD LAND BAND LOR BOR LXOR BXOR MINLOC MAXLOC NO_OP REPLACE OP_NULL"
OPERATIONS = {f"MPI_{name}": name for name in _REDUCTIONS.split()}
"""MPI's name of a reduction -> the attribute of mpi4py.MPI; others in a trace are the program's own."""

THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
"""In ascending order, as MPI's constants are. With more, calls may take longer."""

THREAD_LEVEL = "thread-level"
"""The header entry of traces with the level that MPI had."""


def known_thread_level(meta: Mapping[str, str]) -> str:
    """The thread level in a header; "" if there is none, or one that no MPI has."""
    level = meta.get(THREAD_LEVEL, "")
    return level if level in THREAD_LEVELS else ""
