"""What is said in coNCePTuaL of sizes, roots and times that vary; all of it is within the language."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import lower
from scalatrace.codegen.conceptual.printer.program import show
from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.codegen.emit.conceptual.common.computation import draw
from scalatrace.codegen.emit.conceptual.sets.recorded import RecordedTasks
from scalatrace.codegen.emit.conceptual.sets.tables import combine
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.program.interpret import InterpretSetting, value
from scalatrace.codegen.program.tree import BenchmarkProgram, Duration
from scalatrace.formula import Binary, Const, Item, Var
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, INT, Builder, Comm, To


def said(trace: Trace, options: GenerateOptions | None = None) -> str:
    """The text, which must be accepted and run to its end on as many tasks as the trace has ranks."""
    text = generate(trace, "conceptual", options).text
    assert not list(find_faults(lower(check(text), trace.nprocs)))
    return text


def transfers(text: str, nprocs: int, rank: int) -> list[tuple[bool, int, int]]:
    """What a task sends and receives: whether it sends, with whom, bytes."""

    def walk(events: tuple[e.Event, ...]) -> list[tuple[bool, int, int]]:
        result = []
        for event in events:
            if isinstance(event, e.Transfer):
                result.append((event.sends, event.peer, event.size))
            elif isinstance(event, e.Repeat):
                result += event.count * walk(event.body)
        return result

    return walk(lower(check(text), nprocs).events[rank])


def test_size_and_datatype_vary_together() -> None:
    """As mpi4py sends what it has pickled: first the length, then so many bytes."""
    b, counts = Builder(2), [1, 5, 1, 9, 1, 2]
    b.trace.types += [INT, DOUBLE]
    data = {"count": vec_of(counts), "datatype": INT, "tag": 0, "comm": Comm()}
    nodes: list[Node] = []
    for op, name in (("Irecv", "source"), ("Isend", "dest")):
        event = b.event(op, **data, **{name: To(Encoding.XOR, Vec(1))})
        at = [kind for _, kind in b.trace.ops[event.op].params].index(Kind.TYPE)
        params = (*event.params[:at], vec_of([0, 1, 0, 1, 0, 1]), *event.params[at + 1 :])
        nodes.append(replace(event, params=params))
    text = said(b.of(b.loop(6, *nodes, b.event("Waitall", requests=(1, 0)))))
    sizes = [n * (4, 8)[i % 2] for i, n in enumerate(counts)]
    assert [size for sends, _, size in transfers(text, 2, 0) if sends] == sizes
    assert [size for sends, _, size in transfers(text, 2, 1) if not sends] == sizes


def test_roots_that_go_around() -> None:
    b = Builder(4)
    roots = vec_of([0, 1, 2, 3, 0, 1, 2, 3])
    event = b.event("Bcast", count=3, datatype=DOUBLE, root=roots, comm=Comm())
    text = said(b.of(b.loop(8, event)))
    assert "TASK (i1 MOD 4) MULTICASTS A 24 BYTE MESSAGE TO ALL OTHER TASKS" in text


def test_roots_of_rows_that_go_around_are_one_statement() -> None:
    b = Builder(6)
    row = b.family("split", (3, 3), tuple(range(6)))
    what = {"count": 1, "datatype": DOUBLE, "op": "MPI_SUM", "root": vec_of([2, 0, 1])}
    text = said(b.of(b.loop(3, b.event("Reduce", **what, comm=row, in_place=0))))
    assert text.count("REDUCE") == 1
    assert "FOR EACH c IN {0, 1} TASKS t SUCH THAT t / 3 = c REDUCE 2 INTEGERS TO TASK" in text


def test_many_values_without_a_rule() -> None:
    b = Builder(2)
    sizes = random.Random(1).sample(range(1, 5000), 300)
    data = {"count": vec_of(sizes), "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    nodes = [
        b.event("Irecv", **data, source=To(Encoding.XOR, Vec(1))),
        b.event("Isend", **data, dest=To(Encoding.XOR, Vec(1))),
        b.event("Waitall", requests=(1, 0)),
    ]
    text = said(b.of(b.loop(300, *nodes)))
    assert text.count("\n") < 20
    assert [size // 8 for sends, _, size in transfers(text, 2, 0) if sends] == sizes


def test_tables_of_one_index_may_be_of_different_lengths() -> None:
    """Whichever is longer, what lies beyond the other's end never comes."""
    sizes, i = RecordedTasks(BenchmarkProgram(2, (), types=(INT, DOUBLE))), Var("i", 3)
    for counts, kinds in (((1, 2, 5), (0, 1)), ((1, 2), (0, 1, 0))):
        size = sizes.nbytes(Item(counts, i), Item(kinds, i))
        assert [value(size, InterpretSetting({"i": k}, lambda family: (0, 1))) for k in range(2)] == [4, 16]


def test_too_many_values_are_an_error() -> None:
    i = Var("i", 1 << 20)
    with pytest.raises(GenerateError, match="follow no formula"):
        combine([i, Const(2)], lambda a, b: a * b)


def test_combined_is_the_function_of_the_values() -> None:
    i, j = Var("i", 4), Var("j", 3)
    parts = (Item((3, 1, 4, 1), i), Binary("*", j, Const(2)))
    made = combine(parts, lambda a, b: a * 100 + b)
    for a in range(4):
        for b in range(3):
            at = InterpretSetting({"i": a, "j": b}, lambda family: (0, 1))
            assert value(made, at) == (3, 1, 4, 1)[a] * 100 + 2 * b


def test_a_loop_that_never_reaches_the_own_rank_sends_blocking() -> None:
    b = Builder(4)
    data = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    first, others = RankList([0]), RankList([1, 2, 3])
    send = b.event("Send", Groups([(first, Vec(1))]), **data, dest=vec_of([1, 2, 3]))
    receive = b.event("Recv", Groups([(others, Vec(1))]), **data, source=0)
    text = said(b.of(b.loop(Groups([(first, Vec(3))]), send), receive))
    assert "ASYNCHRONOUSLY" not in text


def test_drawn_times_are_drawn() -> None:
    b = Builder(2)
    bins = (Bin(5, 1e6, 3e6, 2e6), Bin(5, 10e6, 12e6, 11e6))
    event = b.event("Barrier", compute=Histogram(10, 1e6, 12e6, 6.5e6, 1e6, bins), comm=Comm())
    mean = said(b.of(b.loop(10, event)))
    drawn = said(b.trace, GenerateOptions(EmitOptions(drawn=True)))
    assert "ALL TASKS COMPUTE FOR 6500 MICROSECONDS" in mean
    assert "RANDOM_UNIFORM(1000, 3001)" in drawn


def test_a_draw_has_the_mean_and_the_shares_of_its_bins() -> None:
    bins = (Bin(60, 1e6, 3e6, 2e6), Bin(30, 10e6, 12e6, 11e6), Bin(10, 50e6, 50e6, 50e6))
    mean = sum(b.count * b.mean for b in bins) / 100
    histogram = Histogram(100, 1e6, 50e6, mean, 1e6, bins)
    program = check(f"ALL TASKS COMPUTE FOR {show(draw(Duration(mean, histogram)))} MICROSECONDS.")
    duration = program.sentences[0].statements[0].duration  # type: ignore[attr-defined]
    env = Env({}, 1, draws=Draws(1), me=0)
    found = [integer(duration, env) for _ in range(4000)]
    assert statistics.fmean(found) == pytest.approx(mean / 1000, rel=0.06)
    assert sum(1000 <= x <= 3000 for x in found) / 4000 == pytest.approx(0.6, abs=0.03)
    assert sum(x == 50000 for x in found) / 4000 == pytest.approx(0.1, abs=0.02)
