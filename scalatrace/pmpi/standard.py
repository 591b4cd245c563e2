"""The MPI standard's procedures as the generator needs them, from the Forum's database (`pympistandard`)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cache

from scalatrace.errors import ScalatraceError

__all__ = ["Procedure", "ProcedureParameter", "as_declared", "declarations", "procedures"]


@dataclass(frozen=True, slots=True)
class ProcedureParameter:
    """One parameter of a C procedure.

    Attributes:
        kind: the standard's, without size prefix: RANK, TAG, XFER_NUM_ELEM, ...
        base: C type without pointers, "" for the ellipsis.
        text: the declaration as in the standard.
        length: parameter with the number of elements, "*" when it is not a parameter, "" for a scalar.
    """

    name: str
    kind: str
    base: str
    text: str
    direction: str
    length: str
    root_only: bool

    @property
    def is_array(self) -> bool:
        return self.length != ""

    @property
    def is_out(self) -> bool:
        return self.direction != "IN"


@dataclass(frozen=True, slots=True)
class Procedure:
    """One C procedure: `name` without `MPI_`; `op` is what its events are called, also for `_c` variants."""

    name: str
    op: str
    parameters: tuple[ProcedureParameter, ...]

    def has(self, name: str) -> bool:
        return any(p.name == name for p in self.parameters)

    def find(self, kind: str, out: bool | None = None) -> ProcedureParameter | None:
        """The first parameter of a kind, only or never an out parameter when `out` says so."""
        return next((p for p in self.parameters if p.kind == kind and out in (None, p.is_out)), None)


@cache
def procedures() -> tuple[Procedure, ...]:
    """All procedures of the standard that return an error code, large-count variants too."""
    try:
        import pympistandard as standard
    except ImportError as error:
        raise ScalatraceError(f"the package pympistandard is needed to build the tracer: {error}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        standard.use_api_version(1)
    found_procedures = []
    for entry in standard.PROCEDURES.values():
        if not entry.express.iso_c or entry.express.iso_c.return_kind.name != "ERROR_CODE":
            continue
        base = entry.express.iso_c.name.removeprefix("MPI_")
        found_procedures.append(_procedure(entry.express.iso_c, base))
        if entry.express.embiggen.iso_c:
            found_procedures.append(_procedure(entry.express.embiggen.iso_c, base))
    return tuple(found_procedures)


def _procedure(symbol: object, op: str) -> Procedure:
    parameters = tuple(_parameter(p) for p in symbol.parameters)  # type: ignore[attr-defined]
    return Procedure(symbol.name.removeprefix("MPI_"), op, parameters)  # type: ignore[attr-defined]


def _parameter(parameter: object) -> ProcedureParameter:
    raw = parameter._parseset  # type: ignore[attr-defined]
    kind = parameter.kind.name.removeprefix("POLY")  # type: ignore[attr-defined]
    text = str(parameter).replace("\\ldots", "...")
    base = "" if kind == "VARARGS" else str(parameter.base_type)  # type: ignore[attr-defined]
    length = raw["length"]
    if kind.startswith("STRING") or length is None:
        length = ""
    elif isinstance(length, list):
        length = str(length[0])
    return ProcedureParameter(
        raw["name"], kind, base, text, raw["param_direction"].upper(), length or "", bool(raw["root_only"])
    )


def declarations(preprocessed: str) -> dict[str, tuple[str, ...]]:
    """Name (without `MPI_`) -> parameter declarations, of what a preprocessed mpi.h declares with a
    profiling twin."""
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", preprocessed)
    declared = {m[1]: m[2] for m in re.finditer(r"\b(P?MPI_\w+)\s*\(([^;{}()]*)\)\s*;", text)}
    return {
        name[5:]: tuple(" ".join(p.split()) for p in parameters.split(","))
        for name, parameters in declared.items()
        if name.startswith("PMPI_") and name[1:] in declared
    }


def as_declared(procedure: Procedure, declared: tuple[str, ...]) -> Procedure:
    """The procedure with the types that mpi.h gives (const differs from the standard's, here and there), and
    the standard's names."""
    if declared == ("void",):
        return replace(procedure, parameters=())
    if len(declared) != len(procedure.parameters):
        return procedure
    pairs = zip(procedure.parameters, declared, strict=True)
    return replace(
        procedure, parameters=tuple(replace(p, text=_rename_parameter(d, p.name)) for p, d in pairs)
    )


def _rename_parameter(declaration: str, name: str) -> str:
    match = re.fullmatch(r"(.*?)(\w+)?\s*((?:\[[^\]]*\])*)", declaration)
    if match is None or "..." in declaration:
        return declaration
    front, last, brackets = match[1], match[2] or "", match[3]
    if not front.replace("const", "").strip():
        front, last = f"{front}{last} ", ""  # only a type: mpi.h does not name the parameter
    return f"{front}{name}{brackets}"
