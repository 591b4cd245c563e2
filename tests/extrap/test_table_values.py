"""Arrays with the same values are the same, however their values are folded."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.extrap.fit.table_values import table_content
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import UNDEFINED, Vec
from support.calls import call, record

VALUES = (*[UNDEFINED] * 7, 0, 1, *[UNDEFINED] * 3)


def test_arrays_are_compared_by_their_values() -> None:
    """The last three requests are null: three times, or to the end of the array."""
    trace = record([[call("Waitany", 1, requests=VALUES, index=7)]])
    counted = Vec(((7, 0, UNDEFINED), 0, 1, (3, 0, UNDEFINED)))
    endless = Vec(((7, 0, UNDEFINED), 0, 1, (0, 0, UNDEFINED)))
    arrays = [IntArray(len(VALUES), vec) for vec in (counted, endless, vec_of(VALUES))]
    assert all(array.values == VALUES for array in arrays)
    found = {table_content(replace(trace, arrays=arrays), Kind.ARRAY, Vec(n), 1) for n in range(len(arrays))}
    assert len(found) == 1
