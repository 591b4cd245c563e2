"""Probe programs with the verdicts of the language's first compiler, where a file of them is at hand.

SCALATRACE_NCPTL_CORPUS names it: a line of JSON for each program, with its source, verdicts (syntax, front_end,
c_mpi), and for some every rank's MPI calls on 4 tasks.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from scalatrace.codegen.conceptual.checks.program import check, examine
from scalatrace.codegen.conceptual.errors import ErrorStage, ProgramError
from scalatrace.codegen.conceptual.lowering.collecting import string_tag
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.printer.program import show
from support.ncptl_programs import calls, lowered
from support.ncptl_stub import same_calls

VARIABLE = "SCALATRACE_NCPTL_CORPUS"
PATH = Path(os.environ.get(VARIABLE, ""))
PROBES = [json.loads(line) for line in PATH.read_text().splitlines()] if PATH.is_file() else []
pytestmark = pytest.mark.skipif(not PROBES, reason=f"{VARIABLE} names no file")

#: Programs that the first compiler starts although they cannot end, or misreads: here a fault, found before the start.
FAULTY = {"r01", "r05", "r14", "s15", "w04", "y10", "z06"}
#: Its broadcasts have a root of their own on each rank there.
WRONG_ROOT = {"z12"}


def ids(probe: dict[str, Any]) -> str:
    return str(probe["id"])


def verdict(accepted: bool) -> str:
    return "accept" if accepted else "reject"


@pytest.mark.parametrize("probe", PROBES, ids=ids)
def test_verdicts(probe: dict[str, Any]) -> None:
    report = examine(probe["source"])
    assert verdict(report.accepts(ErrorStage.SYNTAX)) == probe["syntax"]
    assert verdict(report.accepts(ErrorStage.MEANING)) == probe["front_end"]


@pytest.mark.parametrize("probe", [p for p in PROBES if p["syntax"] == "accept"], ids=ids)
def test_printed_and_read_again(probe: dict[str, Any]) -> None:
    program = parse(probe["source"])
    assert parse(show(program)) == program


TRACED = [probe for probe in PROBES if "mpi_calls" in probe]


def wanted(probe: dict[str, Any]) -> list[list[str]]:
    """Its calls, with our tags for strings and one root for all ranks."""
    texts = re.findall(r'TAG "(\w+)"', probe["source"])
    result = []
    for rank in probe["mpi_calls"]:
        lines = [
            re.sub(r"tag=8232351\b", f"tag={string_tag(texts[0])}", line) if texts else line for line in rank
        ]
        if probe["id"] in WRONG_ROOT:
            lines = [re.sub(r"root=\d", "root=2", line) for line in lines]
        result.append(lines)
    return result


@pytest.mark.parametrize("probe", [p for p in TRACED if p["id"] not in FAULTY], ids=ids)
def test_calls(probe: dict[str, Any]) -> None:
    program = lowered(probe["source"])
    find_faults(program)
    assert [calls(program, rank) for rank in range(4)] == wanted(probe)


@pytest.mark.parametrize("probe", [p for p in TRACED if p["id"] in FAULTY], ids=ids)
def test_faults(probe: dict[str, Any]) -> None:
    with pytest.raises(ProgramError):
        find_faults(lowered(probe["source"]))
    check(probe["source"])


@pytest.mark.slow
@pytest.mark.parametrize("probe", [p for p in TRACED if p["id"] not in FAULTY], ids=ids)
def test_compiled_calls(probe: dict[str, Any], tmp_path: Path) -> None:
    same_calls(probe["source"], tmp_path, 4)
