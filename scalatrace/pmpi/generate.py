"""Write the generated C sources of the shim for the procedures that one mpi.h declares.

`python -m scalatrace.pmpi.generate DIRECTORY < preprocessed-mpi.h`

Without a directory: write `scalatrace/front/names.def` to standard output, the names that any shim may wrap.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from scalatrace.pmpi import emit
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import Procedure, as_declared, declarations, procedures

__all__ = ["front_names", "generate", "selected"]

_CHUNKS = 4  # files that compile at the same time
_HEAD = "/* Generated from the MPI Forum's database of procedures; see scalatrace/pmpi/generate.py. */\n"


def selected(declared: Mapping[str, tuple[str, ...]]) -> list[Procedure]:
    """The procedures to wrap: events and counted queries that this mpi.h has."""
    wanted = (p for p in procedures() if rules.is_event(p) or rules.is_counted(p))
    return [as_declared(p, declared[p.name]) for p in wanted if p.name in declared]


def generate(declared: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """File name -> text, for what mpi.h declares (`declarations`)."""
    chosen = selected(declared)
    header, table = emit.op_table(p for p in procedures() if rules.is_event(p) or rules.is_counted(p))
    texts = {f"wrappers{i}.c": _wrappers(chosen[i::_CHUNKS]) for i in range(_CHUNKS)}
    return {"ops.h": _HEAD + header, "ops.c": _HEAD + table, **texts}


def _wrappers(chosen: list[Procedure]) -> str:
    lines = [_HEAD, '#include "ops.h"', '#include "recording/wrappers.h"', ""]
    for procedure in chosen:
        lines += [emit.recorder(procedure), emit.c_entry(procedure)]
        if emit.needs_fortran(procedure):
            lines.append(emit.fortran_entries(procedure))
    return "\n".join(lines)


def front_names() -> str:
    """The text of `scalatrace/front/names.def`."""
    names = [f"scalatrace_{name}" for name in ("as_any_source", "kernel", "tracing")]
    for procedure in procedures():
        fortran = [f"mpi_{procedure.name.lower()}{end}" for end in ("_", "_f08_")]
        if procedure.name in rules.BY_HAND:
            names += [f"MPI_{procedure.name}", *fortran]
        elif rules.is_event(procedure) or rules.is_counted(procedure):
            names += [f"MPI_{procedure.name}", *(fortran if emit.needs_fortran(procedure) else ())]
    calls = " ".join(f"FRONT_NAME({name})" for name in names)
    return "\n".join([_HEAD.rstrip(), *textwrap.wrap(calls, 120), ""])


def main(directory: str) -> None:
    for name, text in generate(declarations(sys.stdin.read())).items():
        Path(directory, name).write_text(text)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        sys.stdout.write(front_names())
