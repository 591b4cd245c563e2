"""Functions, operators, ranges: values that the language's manual and regression test give, and errors."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.values import functions as f
from scalatrace.codegen.conceptual.values import places
from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.evaluate import Env, holds, integer, real, values
from scalatrace.codegen.conceptual.values.operators import progression


def expression(text: str) -> t.Expr:
    statement = parse(f"TASK 0 OUTPUTS {text}.").sentences[0].statements[0]
    assert isinstance(statement, t.Output)
    return statement.items[0]  # type: ignore[return-value]


def true(text: str, **names: int) -> bool:
    statement = parse(f"IF {text} THEN {{ }}").sentences[0].statements[0]
    assert isinstance(statement, t.If)
    return holds(statement.condition, Env(names, 8))


@pytest.mark.parametrize(
    "text",
    [
        "1K=1024", "1E3=1000", "NOT +42=-43", "2**4=16", "2*3/2=24 MOD 7", "8<<2=32", "8>>2=2", "3&5=1", "3|5=7",
        "3 XOR 5=6", "2+5-3=10-(2+4)", "23/6*6=18", "-7/2=-3", "-3 MOD 5=2", "REAL(7/3+1/2)=3", "ABS(57)=ABS(-57)",
        "BITS(867)=10", "BITS(12345)=14", "CBRT(27)=3", "FACTOR10(5999)=5000", "FACTOR10(-4975)=-4000",
        "LOG10(1979)=3", "MIN(4,5,7,2)=2", "MAX(4,5,7,2)=7", "ROOT(5,32)=2", "SQRT(81)=9", "SQRT(80)=8",
        "2**-1=0", "(-1)**-3=-1", "1<<-1=0", "-5>>1=-3",
        "TREE_PARENT(3)=1", "TREE_PARENT(14)=6", "TREE_CHILD(5,0)=11", "TREE_CHILD(5,1)=12", "TREE_PARENT(0,3)=-1",
        "TREE_PARENT(8,3)=2", "TREE_CHILD(3,1,3)=11", "TREE_CHILD(1,0,4)=5", "TREE_CHILD(1,4,4)=-1",
        "KNOMIAL_PARENT(0,2,8)=-1", "KNOMIAL_PARENT(6,2,8)=2", "KNOMIAL_CHILDREN(1,2,8)=2",
        "KNOMIAL_CHILDREN(4,2,8)=0", "KNOMIAL_CHILD(2,1,3,27)=8", "KNOMIAL_CHILD(2,4,3,27)=-1",
        "KNOMIAL_CHILDREN(0)=3", "KNOMIAL_PARENT(5)=1", "KNOMIAL_CHILD(0,2)=4",
        "MESH_NEIGHBOR((8),0,(+5))=5", "MESH_NEIGHBOR((8),4,(+5))=-1", "MESH_NEIGHBOR((4,4),0,(3,3))=15",
        "MESH_NEIGHBOR((4,4,2),0,(2,1,1))=22", "MESH_COORDINATE((4,4),14,0)=2", "MESH_COORDINATE((4,4),14,1)=3",
        "MESH_COORDINATE((4,4,2),26,2)=1", "MESH_COORDINATE((4*,4*,2*),-26,2)=-1", "MESH_DISTANCE((8),1,6)=5",
        "MESH_DISTANCE((4,4,2),1,30)=5", "MESH_NEIGHBOR((8*),4,(+5))=1", "MESH_NEIGHBOR((4*,4*),0,(+3,-3))=7",
        "MESH_DISTANCE((8*),1,6)=3", "MESH_DISTANCE((4*,4*,2*),1,30)=3", "12 IS EVEN", "13 IS ODD", "-1 IS ODD",
        "4 DIVIDES 144", "7 IS IN {2,...,27}", "7 IS NOT IN {9,...,34}", "8 IS IN {1,2,4,...,20}", "3 IS IN [5,1]",
        "6 IS EVEN /\\ 2<=CBRT(16)", "8 IS ODD \\/ 2 DIVIDES 256 \\/ 5/0=1", "num_tasks=8", "PROCESSOR_OF(3)=3",
    ],
)  # fmt: skip
def test_true(text: str) -> None:
    assert true(text)


@pytest.mark.parametrize(
    "text",
    ["5/0", "5 MOD 0", "0**0", "0**-1", "SQRT(-1)", "LOG10(0)", "ROOT(0,5)", "2**63", "4G*4G*4G", "1<<64",
     "TREE_PARENT(1,0)", "KNOMIAL_PARENT(1,1)", "MESH_COORDINATE((0),1,0)", "MESH_COORDINATE((4),1,1)",
     "RANDOM_UNIFORM(1,2)", "0-(9E18)-9E18"],
)  # fmt: skip
def test_no_value(text: str) -> None:
    with pytest.raises(ProgramError, match=r"^program:1:\d+: this has no value: ") as caught:
        integer(expression(text), Env())
    assert caught.value.place.column == 16


@pytest.mark.parametrize(
    ("text", "value"),
    [("7/2", 3.5), ("SQRT(2)", math.sqrt(2)), ("ROUND(5/2)", 3.0), ("FLOOR(-7/2)", -4.0), ("CEILING(7/2)", 4.0),
     ("3|5", 7.0), ("7/2 MOD 2", 1.0), ("REAL(1/4)", 0.25), ("MAX(1/2,1/3)", 0.5), ("1 IF 7/2>3 OTHERWISE 2", 1.0),
     ("NOT 0", -1.0), ("LOG10(1000)", 3.0), ("FACTOR10(4975)", 4000.0), ("2**-1", 0.5), ("MIN(3)", 3.0)],
)  # fmt: skip
def test_floating_point(text: str, value: float) -> None:
    assert real(expression(text), Env()) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{8,6,...,1},{1,2,4,...,20},{3}", [8, 6, 4, 2, 1, 2, 4, 8, 16, 3]),
        ("{5,...,1}", [5, 4, 3, 2, 1]),
        ("{15,25,...,5}", []),
        ("{2,2,...,9}", [2]),
        ("{64,32,16,...,3}", [64, 32, 16, 8, 4]),
        ("{1,-2,4,...,20}", [1, -2, 4, -8, 16]),
        ("{10,20,30,...,45}", [10, 20, 30, 40]),
        ("{100,50,25,...,1}", [100, 50, 25, 12, 6, 3, 1]),
        ("{7943,15403,29870,...,120000}", [7943, 15403, 29870, 57924, 112327]),
        ("{2,1,2}", [2, 1, 2]),
        ("{x*10+y FOR EACH x IN {0,1} FOR EACH y IN {x,...,2} WHERE x<>y}", [1, 2, 12]),
    ],
)
def test_ranges(text: str, wanted: list[int]) -> None:
    loop = parse(f"FOR EACH i IN {text} {{ }}").sentences[0].statements[0]
    assert isinstance(loop, t.ForEach)
    assert list(values(loop.ranges, Env())) == wanted


@pytest.mark.parametrize("leading", [[1, 4, 9], [1, 2, 3, 5], [0, 1, 3], [1, -1, 1]])
def test_what_is_no_progression(leading: list[int]) -> None:
    with pytest.raises(ProgramError, match="neither an arithmetic nor a geometric"):
        progression(leading, 100)


def test_long_ranges_are_refused_but_can_be_asked() -> None:
    assert true("1G IS IN {0,2,...,1T}")
    with pytest.raises(ProgramError, match="more than 10,000,000 numbers"):
        values((t.OpenRange((t.Integer(0),), t.Integer(2**40)),), Env())


@given(st.integers(-50, 50), st.integers(1, 20), st.integers(1, 8), st.booleans())
def test_arithmetic_progressions_are_pythons(first: int, step: int, count: int, down: bool) -> None:
    step = -step if down else step
    wanted = [first + n * step for n in range(count + 2)]
    assert list(progression(wanted[:3], wanted[-1])) == wanted
    assert list(progression(wanted[:2], wanted[-1])) == wanted


@given(st.integers(1, 7), st.integers(0, 10**18))
def test_roots(degree: int, value: int) -> None:
    root = f.root(degree, value)
    assert root**degree <= value < (root + 1) ** degree


@given(st.integers(2, 5), st.integers(1, 60))
def test_knomial_parents_and_children_fit(k: int, tasks: int) -> None:
    found = {}
    for task in range(tasks):
        for child in range(places.knomial_children(task, k, tasks)):
            found[places.knomial_child(task, child, k, tasks)] = task
    assert found == {task: places.knomial_parent(task, k, tasks) for task in range(1, tasks)}


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=3), st.data())
def test_mesh_neighbors_are_as_far_as_they_should_be(
    mesh: list[tuple[int, bool]], data: st.DataObject
) -> None:
    sizes, wraps = [size for size, _ in mesh], [wrap for _, wrap in mesh]
    task = data.draw(st.integers(0, math.prod(sizes) - 1))
    axis = data.draw(st.integers(0, len(mesh) - 1))
    offsets = [int(i == axis) for i in range(len(mesh))]
    other = places.mesh_neighbor(sizes, wraps, task, offsets)
    edge = places.mesh_coordinate(sizes, task, axis) == sizes[axis] - 1
    assert (other == -1) == (edge and not wraps[axis])
    if other != -1:
        assert places.mesh_distance(sizes, wraps, task, other) == (1 if sizes[axis] > 1 else 0)


def test_draws_are_determined_and_fit_their_distributions() -> None:
    draws, again = Draws(5, 2), Draws(5, 2)
    assert [draws.bits() for _ in range(5)] == [again.bits() for _ in range(5)]
    assert Draws(5, 3).bits() != Draws(5, 2).bits()
    n = 4000
    assert sum(draws.gaussian(10, 2) for _ in range(n)) / n == pytest.approx(10, abs=0.2)
    assert sum(draws.poisson(700) for _ in range(200)) / 200 == pytest.approx(700, abs=10)
    assert all(3 <= draws.pareto(2, 3, 9) <= 9 for _ in range(n))
    assert min(draws.pareto(2, 3) for _ in range(n)) >= 3
    assert {draws.below(3) for _ in range(100)} == {0, 1, 2}


def test_file_data(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("1 2  3\n4 5 6.5\n\n7 8 x\n")
    name = str(path)

    def value(*arguments: str) -> float:
        return real(
            expression(f"STATIC_FILE_DATA({', '.join((chr(34) + name + chr(34), *arguments))})"), Env()
        )

    assert [value(), value("2"), value("3", "2"), value("-2", "-1")] == [1, 2, 6.5, 8]
    assert value("2", "-2", '" "', '"\\n"') == 5
    with pytest.raises(ProgramError, match=r"row 3, column 3 is 'x', no number"):
        value("3", "3")
    with pytest.raises(ProgramError, match="has 3 rows there, but row 9"):
        value("1", "9")
