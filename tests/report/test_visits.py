"""Tests for visits of the calls in a function."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.report.page.visits import CallVisits
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from support.filled import recorded

OUTER = "app.py:9:<module>"
Visit = tuple[str, tuple[int, ...]]
"""A line of main(), and the lines of its MPI calls in another function."""


def trace_of(visits: list[Visit], nranks: int = 1) -> Trace:
    def fill(core: Core, rank: int) -> None:
        barrier = core.define_op("Barrier", [("comm", Kind.COMM)])
        for frame, lines in visits:
            for line in lines:
                inner = f"lib.py:{line}:f{frame}"
                signature = core.define_signature([inner, f"app.py:{frame}:main", OUTER])
                core.append(barrier, [COMM_WORLD], signature, rank, nranks, [1.0])

    with TemporaryDirectory() as folder:
        return recorded(fill, nranks, Path(folder))


@st.composite
def steps(draw: Any) -> list[Visit]:
    """Steps of a loop: some calls in each, others in some of them."""
    calls = {
        frame: tuple(line for line in range(draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 4))))
        for frame in "1234"
    }
    periods = {frame: draw(st.integers(1, 7)) for frame in "34"}
    return [
        (frame, calls[frame])
        for step in range(draw(st.integers(1, 60)))
        for frame in "1234"
        if step % periods.get(frame, 1) == 0
    ]


@given(steps())
def test_each_call_in_a_loop_is_counted_once(visits: list[Visit]) -> None:
    """However the trace divides the loop."""
    trace = trace_of(visits)
    expected: dict[str, int] = {}
    for frame, _ in groupby(frame for frame, _ in visits):
        expected[f"app.py:{frame}:main"] = expected.get(f"app.py:{frame}:main", 0) + 1
    assert CallVisits(trace, 0, (OUTER,)).count(trace.nodes, 1) == expected
    assert CallVisits(trace, 0, ("other.py:1:<module>",)).count(trace.nodes, 1) == {}


def test_calls_of_other_functions_have_no_visits() -> None:
    trace = trace_of([("1", (1, 2)), ("2", (1,))] * 5)
    within = (OUTER, "app.py:1:main")
    assert CallVisits(trace, 0, within).count(trace.nodes, 1) == {"lib.py:1:f1": 5, "lib.py:2:f1": 5}
