"""Datatypes of damaged symbolic traces: an error in one line, and no file that no reader accepts."""

from __future__ import annotations

import pytest

from scalatrace.codegen.builders.tables import ParameterTables as ProgramTables
from scalatrace.errors import FormatError
from scalatrace.extrap.fit.table_values import Tables
from scalatrace.formula import Const
from scalatrace.formula.domain import Domain
from scalatrace.trace.model.tables import Kind


def test_a_description_that_is_none() -> None:
    with pytest.raises(FormatError, match=r"datatype 'x\.y': cannot read '\.y'"):
        Tables().vec(Kind.TYPE, (0, [(8, 8, ("x.y", ""))]))
    with pytest.raises(FormatError, match=r"datatype 'x\.y': cannot read '\.y'"):
        ProgramTables()._entry(Kind.TYPE, (Const(8), Const(8), ("x.y", "")), Domain())
