"""Values from the whole range of 64 bits: no stride, sum or prediction of the compressor leaves it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import scalatrace
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from support.traces import HIGH, LOW, wide_values

FAR = [9223372032559808513] * 2 + [-4294967296] * 2
WRAPPED = [
    [HIGH - 2, HIGH - 1, HIGH, LOW, LOW + 1],
    [LOW + 1, LOW, HIGH, HIGH - 1],
    [LOW, 0, LOW, 0, LOW, 0, HIGH],
]


def core_of(values: list[int], rank: int = 0, nprocs: int = 1) -> Core:
    """A core of one operation, called once with each value."""
    core = Core(rank, nprocs)
    op = core.define_op("Send", [("count", Kind.INT)])
    for value in values:
        core.append(op, [value])
    return core


def written(core: Core) -> Trace:
    """The trace of a core, from its file."""
    core.finish()
    with tempfile.TemporaryDirectory() as folder:
        core.write(Path(folder) / "a.st")
        return scalatrace.load(Path(folder) / "a.st")


@given(wide_values())
@example(FAR * 9)
@example([*WRAPPED[0], *range(40)])
@example([*WRAPPED[1], *range(40)])
@example(WRAPPED[2] * 6)
def test_the_core_keeps_every_value(values: list[int]) -> None:
    trace = written(core_of(values))
    assert [call.values[0] for call in trace.walk(0)] == values
    assert parse(text(trace)) == trace


@given(wide_values(), st.integers(0, 100))
@example(FAR * 20, 37)
@example([*WRAPPED[0] * 8, *range(20)], 19)
def test_a_vector_depends_on_its_values_alone(values: list[int], cut: int) -> None:
    """However it was appended, packed and merged; the file of two equal ranks has one vector."""
    here, there = core_of(values, 0, 2), core_of(values, 1, 2)
    here.finish()
    there.finish()
    here.merge(there.pack())
    trace = written(here)
    for rank in (0, 1):
        assert [call.values[0] for call in trace.walk(rank)] == values
    assert {type(leaf.params[0]).__name__ for leaf in trace.leaves()} <= {"Vec"}


@pytest.mark.parametrize("sums", [[0, HIGH, -2, 5], [0, LOW, HIGH, LOW], [0, 3, 7, 9]])
def test_arrays_that_would_be_sums_of_another(sums: list[int]) -> None:
    wrapped = [((b - a - LOW) % (1 << 64)) + LOW for a, b in zip(sums, [*sums[1:], 0], strict=True)]
    core = Core(0, 4)
    core.define_comm(COMM_WORLD, 0, "world", range(4))
    op = core.define_op("Alltoallv", [("sendcounts", Kind.ARRAY), ("sdispls", Kind.ARRAY)])
    core.append(op, [core.array(wrapped), core.array(sums)])
    call = next(written(core).walk(0))
    assert (call["sendcounts"], call["sdispls"]) == (tuple(wrapped), tuple(sums))


def test_histograms_of_extreme_values_keep_their_signs() -> None:
    core = Core(0, 1)
    core.set_policy("Send.count", 2)
    op = core.define_op("Send", [("count", Kind.INT)])
    for value in [HIGH] * 3 + [5, 7, 11, 1, 4, 9, 2, 6]:
        core.append(op, [value])
    summary = next(written(core).leaves()).params[0]
    assert summary.histogram.max == pytest.approx(HIGH, rel=0.01)
