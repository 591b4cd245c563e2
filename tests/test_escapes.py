"""CSV: texts are no formulas and have no control characters, numbers stay numbers."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import text

from scalatrace.escapes import write_csv


def written(*cells: Any) -> str:
    out = io.StringIO()
    write_csv(out, [cells])
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=cmd|'calc'!A0", "'=cmd|'calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3+cmd", "'-2+3+cmd"),
        ("\t=1", "'\\x09=1"),
        ("a\x1b[31m\nb", "a\\x1b[31m\\x0ab"),
        (-3, "-3"),
        (-1.5, "-1.5"),
        ("-1.5", "-1.5"),
        ("+1e3", "+1e3"),
        (None, ""),
        ([1, -2], "1 -2"),
        ("plain = text", "plain = text"),
    ],
)
def test_cells(value: Any, cell: str) -> None:
    assert written(value, "end") == f"{cell},end\n"


@given(text())
def test_no_cell_is_a_formula(value: str) -> None:
    ((cell,),) = csv.reader([written(value)]) if value else [("",)]
    assert cell.isprintable()
    if cell[:1] in ("=", "+", "-", "@"):
        float(cell)
