"""The table of parameter kinds against the MPI standard, and files that contradict it."""

from __future__ import annotations

import pytest

from scalatrace.pmpi import parameter_rules, standard
from scalatrace.pmpi.emit import schema
from scalatrace.pmpi.parameter_rules import MEMORY
from scalatrace.pmpi.standard import Procedure
from scalatrace.trace.io.check import KINDS, check_schema
from scalatrace.trace.model.tables import Kind, Op

RECORDED = [
    one for one in standard.procedures() if parameter_rules.is_event(one) or parameter_rules.is_counted(one)
]


def _schema(procedure: Procedure) -> Op:
    return Op(procedure.op, tuple((value.name, Kind(value.kind)) for value in schema(procedure)))


def test_kinds_are_those_that_the_recorder_writes() -> None:
    recorded: dict[str, set[Kind]] = {}
    for procedure in RECORDED:
        for name, kind in _schema(procedure).params:
            recorded.setdefault(name, set()).add(kind)
    recorded[MEMORY.name] = {Kind(MEMORY.kind)}  # of calls with buffers, on machines with GPUs
    recorded["error"] = {Kind.STRING}  # of calls that returned an error
    assert {name: recorded[name] for name in KINDS} == KINDS
    events = {value.name for one in filter(parameter_rules.is_event, RECORDED) for value in schema(one)}
    assert events <= KINDS.keys()


def test_recorded_schemas_are_accepted() -> None:
    for procedure in RECORDED:
        check_schema(_schema(procedure))


def test_schemas_that_contradict_their_operation() -> None:
    comm, count = ("comm", Kind.COMM), ("count", Kind.INT)
    with pytest.raises(ValueError, match=r"^parameter count of Send is of kind TYPE, not INT$"):
        check_schema(Op("Send", (("count", Kind.TYPE), comm)))
    with pytest.raises(ValueError, match=r"^parameter source of Recv is of kind INT, not PEER$"):
        check_schema(Op("Recv", (count, ("source", Kind.INT), comm)))
    with pytest.raises(ValueError, match=r"^Win_sync has win, but not the communicator"):
        check_schema(Op("Win_sync", (("win", Kind.INT),)))
    check_schema(Op("My_own_operation", (("what", Kind.ARRAY),)))
