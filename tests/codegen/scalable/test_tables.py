"""Which entry of a table a parameter of a symbolic trace names."""

from __future__ import annotations

from scalatrace.codegen.builders.tables import ProgramTables
from scalatrace.formula import Const
from scalatrace.formula.domain import Domain
from scalatrace.trace.model.symbolic import CYCLE
from scalatrace.trace.model.tables import Kind


def test_entries_that_take_turns() -> None:
    """Two executions of three name the one entry, the third the other, again and again."""
    entries = [Const(-7), Const(-9)]
    slots = [Const(0), Const(0), Const(1), *entries]
    shape = ((CYCLE, None, None, None), (None, None))
    found = [
        ProgramTables().index(Kind.TYPE, shape, iter(slots), lambda n=n: Const(n), Domain()) for n in range(7)
    ]
    assert found == [entries[0 if n % 3 < 2 else 1] for n in range(7)]
