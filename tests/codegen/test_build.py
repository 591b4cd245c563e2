"""The program of a trace makes, on every rank, the calls of the trace's walk."""

from __future__ import annotations

from hypothesis import given, settings

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from support.interpreted import made, sound, walked
from support.traces import traces


@settings(max_examples=60)
@given(traces())
def test_any_trace(trace: Trace) -> None:
    if not sound(trace):
        return
    program = build(trace)
    for rank in trace.ranks:
        assert list(made(program, trace, rank)) == list(walked(trace, rank))
