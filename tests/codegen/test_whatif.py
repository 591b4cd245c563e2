"""What-if factors: the counts and times that calls are made with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.passes.whatif import scale_bytes, scale_compute
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import BenchmarkProgram, ComputeStatement, MpiCall, statements
from scalatrace.errors import UsageError
from scalatrace.scaling import exact_factor
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.factors import FactorRule, Factors, parse_rule
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm


def made(program: BenchmarkProgram) -> list[dict[str, object]]:
    """The calls of rank 0 by parameter, arrays as what they hold."""
    result = []
    for stmt, at in run(program, InterpretSetting({"rank": 0}, lambda _: (0, 2))):
        if isinstance(stmt, MpiCall):
            values = [(a.name, a.kind, value(a.value, at)) for a in stmt.arguments]
            arrays = program.arrays
            result.append({name: arrays[v].values if kind is Kind.ARRAY else v for name, kind, v in values})
    return result


def program() -> BenchmarkProgram:
    b = Builder(2)
    computed = Histogram(3, 1000, 3000, 2000, 10)
    return build(
        b.of(
            b.loop(
                3,
                b.event("Isend", compute=computed, count=Vec((1, 3, 0)), datatype=DOUBLE, dest=1, tag=0,
                        comm=Comm()),
                b.event("Irecv", count=Vec(((0, 2, 1),)), datatype=DOUBLE, source=1, tag=0, comm=Comm()),
            ),
            b.event("Waitall", requests=(1, 0)),
            b.event("Alltoallv", sendcounts=(1, 2), sdispls=(0, 1), recvcounts=(2, 0), rdispls=(0, 2)),
            b.event("Put", origin_count=3, target_rank=1, comm=Comm()),
        )
    )  # fmt: skip


def test_messages_grow_and_nothing_else() -> None:
    before, after = made(program()), made(scale_bytes(program(), Factors([FactorRule(nbytes=1.5)])))
    assert [call.get("count") for call in before] == [1, 1, 3, 3, 0, 5, None, None, None]
    assert [call.get("count") for call in after] == [2, 2, 5, 6, 0, 10, None, None, None]
    assert after[6] == before[6]
    assert after[7] == {"sendcounts": (2, 3), "sdispls": (0, 2), "recvcounts": (3, 0), "rdispls": (0, 4)}
    assert after[8] == before[8]


def test_nothing_becomes_something_and_something_nothing_only_times_0() -> None:
    assert [call.get("count") for call in made(scale_bytes(program(), Factors([FactorRule(nbytes=0.001)])))][
        ::2
    ][:3] == [1, 1, 0]
    assert made(scale_bytes(program(), Factors([FactorRule(nbytes=1)]))) == made(program())


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_computation(factor: float) -> None:
    scaled = [s for s in statements(scale_compute(program(), factor).body) if isinstance(s, ComputeStatement)]
    assert [context.duration.ns for s in scaled for context in s.contexts] == [2000 * factor]
    assert not [s for s in statements(scale_compute(program(), 0).body) if isinstance(s, ComputeStatement)]


def test_factors_of_an_operation() -> None:
    """Receives have room for what any sender may send."""
    changed = made(scale_bytes(program(), Factors([parse_rule("Isend", "bytes=2.5")])))
    assert [call.get("count") for call in changed][:6] == [3, 3, 8, 9, 0, 15]
    assert changed[7] == made(program())[7]


def test_computation_before_some_calls() -> None:
    for where, ns in (("Isend", 500.0), ("Irecv", 2000.0)):
        rules = Factors([parse_rule(where, "compute=0.25")])
        scaled = [
            s for s in statements(scale_compute(program(), 1, rules).body) if isinstance(s, ComputeStatement)
        ]
        assert [context.duration.ns for s in scaled for context in s.contexts] == [ns]


@pytest.mark.parametrize("text", ["0.1", "0.7", "3.3", "0.000001", "1e9"])
def test_factors_are_the_fractions_that_were_written(text: str) -> None:
    assert exact_factor(float(text)) == Fraction(text)


def test_a_rule_for_no_call_is_an_error() -> None:
    trace = Builder(2).of()
    with pytest.raises(UsageError, match="no call of the trace is at Bcast"):
        generate(trace, "c", GenerateOptions(rules=(parse_rule("Bcast", "bytes=2"),)))
