"""The text form: exact both ways, and errors that name line and column."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from scalatrace import grammars
from scalatrace.errors import FormatError, TextError
from scalatrace.trace.io.reader import load
from scalatrace.trace.io.text import RESERVED, text
from scalatrace.trace.io.textparse import load_text, parse
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.nodes import Event, Peer, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind, Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.traces import traces

LINES = """\
scalatrace trace 1
nprocs 4
op Isend(dest peer, tag int)
signature []
pred start

nodes {
  100 x {
    Isend @0 (dest=mod 1, tag=[3 ..*(0 1)])
    {<0 0>: 1, <1 1 3 1>: 2} x Isend @0 (dest=abs PROC_NULL, tag={each <1 0 4 1>: [4*(7 by 1)]})
  }
}
"""


@given(traces())
def test_round_trip(trace: Trace) -> None:
    written = text(trace)
    assert written.isascii()
    assert parse(written) == trace


@given(traces())
def test_a_file_becomes_text_and_the_same_file(trace: Trace) -> None:
    with TemporaryDirectory() as folder:
        save(trace, before := Path(folder, "before.st"))
        read = load(before)
        save(parse(text(read)), after := Path(folder, "after.st"))
        assert load(after) == read
        assert after.read_bytes() == before.read_bytes()


def test_times_of_older_files_keep_their_digits(tmp_path: Path) -> None:
    """They have more digits than columns; four bins stay four."""
    bins = (Bin(1, 26304, 26304, 26304), Bin(1, 26496, 26496, 26496), Bin(2, 28992, 48000, 38528))
    histogram = Histogram(4, 26304, 48000, 32453, 10432, bins)
    event = Event(Vec(4), 0, 0, (), (PredStats(0, (histogram,)),))
    trace = Trace(1, [event], ops=[Op("Barrier", ())], stats=[RecordedStat("comm_ns", 1.0)], preds=[START])
    read = parse(text(trace))
    save(read, path := tmp_path / "a.st")
    (leaf,) = load(path).leaves()
    assert leaf.stats[0].histograms == (histogram,)


def test_reads_what_people_write() -> None:
    trace = parse(LINES)
    (loop,) = trace.nodes
    assert isinstance(loop, Sequence)
    assert loop.nodes[0] == Event(Vec(1), 0, 0, (Peer(Encoding.MODULO, Vec(1)), Vec((3, (0, 0, 0, 1)))))
    assert [call["dest"] for call in trace.walk(3)][:3] == [0, -1000000001, -1000000001]
    assert parse(text(trace)) == trace


def test_names_that_are_words_of_the_grammar_or_no_words() -> None:
    names = [*sorted(RESERVED), "count", "type", "a b", "", '"', "#", "\n", "\x1b[31m", "é"]
    plain = [name for name in names if name.isidentifier() and name.isascii()]  # operations have no others
    ops = [Op(name, ((name, Kind.INT), ("x" + name, Kind.PEER))) for name in plain]
    stats = [RecordedStat(name, 1.0) for name in names]
    peer = Peer(Encoding.XOR, Vec(1))
    trace = Trace(2, [Event(Vec(2), i, 0, (Vec(1), peer)) for i in range(len(ops))], ops=ops, stats=stats)
    assert parse(text(trace)) == trace


def test_all_words_of_the_grammar_are_known() -> None:
    """A word added to the grammar must be quoted when it is a name, or be allowed as one."""
    from lark import Lark

    terminals = Lark(grammars.text("trace"), parser="lalr").terminals
    words = {t.pattern.value for t in terminals if t.pattern.type == "str" and t.pattern.value.isidentifier()}
    assert words - RESERVED == {"array", "comm", "count", "extent", "op", "ranks", "size", "string", "type"}


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "reason"),
    [
        ("Isend @0 (dest=mod", "Issend @0 (dest=mod", 9, 5, "no operation 'Issend'"),
        ("dest=mod 1, tag", "tag=1, dest", 9, 5, "in this order"),
        ("tag=[3", "tag=mod [3", 9, 5, "a loop in a value vector is not"),
        ("..*(0 1)]", "..*(0 1) 5]", 9, 5, "only the last may be endless"),
        ("@0 (dest=mod", "@9 (dest=mod", 9, 5, "no signature 9"),
        ("100 x", "-100 x", 8, 8, "negative"),
        ("<0 0>", "<0 0 0>", 10, 0, "dimension 0"),
        ("<0 0>: 1", "<0 2>: 1", 10, 0, "overlap"),
        ("nprocs 4", "nprocs four", 2, 8, "unexpected 'four'"),
        ("nprocs 4", "nprocs 4 nprocs 4", 2, 17, "twice"),
        ("nprocs 4", "nprocs 99999999999", 2, 8, "nprocs 99999999999 is not between"),
        ("4*(7", "44444444444444444444444*(7", 10, 0, "64-bit"),
        ("trace 1", "trace 2", 1, 1, "version 2"),
        ("signature []", "signature [] signature [5]", 0, 0, "frame"),
        ("  }\n}\n", "", 11, 0, "the text ends"),
        ("}\n", "}\n&", 12, 0, "unexpected '&'"),
    ],
)
def test_errors_name_the_place(old: str, new: str, line: int, column: int, reason: str) -> None:
    assert old in LINES
    with pytest.raises(TextError, match=reason) as caught:
        parse(LINES.replace(old, new, 1), "a.txt")
    assert str(caught.value).startswith("a.txt:")
    assert (line == 0) or abs(caught.value.line - line) <= 1
    assert caught.value.column == column or column == 0


def test_deep_texts_are_refused() -> None:
    for depth in (200, 20_000):
        with pytest.raises(TextError, match="deeply"):
            parse(LINES.replace("100 x {", "100 x {" + "{" * depth).replace("  }\n", "}" * depth + "}", 1))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(LINES)
    assert load_text(path) == parse(LINES)
    path.write_bytes(b"\xff\xfe")
    for unreadable in (path, tmp_path / "none"):
        with pytest.raises(FormatError, match="cannot read"):
            load_text(unreadable)
