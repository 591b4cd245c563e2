"""Values kept as formulas are the values that would be written out, and are worked out for one rank alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scalatrace
from scalatrace import Trace, extrap
from scalatrace.cli import main
from scalatrace.codegen.builders.recorded import build
from scalatrace.errors import UsageError
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import of_model
from scalatrace.extrap.instantiate import ranks, values
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model.elastic import Columns, Formulas, Groups
from scalatrace.trace.model.nodes import Node, Peer, Sequence
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query import counting
from scalatrace.trace.query.diff import diff
from scalatrace.trace.query.explicit import explicit
from scalatrace.trace.symbolic.field import CYCLE, LOOPED, Field
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.calls import IssuedCall, call
from support.drawing import json_of
from support.formulas import part
from support.grids import Body, Rank, ends, halo, panels, trace_of, wavefront

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5)]
SQUARES = [(3, 3), (4, 4), (5, 5), (6, 6), (7, 7)]


def tagged(rank: Rank) -> list[IssuedCall]:
    """Tags by both coordinates, other ones from message to message; counts by blocks; some ranks do less."""
    x, y = rank.place
    peer = rank.neighbour((0, 1), True)
    made: list[IssuedCall] = []
    for _ in range(10):
        for tag in (x * rank.dims[1] + y, 3 * x + 1000, y):
            made.append(call("Send", 70, count=8 * (x + y) + 1, dest=peer, tag=tag, comm="world"))
        if x > 0:
            made += [call("Bcast", 71, count=4, root=0, comm="world")] * y
    return made


def fields(nodes: list[Node] | tuple[Node, ...]) -> list[object]:
    """Repeats and parameters of nodes and those below."""
    result: list[object] = []
    for node in nodes:
        result.append(node.repeat)
        if isinstance(node, Sequence):
            result += fields(node.nodes)
        else:
            result += [p.value if isinstance(p, Peer) else p for p in node.params]
    return result


def formulas_in(trace: Trace) -> list[Formulas]:
    return [value for value in fields(trace.nodes) if isinstance(value, Formulas)]


def both(
    monkeypatch: pytest.MonkeyPatch, body: Body, sides: list[tuple[int, int]], target: tuple[int, int], n: int
) -> tuple[Trace, Trace]:
    """The extrapolated trace with everything written out, and with as few values written out as can be."""
    traces = [trace_of(body, dims, n, groups=body in (panels, ends)) for dims in sides]
    _, model, _ = extrap.model_of(traces)
    nprocs = target[0] * target[1]
    written = of_model(model, nprocs, target).trace
    monkeypatch.setattr(ranks, "MAX_GROUPS", 1)
    monkeypatch.setattr(values, "MAX_TERMS", 1)
    return written, of_model(model, nprocs, target).trace


CASES = [
    (tagged, PLANES, (6, 7), 0),
    (wavefront, PLANES, (7, 6), 24),
    (halo(False), PLANES, (7, 6), 0),
    (panels, SQUARES, (8, 8), 0),
    (ends, SQUARES, (8, 8), 0),
]


@pytest.mark.parametrize(("body", "sides", "target", "n"), CASES)
def test_formulas_say_what_is_written_out(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    body: Body,
    sides: list[tuple[int, int]],
    target: tuple[int, int],
    n: int,
) -> None:
    written, kept = both(monkeypatch, body, sides, target, n)
    assert formulas_in(kept)
    assert not formulas_in(written)
    assert diff(written, kept) == []
    assert written.nevents() == kept.nevents()
    assert diff(written, explicit(kept)) == []
    assert not formulas_in(explicit(kept))
    scalatrace.save(kept, tmp_path / "kept.st")
    read = scalatrace.load(tmp_path / "kept.st")
    assert diff(read, kept, ["times"]) == []
    assert formulas_in(read) == formulas_in(kept)
    assert parse(text(read)).nodes == read.nodes


def test_formulas_are_shown_and_make_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, kept = both(monkeypatch, tagged, PLANES, (6, 7), 0)
    assert build(kept, False) == build(written, False)
    scalatrace.save(kept, tmp_path / "kept.st")
    assert main(["show", "--full", str(tmp_path / "kept.st")]) == 0
    shown = capsys.readouterr().out
    assert "3*x+1000" in shown.replace(" ", "").replace("\n", "")
    for command in (["info"], ["stats"], ["show", "--notation"]):
        assert main([*command, str(tmp_path / "kept.st")]) == 0


@pytest.mark.slow
def test_one_of_a_million_ranks_with_values_of_their_own(tmp_path: Path) -> None:
    traces = [trace_of(tagged, dims) for dims in PLANES]
    big = extrap.extrapolate(traces, 1 << 20).trace
    scalatrace.save(big, tmp_path / "big.st")
    scalatrace.save(traces[-1], tmp_path / "small.st")
    read = scalatrace.load(tmp_path / "big.st")
    x, y = divmod(777_777, 1024)
    sent = [(c["tag"], c["dest"], c["count"]) for c in read.walk(777_777) if c.op == "Send"]
    tags = (777_777, 3 * x + 1000, y)
    assert sent == [(tag, 777_778, 8 * (x + y) + 1) for _ in range(10) for tag in tags]
    assert read.nevents(777_777) == 10 * (3 + y)
    assert (tmp_path / "big.st").stat().st_size < 1.2 * (tmp_path / "small.st").stat().st_size
    with pytest.raises(UsageError, match="1,048,576 ranks"):
        explicit(read)


def test_very_many_ranks_need_not_be_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MAX_COUNTED_RUNS", 1 << 10)
    for dims in PLANES:
        scalatrace.save(trace_of(tagged, dims), tmp_path / f"{dims[0] * dims[1]}.st")
    inputs = [str(path) for path in sorted(tmp_path.glob("*.st"))]
    out = str(tmp_path / "big.st")
    assert main(["extrapolate", *inputs, "-P", str(1 << 14), "-o", out]) == 0
    assert "uncounted events" in capsys.readouterr().out
    assert main(["info", out]) == 0
    assert "uncounted" in capsys.readouterr().out
    assert json_of(capsys, "info", out)["events"] is None


def test_tables_hold_no_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of tables that differ on too many ranks are an error that says so."""
    grid, everyone = Grid((6, 7)), np.ones(42, dtype=bool)
    differing = Field((part("1", CYCLE, ("x", "y")),))
    assert isinstance(values.Values(grid, {}).param(differing, everyone, Kind.COMM, ())[0], Groups)
    monkeypatch.setattr(ranks, "MAX_BYTES", 42 * 30)
    with pytest.raises(ExtrapolationError, match="names other comms on each of very many groups of ranks"):
        values.Values(grid, {}).param(differing, everyone, Kind.COMM, ())


def test_a_value_is_worked_out_once_per_loops_and_ranks() -> None:
    """Equal parameters share a value; other ranks, or other loops around, have another one."""
    made, everyone = values.Values(Grid((6, 7)), {}), np.ones(42, dtype=bool)
    turns = Field((part("1", LOOPED, ("1", "i1")),))
    first, _ = made.param(turns, everyone, Kind.INT, (Vec(3),))
    assert made.param(turns, everyone, Kind.INT, (Vec(4),))[0] != first
    assert made.param(Field((part("1", None, ("r",)),)), everyone, Kind.INT, ())[0] == Columns(
        RankList.all(42), Vec(((42, 1, 0),))
    )
    some = np.arange(42) % 2 == 0
    assert made.param(Field((part("1", None, ("r",)),)), some, Kind.INT, ())[0] == Columns(
        RankList(range(0, 42, 2)), Vec(((21, 2, 0),))
    )
