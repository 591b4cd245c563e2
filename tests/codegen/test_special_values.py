"""Special values of MPI among ranks and tags: programs choose them, and compute with ordinary values only."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import load, save
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.program.check_arithmetic import check_arithmetic
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall, ProgramArgument
from scalatrace.codegen.program.values import of_vec
from scalatrace.errors import FormulaError
from scalatrace.formula import Const, Item, Special, Var, add, choose, compare, mul
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import ANY_TAG, PROC_NULL, SPECIAL, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.generated import compiled
from support.mpis import Mpi
from support.running import record, scalatrace

PROGRAMS = Path(__file__).parent / "programs"
RANKS = 4

peers = st.lists(st.sampled_from([-1, 0, 1, 2, PROC_NULL]), min_size=1, max_size=24)
mixed = st.lists(st.sampled_from([-1, 0, 7, *SPECIAL.values()]), min_size=1, max_size=24)


@st.composite
def stepped(draw: st.DrawFn, values: st.SearchStrategy[list[int]]) -> tuple[list[int], Vec]:
    """Values, and a vec of them in which any two neighbours may be a loop with a stride."""
    listed = draw(values)
    terms: list[object] = []
    i = 0
    while i < len(listed):
        if i + 1 < len(listed) and draw(st.booleans()):
            terms.append((2, listed[i + 1] - listed[i], listed[i]))
            i += 2
        else:
            terms.append(listed[i])
            i += 1
    return listed, Vec(((0, 0, *terms),) if draw(st.booleans()) else tuple(terms))


@given(stepped(mixed))
def test_no_loop_counts_from_a_special_value(made: tuple[list[int], Vec]) -> None:
    listed, vec = made
    separate = separate_specials(vec, len(listed))
    assert list(separate.first(len(listed))) == listed
    assert separate_specials(separate, len(listed)) == separate
    assert separate.length == vec.length


def test_loops_without_an_end() -> None:
    vec = Vec((5, (0, PROC_NULL + 1 - (-1), -1)))
    assert list(separate_specials(vec, 2).first(2)) == [5, -1]
    assert separate_specials(vec, None) == vec
    plain = Vec(((0, 1, 5),))
    assert separate_specials(plain, 1 << 40) == plain


@given(stepped(mixed))
def test_every_value(made: tuple[list[int], Vec]) -> None:
    listed, vec = made
    index = Var("n", len(listed))
    e = of_vec(vec, index)
    check_arithmetic(BenchmarkProgram(1, (MpiCall("Send", (ProgramArgument("tag", Kind.INT, e),)),)))
    found = [value(e, InterpretSetting({"n": n}, lambda _: (0, 1))) for n in range(len(listed))]
    assert found == listed


@settings(max_examples=30)
@given(stepped(peers), stepped(peers), st.sampled_from(Encoding))
def test_peers_in_all_encodings(
    one: tuple[list[int], Vec], other: tuple[list[int], Vec], encoding: Encoding
) -> None:
    times = min(len(one[0]), len(other[0]))
    groups = Groups([(RankList([0, 3]), one[1]), (RankList([1, 2]), other[1])])
    b = Builder(RANKS)
    send = b.event("Send", count=1, datatype=DOUBLE, dest=To(encoding, groups), tag=0, comm=Comm())
    trace = b.of(b.loop(times, send))
    program = build(trace)
    check_arithmetic(program)
    for rank in range(RANKS):
        at = InterpretSetting({"rank": rank}, lambda _, rank=rank: (rank, RANKS))
        dest = [value(stmt["dest"], here) for stmt, here in run(program, at) if isinstance(stmt, MpiCall)]
        assert dest == [call["dest"] for call in trace.walk(rank)]
    for language in ("c", "python", "conceptual"):
        text = generate(trace, language).text
        assert "000000" not in text.partition("benchmark(")[2]


@pytest.mark.parametrize("kind", [Kind.PEER, Kind.INT])
def test_arithmetic_with_a_special_value_is_refused(kind: Kind) -> None:
    x, size = Var("x"), Var("Y")
    at_border = choose(compare("==", x, Const(0)), Const(1), Const(0))
    wrong = [
        add(mul(at_border, add(size, Const(PROC_NULL))), mul(size, Const(-1))),
        add(Item((PROC_NULL, -1), x), Var("rank")),
        add(choose(compare("==", x, Const(0)), Const(ANY_TAG), Const(4)), size),
    ]
    for e in wrong:
        call = MpiCall("Isend", (ProgramArgument("dest", kind, e),), (Foreign("halo.py:7:exchange"),))
        with pytest.raises(GenerateError, match=r"MPI_Isend at halo\.py:7:exchange: its dest computes with"):
            check_arithmetic(BenchmarkProgram(RANKS, (call,)))
    right = choose(compare("==", x, Const(0)), Const(PROC_NULL), add(size, Const(-1)))
    check_arithmetic(BenchmarkProgram(RANKS, (MpiCall("Isend", (ProgramArgument("dest", kind, right),)),)))


def test_a_special_value_is_no_number() -> None:
    call = MpiCall("Recv", (ProgramArgument("tag", Kind.INT, Special("ANY_TAG")),))
    with pytest.raises(FormulaError, match="ANY_TAG stands for no number"):
        call.number("tag")


def benchmark(mpi: Mpi, source: Path, language: str) -> list[str | Path]:
    """The command that runs a generated program."""
    if language == "python":
        return [str(mpi.python), source]
    return [compiled(mpi, source)]


@pytest.mark.mpi
@pytest.mark.parametrize("language", ["c", pytest.param("python", marks=pytest.mark.slow)])
def test_programs_with_peers_that_are_special_in_some_iterations(
    openmpi: Mpi, language: str, tmp_path: Path
) -> None:
    trace, again = tmp_path / "app.st", tmp_path / "again.st"
    application = [str(openmpi.python), PROGRAMS / "borders.py", "1x4"]
    record(openmpi, 4, application, trace, timeout=60).check()
    source = tmp_path / f"bench.{'c' if language == 'c' else 'py'}"
    source.write_text(generate(load(trace), language, GenerateOptions(compute_scale=0.01)).text)
    record(openmpi, 4, benchmark(openmpi, source, language), again, timeout=60).check()
    scalatrace(openmpi, "diff", trace, again, "--ignore", "callsites,times").check()


@pytest.mark.mpi
def test_a_stored_step_from_a_special_value(openmpi: Mpi, tmp_path: Path) -> None:
    """A trace may store -1, PROC_NULL, -1, PROC_NULL, -1 as -1 and two turns of two values."""
    up = Vec((1, (2, 0, (2, PROC_NULL - 1, 1))))
    down = Vec((-1, (2, 0, (2, PROC_NULL + 1, -1))))
    first, middle, last = RankList([0]), RankList([1, 2]), RankList([3])
    b = Builder(RANKS)
    nobody = Vec(PROC_NULL)
    message = {"count": 2, "datatype": DOUBLE}
    dest = To(Encoding.RELATIVE, Groups([(first, up), (middle, up), (last, nobody)]))
    source = To(Encoding.RELATIVE, Groups([(first, nobody), (middle, down), (last, down)]))
    trace = b.of(
        b.event("Init"),
        b.loop(
            5,
            b.event("Isend", **message, dest=dest, tag=3, comm=Comm()),
            b.event("Recv", **message, source=source, tag=3, comm=Comm()),
            b.event("Waitall", requests=(0,)),
        ),
        b.event("Finalize"),
    )
    want, again, path = tmp_path / "want.st", tmp_path / "again.st", tmp_path / "bench.c"
    save(trace, want)
    path.write_text(generate(trace, "c").text)
    record(openmpi, 4, benchmark(openmpi, path, "c"), again, timeout=60).check()
    assert [[c["dest"] for c in load(again).walk(r) if c.op == "Isend"] for r in range(4)] == [
        [c["dest"] for c in trace.walk(r) if c.op == "Isend"] for r in range(4)
    ]


@pytest.mark.slow
@pytest.mark.mpi
def test_formulas_of_an_open_grid(openmpi: Mpi, tmp_path: Path) -> None:
    sizes = ("3x3", "3x4", "4x4", "4x5")
    paths = {size: tmp_path / f"{size}.st" for size in (*sizes, "2x2")}
    for size, path in paths.items():
        rows, columns = map(int, size.split("x"))
        application = [str(openmpi.python), PROGRAMS / "borders.py", size]
        record(openmpi, rows * columns, application, path, timeout=100).check()
    formulas = tmp_path / "grid.stx"
    given_traces = [paths[size] for size in sizes]
    options = ["--dims-of", ",".join(sizes), "--symbolic", "-o", formulas]
    scalatrace(openmpi, "extrapolate", *given_traces, *options).check()
    for language, (rows, columns) in {"c": (3, 3), "python": (2, 2)}.items():
        source, again = tmp_path / f"bench.{language}", tmp_path / f"{language}.st"
        scalatrace(openmpi, "generate", formulas, "--to", language, "-o", source).check()
        if language == "c":
            command = benchmark(openmpi, source, language)
        else:
            command = [str(openmpi.python), source]
        sides = ["--x", str(rows), "--y", str(columns), "--sleep"]
        record(openmpi, rows * columns, [*command, *sides], again, timeout=100).check()
        want = paths[f"{rows}x{columns}"]
        scalatrace(openmpi, "diff", want, again, "--ignore", "callsites,times").check()
    scalatrace(openmpi, "generate", formulas, "--to", "conceptual", "-o", tmp_path / "b.ncptl").check()
