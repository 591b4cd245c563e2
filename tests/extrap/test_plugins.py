"""Plug-ins: the shipped one says what no formula does; what is none is one clear error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scalatrace import Trace, extrap
from scalatrace.cli import main
from scalatrace.errors import FormulaError, UsageError
from scalatrace.extrap import model_of
from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid import plugins, space
from scalatrace.extrap.solve import features
from scalatrace.formula import FUNCTIONS, evaluate, parse, parse_number
from scalatrace.trace.io.writer import save
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of
from support.programs import SAMPLES

PLUGIN = SAMPLES / "plugins" / "cg_transpose.py"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test loads is gone after it."""
    tables = (features.EXTRA, space.EXTRA_PARTITIONS, plugins.DIMS)
    plugins.OWNERS.clear()
    before, known = [list(table) for table in tables], dict(FUNCTIONS)
    yield
    for table, entries in zip(tables, before, strict=True):
        table[:] = entries  # type: ignore[index]
    FUNCTIONS.clear()
    FUNCTIONS.update(known)


def transposing(rank: Rank) -> list[IssuedCall]:
    """CG's exchange with the rank on the other side of the diagonal."""
    (x, y), (row, column) = rank.dims, rank.place
    parts = y // x
    other = column // parts * y + row * parts + column % parts
    return [call("Sendrecv", 5, count=8 * parts, dest=other, source=other, comm="world")] * 3


def cg(dims: tuple[int, int]) -> Trace:
    trace = trace_of(transposing, dims)
    trace.meta["program"] = "python cg.py"
    return trace


@pytest.mark.parametrize("with_plugin", [False, True])
def test_transposition_with_and_without_the_plugin(with_plugin: bool) -> None:
    traces = [cg(dims) for dims in ((2, 4), (4, 4), (4, 8))]
    if with_plugin:
        plugins.load_plugins([PLUGIN])
    made = extrap.extrapolate(traces, 64)
    assert made.grid.dims == (8, 8)
    assert diff(made.trace, cg((8, 8)), ["times"]) == []
    assert diff(extrap.extrapolate(traces, 128, (8, 16)).trace, cg((8, 16)), ["times"]) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "no plug-in"),
        ("1 +", "SyntaxError"),
        ("FEATURES = [('import os', 1)]", "not a formula"),
        ("FEATURES = ['r%3']", "invalid FEATURES: "),
        ("FUNCTIONS = 3", "invalid FUNCTIONS: "),
        ("FUNCTIONS = {'f': 3}", "3 is no function"),
        ("FUNCTIONS = {'block': max}", "have a block of their own"),
        ("FUNCTIONS = {'X': max}", "have a X of their own"),
        ("dims = (4, 4)", "is no function"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit"),
    ],
)
def test_what_is_no_plugin(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises((UsageError, FormulaError), match=told):
        plugins.load_plugins([path])
    with pytest.raises(InputError, match="no Python file"):
        plugins.load_plugins([tmp_path / "missing.py"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def dims(trace): return 4", r"dims\(\) fails for 8 ranks: TypeError"),
        ("def dims(trace): raise KeyError('x')", r"dims\(\) fails for 8 ranks: KeyError"),
        ("def dims(trace): return 3, 3", r"says \(3, 3\) of a trace of 8 ranks"),
        ("def dims(trace): return (trace.nprocs,) + (1,) * (trace.nprocs == 8)", "numbers of dimensions"),
        ("def dims(trace): return trace.nprocs, 1, 1, 1, 1", "at most 4 dimensions"),
        ("FUNCTIONS = {'f': lambda r: {}[0]}; FEATURES = [('f(r)', 2)]", "the function f fails: KeyError"),
    ],
)
def test_a_plugin_that_fails_is_one_error(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    plugins.load_plugins([path])
    with pytest.raises((UsageError, FormulaError), match=told):
        extrap.extrapolate([cg(dims) for dims in ((2, 4), (4, 4), (4, 8))], 64)


def along(rank: Rank) -> list[IssuedCall]:
    """To the next rank of a line, from all but the last."""
    (n,), (i,) = rank.dims, rank.place
    return [call("Send", 5, count=8, dest=i + 1, comm="world")] * (i < n - 1)


def test_a_plugin_for_another_grid_is_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "planes.py"
    path.write_text(
        "FUNCTIONS = {'f': lambda r, s: r}; FEATURES = [('f(r, Y)', 2)]; PARTITIONS = [['y==0', 'y>0']]"
    )
    plugins.load_plugins([path])
    made = extrap.extrapolate([trace_of(along, (n,)) for n in (4, 5, 6, 8)], 12).trace
    assert diff(made, trace_of(along, (12,)), ["times"]) == []


def test_formulas_without_their_plugin_name_it() -> None:
    with pytest.raises(FormulaError, match=r"knows the function cg_other: .*--plugin"):
        evaluate(parse("cg_other(r, P)"), {"r": 1, "P": 4})


def test_two_plugins_with_one_name(tmp_path: Path) -> None:
    paths = [tmp_path / "one.py", tmp_path / "two.py"]
    for path in paths:
        path.write_text("FUNCTIONS = {'mine': lambda r: r}")
    plugins.load_plugins([paths[0], paths[0]])
    with pytest.raises(InputError, match=r"one\.py has a function mine already"):
        plugins.load_plugins([paths[1]])


@pytest.mark.parametrize("conditions", [["r%2==0"], ["r%2==0", "r>0"]])
def test_a_partition_that_is_none(tmp_path: Path, conditions: list[str]) -> None:
    """Ranks that no condition holds for, or two."""
    path = tmp_path / "mine.py"
    path.write_text(f"PARTITIONS = [{conditions!r}]")
    plugins.load_plugins([path])
    with pytest.raises(
        InputError, match=r"the partition r%2==0.* is none: . of its conditions hold for rank"
    ):
        extrap.extrapolate(
            [cg(dims) for dims in ((2, 4), (4, 4), (4, 8))], 64, dims_of=[(2, 4), (4, 4), (4, 8)]
        )


def test_features_are_texts_or_expressions(tmp_path: Path) -> None:
    (path := tmp_path / "mine.py").write_text(
        "from scalatrace.formula import Var\n"
        "r, P = Var('r'), Var('P')\n"
        "FEATURES = [((r * 7 + 3) % (P - 1), 1.0), ('r*7%5', 1.0)]\n"
    )
    plugins.load_plugins([path])
    assert [feature for feature, _ in features.EXTRA] == [
        parse_number("(r*7+3)%(P-1)"),
        parse_number("r*7%5"),
    ]

    def body(rank: Rank) -> list[IssuedCall]:
        count = (rank.number * 7 + 3) % (rank.dims[0] - 1)
        return [call("Gatherv", 1, sendcount=count, root=0, comm="world")] * 2

    lines = [(5,), (7,), (8,), (11,)]
    made = extrap.extrapolate([trace_of(body, dims) for dims in lines], 17, (17,), dims_of=lines)
    assert diff(made.trace, trace_of(body, (17,)), ["times"]) == []


def test_commands_on_formulas_load_plugins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = dict(FUNCTIONS)
    plugins.load_plugins([PLUGIN])
    traces = [cg(dims) for dims in ((2, 4), (4, 4), (4, 8))]
    save(model_of(traces)[1], path := tmp_path / "cg.stx")
    FUNCTIONS.clear()
    FUNCTIONS.update(known)
    plugins.OWNERS.clear()
    assert main(["stats", str(path), "-P", "64", "--csv"]) == 1
    assert "knows the function cg_opposite" in capsys.readouterr().err
    assert main(["stats", str(path), "-P", "64", "--csv", "--plugin", str(PLUGIN)]) == 0
