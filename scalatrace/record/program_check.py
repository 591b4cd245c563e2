"""What of a native program's MPI calls is recorded, from its symbols and those of its libraries."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from scalatrace.compilers.elf import linked_files, linked_mpi, preload_obstacle
from scalatrace.compilers.elf_symbols import symbols
from scalatrace.compilers.libraries import is_library_of_mpi
from scalatrace.compilers.mpi import mpi_of
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import Procedure, procedures
from scalatrace.record.shim import shim_for

__all__ = ["check_program"]

RECORDED, LOCAL = "recorded", "local"
PAST = "called past the tracer, by its PMPI name"
UNWRAPPED = "this MPI has it, the tracer does not"
UNKNOWN = "not in the MPI standard: what it communicates is unknown"

_MPI_NAME = re.compile(r"(P?)MPI(X?)_([A-Z]\w*)|(p?)mpi(x?)_([a-z]\w*?)(_f08(ts)?)?_{0,2}")
_WITHOUT_MESSAGES = re.compile(
    r"\w+_(f2c|c2f|f2f08|f082f|f082c|c2f08)|(\w+_)?(dup|null_copy|null_delete)_fn|conversion_fn_null\w*|sizeof\w*",
    re.IGNORECASE,
)
"""Conversions of handles, predefined callbacks, and sizes: of the standard, and no calls that communicate."""


def check_program(path: str) -> dict[str, Any]:
    """What is known before a program runs.

    Returns:
        program; library: path of the MPI that the dynamic linker would load, "" if it is linked to none;
        flavour of that; obstacle: why nothing can be recorded, ""; recorded, local: numbers of functions that
        are events, and that change nothing in a trace; problems: name, files and reason of each other one.

    Raises:
        ScalatraceError: no tracer can be built for the MPI, or a file is damaged.
    """
    facts: dict[str, Any] = {"program": path, "library": "", "flavour": ""}
    facts |= {"obstacle": preload_obstacle(path) or "", RECORDED: 0, LOCAL: 0, "problems": []}
    library = linked_mpi(path)
    if library is None:
        return facts
    mpi = mpi_of(library, path)
    facts["library"], facts["flavour"] = str(library), mpi.flavour
    wrapped = {name.removeprefix("scalatrace_") for name in symbols(shim_for(mpi), defined=True)}
    standard = {p.name.lower(): p for p in procedures()}
    used, defined_names = _list_functions(path)
    for name, users in sorted(used.items()):
        kind = _kind(name, wrapped, standard)
        if kind in (RECORDED, LOCAL):
            facts[kind] += 1
        elif kind != UNKNOWN or name not in defined_names:
            facts["problems"].append({"name": name, "files": users, "reason": kind})
    return facts


def _list_functions(path: str) -> tuple[dict[str, list[str]], set[str]]:
    """The MPI functions that a program and its libraries call, with the names of these files.

    Also the functions with such names that they define: an application's own, such as `mpi_helper_setup`.
    """
    used: dict[str, list[str]] = {}
    defined: set[str] = set()
    for file in (Path(path), *linked_files(path)):
        if is_library_of_mpi(file.name):
            continue
        defined.update(filter(_MPI_NAME.fullmatch, symbols(file, defined=True)))
        for name in symbols(file, defined=False):
            if _MPI_NAME.fullmatch(name):
                used.setdefault(name, []).append(file.name)
    return used, defined


def _kind(name: str, wrapped: Collection[str], standard: Mapping[str, Procedure]) -> str:
    match = _MPI_NAME.fullmatch(name)
    assert match is not None
    past, extension, procedure = match[1] or match[4], match[2] or match[5], match[3] or match[6]
    standard_kind = None if extension else standard.get(procedure.lower())
    if not extension and _WITHOUT_MESSAGES.fullmatch(procedure):
        return LOCAL
    if standard_kind is not None and (rules.is_counted(standard_kind) or standard_kind.op.startswith("T_")):
        return LOCAL
    if past:
        return PAST
    if name in wrapped:
        return RECORDED
    return UNKNOWN if standard_kind is None else UNWRAPPED
