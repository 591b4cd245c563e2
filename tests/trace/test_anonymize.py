"""Anonymous traces and models: the structure of the original, and none of its names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.codegen.generate import generate
from scalatrace.errors import FormatError, UsageError
from scalatrace.extrap.choices import CHOICES
from scalatrace.extrap.extrapolate import extrapolate, model_of, of_model
from scalatrace.pmpi.standard import procedures
from scalatrace.trace.anonymize import check, header
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import counted_name, is_datatype
from scalatrace.trace.anonymize.traces import anonymous_model, anonymous_trace
from scalatrace.trace.anonymize.words import is_text_of_mpi
from scalatrace.trace.consistency.partial import NO_OPERATIONS
from scalatrace.trace.io.container import read_container
from scalatrace.trace.io.reader import load, load_symbolic
from scalatrace.trace.io.symbolic import pack_formulas
from scalatrace.trace.io.writer import pack_payload, save
from scalatrace.trace.model.elastic import Columns
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.symbolic import StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Datatype, Kind, Op, RecordedStat
from scalatrace.trace.model.trace import PARAMETER
from scalatrace.trace.oversubscription import HOSTS, OVERSUBSCRIBED
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.origin import ACCEPTED, FOUND_SIZE, UNCONFIRMED
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, stencil
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of
from support.traces import texts, traces

MODE = "MPI_MODE_CREATE|MPI_MODE_RDWR"
MARK = "Qzx"
"""In each hostile name, and in nothing else."""

odd = st.text(
    st.sampled_from("*/\\?<>'\"#{}()\n\r\t\0\x1b\u2028\udc80é axn%:=|,[]+-.0123456789")
    | st.characters(exclude_categories=("Cs",)),
    max_size=12,
)
hostile = st.builds(lambda before, after: before + MARK + after, odd, odd)


def strings_of(payload: bytes) -> Iterator[str]:
    """All strings of a file, the plain way."""
    raw = msgpack.unpackb(payload, strict_map_key=False, unicode_errors="surrogateescape")

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for pair in value.items():
                yield from walk(list(pair))
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    return walk(raw)


def named(*names: str) -> Trace:
    """A trace with a name at each place that has one."""
    program, key, entry, file, function, module, path, text, operator, kind, stat, datatype = names
    b = Builder(2)
    comm = b.family(kind, (2,), (0, 1))
    at = (f"/home/{file}:12:{function}", f"{module}+0x1f", program)
    own_type = Datatype(f"struct([1],[0],[{datatype}])", 12, 16)
    trace = b.of(
        b.event("Comm_split", at=at, comm=Comm(), color=0, key=0, newcomm=comm),
        b.event("File_open", at=at, comm=Comm(), filename=f"/scratch/{path}", amode=MODE, fh=0),
        b.event("File_set_view", at=at[1:], fh=0, comm=Comm(), disp=0, etype=DOUBLE, filetype=own_type,
                datarep="native"),
        b.event("File_close", at=at, fh=0, comm=Comm()),
        b.event("Comm_connect", port_name=text, root=0, comm=Comm()),
        b.event("Allreduce", at=at[:1], compute=Histogram.of(7), count=1, datatype=DOUBLE, op=operator,
                comm=comm, in_place=0),
    )  # fmt: skip
    trace.meta = {
        "program": f"{program} --input {path}", "mpi": f"Open MPI v5.0.6, package: {entry}",
        "date": "2024-01-01", "run": "0123456789abcdef",
        "options": "stacks=both stack-depth=32 fold-recursion=yes", "levels": f"{stat} cpu_ns",
        "selection": f"only-sites={file} communicators={kind}", "stats": f"{stat}.py:Mine", key: entry,
        "param.n": "64", "param.file": path, "hosts": "3", "ranks-per-host": "4", "cores-per-host": "288",
        "thread-level": "single",
    }  # fmt: skip
    trace.stats += [RecordedStat(stat, 1.0), RecordedStat(f"{stat}.call", 1.0)]
    trace.nodes = [
        replace(node, stats=tuple(replace(s, histograms=(*s.histograms, None, None)) for s in node.stats))
        if isinstance(node, Event)
        else node
        for node in trace.nodes
    ]
    trace.counts = {"Comm_rank": 3, entry: 4}
    return trace


PLACES = 12
PLAIN = tuple(f"name{chr(97 + i)}" for i in range(PLACES))


@given(st.lists(hostile, min_size=PLACES, max_size=PLACES, unique=True))
def test_no_name_is_left(names: list[str]) -> None:
    original = named(*names)
    result = anonymous_trace(original, AnonymousNames())
    packed = pack_payload(result)
    check.check_payload(packed, pack_payload(original), check.allowed_in(result, AnonymizeOptions()))
    assert [text for text in strings_of(packed) if MARK in text or "2024" in text] == []
    assert (result.nodes, result.signatures, result.preds) == (
        original.nodes,
        original.signatures,
        original.preds,
    )


@given(st.lists(st.text("abcdefghäß_", min_size=3), min_size=PLACES, max_size=PLACES, unique=True))
def test_the_result_does_not_depend_on_names(names: list[str]) -> None:
    """Two originals that differ in names only have one anonymous form."""
    results = [pack_payload(anonymous_trace(named(*some), AnonymousNames())) for some in (names, PLAIN)]
    assert results[0] == results[1]


@given(traces())
def test_structure_stays(trace: Trace) -> None:
    result = anonymous_trace(trace, AnonymousNames())
    check.check_payload(
        pack_payload(result), pack_payload(trace), check.allowed_in(result, AnonymizeOptions())
    )
    same = ("nprocs", "ranks", "ops", "signatures", "arrays", "preds", "load", "nodes")
    assert [getattr(result, name) for name in same] == [getattr(trace, name) for name in same]
    for table in ("frames", "strings", "types", "comms", "stats"):
        old, new = getattr(trace, table), getattr(result, table)
        assert len(old) == len(new)
        if table == "strings":  # an entry that is there twice has a name for each of its uses
            assert len(set(new)) == len(set(zip(old, new, strict=True)))
            continue
        assert [old.index(entry) for entry in old] == [new.index(entry) for entry in new]
    assert anonymous_trace(trace, AnonymousNames()) == result


def test_loads_without_start_up() -> None:
    """The name of their entry is a word of the format."""
    original = replace(named(*PLAIN), load_between=True)
    result = anonymous_trace(original, AnonymousNames())
    allowed = check.allowed_in(result, AnonymizeOptions())
    check.check_payload(pack_payload(result), pack_payload(original), allowed)


def test_a_result_is_a_trace(tmp_path: Path) -> None:
    original, names = stencil(), AnonymousNames()
    save(anonymous_trace(original, names), tmp_path / "a.st")
    result = load(tmp_path / "a.st")
    assert diff(original, result, ["callsites"]) == []
    assert diff(original, result) != []
    assert result.meta == {"program": "program1"}
    assert result.frames == ["source1:1:function1", "source2:1:function2", "source1:2:function1",
                             "source1:3:function1", "source2:2:function2"]  # fmt: skip
    assert names.counts() == {"function": 2, "program": 1, "source": 2}
    assert not re.search("halo|exchange|hand", generate(result, "conceptual").text)


frames = (
    st.builds("{}:{}:{}".format, texts, st.sampled_from(["0", "1", "01", "12"]), texts)
    | st.builds("{}+0x{}".format, texts, st.sampled_from(["0", "00", "1f"]))
    | texts
)


@given(st.lists(frames, unique=True, max_size=8))
def test_different_call_sites_stay_different(given_frames: list[str]) -> None:
    names = AnonymousNames()
    renamed = [names.frame(text) for text in given_frames]
    assert len(set(renamed)) == len(given_frames)
    assert [names.frame(text) for text in given_frames] == renamed


files = st.lists(st.sampled_from(["a", "#", "\\", "/", "7", "07", "12", "999"]), max_size=6).map("".join)


@given(st.lists(files, unique=True, max_size=12))
def test_different_files_stay_different(given_files: list[str]) -> None:
    names = AnonymousNames()
    assert len({names.file(text, 16) for text in given_files}) == len(given_files)


def test_numbers_of_files() -> None:
    names = AnonymousNames()
    given_files = ["/home/u4711/out.3.dat", "/home/u4711/out.15.dat", "/home/u4711/out.16.dat", "log"]
    assert [names.file(text, 15) for text in given_files] == ["file1_1.3", "file1_1.15", "file1_1_1", "file2"]


@given(st.lists(frames, max_size=5), st.lists(frames, max_size=5), files)
def test_a_table_is_read_again(first: list[str], second: list[str], file: str) -> None:
    names = AnonymousNames()
    renamed = [names.frame(text) for text in first] + [names.file(file, 3)]
    again = AnonymousNames.from_json(names.to_json())
    assert [again.frame(text) for text in first] + [again.file(file, 9)] == renamed
    assert [again.frame(text) for text in second] == [names.frame(text) for text in second]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"names": {"evil": {}}, "files": {}}', '{"names": {"file": {"a": 2}}, "files": {}}',
     '{"names": {"file": {"a": true}}, "files": {}}', '{"names": {"file": 3}, "files": {}}',
     '{"names": {}, "files": {"a": 3}}', "[" * 100_000],
)  # fmt: skip
def test_another_file_is_no_table(text: str) -> None:
    with pytest.raises(FormatError, match="not a table of names"):
        AnonymousNames.from_json(text, "a.json")


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("Open MPI v5.0.6, package: Open MPI root@node17.site Distribution, ident: 5.0.6", "Open MPI 5.0.6"),
        ("MPICH Version:      4.3.0", "MPICH 4.3.0"),
        ("MPI VERSION    : CRAY MPICH version 8.1.29.34 (ANL base 3.4a2)", "CRAY MPICH 8.1.29.34"),
        ("Intel(R) MPI Library 2021.10 for Linux* OS", "Intel(R) MPI Library 2021.10"),
        ("MVAPICH2 Version :      2.3.7", "MVAPICH2 2.3.7"),
        ("the house's own MPI 1.2.3", ""),
    ],
)
def test_mpi_libraries(library: str, expected: str) -> None:
    trace = Trace(1, meta={"mpi": library})
    result = anonymous_trace(trace, AnonymousNames())
    assert result.meta == {"mpi": expected}
    check.check_payload(
        pack_payload(result), pack_payload(trace), check.allowed_in(result, AnonymizeOptions())
    )


def test_entries_of_extrapolation_stay() -> None:
    meta = {
        CHOICES: "Waitany and Testany in the order of the requests",
        UNCONFIRMED: ACCEPTED,
        OVERSUBSCRIBED: "runs with more ranks than cores: 16, 20",
        FOUND_SIZE: "n=96",
        f"{PARAMETER}n": "96",
    }
    trace = Trace(1, meta={**meta, "extrapolated": "from 4, 8 ranks to 4x4, column-major, times by secret"})
    extrapolated = "from 4, 8 ranks to 4x4, column-major"
    assert anonymous_trace(trace, AnonymousNames()).meta == {**meta, "extrapolated": extrapolated}
    assert set(HOSTS) == set(header.MACHINE)


def test_what_is_kept() -> None:
    trace = named(*PLAIN)
    trace.meta["program"] = "/opt/solver -n 64 --steps=10 x3 run2024.toml -4"
    keep = AnonymizeOptions(frozenset(("sites", "numbers", "machine")), drop_parameters=True)
    result = anonymous_trace(trace, AnonymousNames(), keep)
    assert result.frames == trace.frames
    assert result.meta["program"] == "program1 argument1 64 argument2=10 argument3 argument4 -4"
    assert result.meta["cores-per-host"] == "288"
    assert "param.n" not in result.meta
    check.check_payload(pack_payload(result), pack_payload(trace), check.allowed_in(result, keep))
    whole = AnonymizeOptions(frozenset(("program",)))
    result = anonymous_trace(trace, AnonymousNames(), whole)
    assert result.meta["program"] == trace.meta["program"]
    assert result.meta["param.n"] == "64"
    check.check_payload(pack_payload(result), pack_payload(trace), check.allowed_in(result, whole))


def test_times_are_dropped_and_choices_stay() -> None:
    trace = stencil()
    trace.stats.append(RecordedStat("source", 1.0))
    event = trace.nodes[0].nodes[1]  # type: ignore[union-attr]
    samples = tuple(replace(s, histograms=(*s.histograms, Histogram.of(3))) for s in event.stats)
    trace.nodes = [replace(event, stats=samples)]
    trace.load = [Vec(3), None]
    result = anonymous_trace(trace, AnonymousNames(), AnonymizeOptions(drop_times=True))
    assert [s.histograms for leaf in result.leaves() for s in leaf.stats] == [(None, Histogram.of(3))]
    assert result.load == [None, None]
    assert diff(trace, result, ["callsites", "times"]) == []
    assert pack_payload(result) != pack_payload(trace)


@pytest.mark.parametrize(
    ("table", "entry"),
    [("frames", "/home/somebody/reactor.py:10:meltdown"), ("strings", "reactor"), ("meta", "own reactor"),
     ("frames", "★★★")],
)  # fmt: skip
def test_the_check_finds_texts(table: str, entry: str) -> None:
    original = stencil()
    original.frames.append(entry)
    result = anonymous_trace(original, AnonymousNames())
    if table == "meta":
        result.meta["reactor"] = "other"
    else:
        getattr(result, table).append(entry)
    with pytest.raises(check.LeakError, match="nothing was written"):
        check.check_payload(
            pack_payload(result), pack_payload(original), check.allowed_in(result, AnonymizeOptions())
        )


def test_names_of_mpi_procedures_stay() -> None:
    names = AnonymousNames()
    operations = [procedure.op for procedure in procedures()]
    assert [counted_name(op, names) for op in (*operations, *NO_OPERATIONS)] == [*operations, *NO_OPERATIONS]
    assert [counted_name(op, names) for op in ("Reactor", "Comm_melt", "")] == [
        f"operation{n}" for n in (1, 2, 3)
    ]


def test_texts_of_mpi() -> None:
    assert not is_text_of_mpi("1" * 5000 + "x")  # ends only if matching takes no exponential time
    assert all(map(is_text_of_mpi, ["", "native", MODE, "17", "MPI_SUM"]))
    assert is_datatype("struct([1,2],[0,-8],[MPI_INT,vector(2,1,3,MPI_2INT)])")
    assert not is_datatype("struct([1],[0],[secret])")


SIZES = [(4,), (5,), (6,), (7,)]


def with_files(trace: Trace) -> Trace:
    """A trace in which each rank also opens a file of its own."""
    n = trace.nprocs
    op = Op("File_open", (("comm", Kind.COMM), ("filename", Kind.STRING), ("amode", Kind.STRING)))
    own = Columns(RankList.all(n), Vec(((n, 1, 0),)))
    event = Event(Vec(1), len(trace.ops), trace.leaves().__next__().signature, (Vec(1), own, Vec(n)))
    strings = [f"/scratch/u4711/run.{rank}.dat" for rank in range(n)]
    return replace(
        trace, ops=[*trace.ops, op], strings=[*strings, MODE], nodes=[*trace.nodes, event],
        meta={"program": "python app.py --steps 5", "param.n": "3", "user": "somebody"},
    )  # fmt: skip


def sampled() -> list[Trace]:
    return [with_files(trace_of(halo(False), dims, 0, False)) for dims in SIZES]


def extrapolated(samples: Sequence[Trace]) -> Trace:
    return extrapolate(samples, 12, dims_of=SIZES, check=False).trace


def test_anonymous_traces_extrapolate_as_the_originals() -> None:
    names = AnonymousNames()
    result = extrapolated([anonymous_trace(trace, names) for trace in sampled()])
    expected = extrapolated(sampled())
    assert diff(expected, result, ["callsites", "filename"]) == []
    assert sorted(result.strings) == sorted([*(f"file1_1.{rank}" for rank in range(12)), MODE])
    assert result.meta["program"] == "program1"
    assert diff(anonymous_trace(expected, names), result, []) == []


def test_anonymous_models(tmp_path: Path) -> None:
    names = AnonymousNames()
    original = sampled_model()
    of_traces = model_of([anonymous_trace(trace, names) for trace in sampled()], SIZES)[1]
    result = anonymous_model(original, names)
    assert (result.nodes, result.families, result.inputs) == (
        of_traces.nodes,
        of_traces.families,
        of_traces.inputs,
    )
    payload, packed = (saved(model, tmp_path / "a.stx") for model in (original, result))
    check.check_payload(packed, payload, check.allowed_in(result, AnonymizeOptions()))
    assert not any(re.search("scratch|4711|app|main|body", text) for text in strings_of(packed))
    expected = of_model(result, 12).trace
    again = of_model(load_symbolic(tmp_path / "a.stx"), 12).trace
    assert (again.nodes, again.strings, again.frames) == (expected.nodes, expected.strings, expected.frames)


def test_models_with_predefined_datatypes(tmp_path: Path) -> None:
    """The size and the extent of these types follow from their descriptions, which stay."""

    def typed(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=rank.dims[0], datatype="MPI_DOUBLE", comm="world")]

    original = model_of([trace_of(typed, size) for size in SIZES], SIZES)[1]
    result = anonymous_model(original, AnonymousNames())
    payload, packed = (saved(model, tmp_path / "a.stx") for model in (original, result))
    assert any("by description" in text for text in strings_of(packed))
    check.check_payload(packed, payload, check.allowed_in(result, AnonymizeOptions()))
    assert [each.op for each in of_model(result, 12).trace.walk(0)] == ["Allreduce"]


@cache
def sampled_model() -> SymbolicTrace:
    return model_of(sampled(), SIZES)[1]


def saved(model: SymbolicTrace, path: Path) -> bytes:
    save(model, path)
    return read_container(path.read_bytes()).payload


@given(hostile, hostile)
@example(f"{MARK}:1:2", f"{MARK}#5")
def test_no_name_is_left_in_models(frame: str, text: str) -> None:
    original = sampled_model()

    def renamed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(renamed, value))
        return value.replace("/scratch/u", text) if isinstance(value, str) else value

    rules = tuple(
        replace(
            rule,
            stack=(frame, f"{frame}:3:{text}"),
            params=tuple(
                replace(param, field=replace(param.field, parts=tuple(
                    replace(part, shape=renamed(part.shape)) for part in param.field.parts)))
                if param.kind is Kind.STRING else param
                for param in rule.params
            ),
        )
        for rule in original.nodes
        if rule.op is not None
    )  # fmt: skip
    result = anonymous_model(replace(original, nodes=rules, meta={"user": text}), AnonymousNames())
    packed = pack_formulas(result)
    assert [string for string in strings_of(packed) if MARK in string] == []


def test_times_of_models_are_dropped() -> None:
    original = sampled_model()
    original = replace(original, stats=[*original.stats, RecordedStat("polls", 1.0)])
    rows = ((Histogram.of(5), Histogram.of(7)), (), (None, Histogram.of(9)))
    (first, *rest) = [rule for rule in original.nodes if rule.op is not None]
    rules = (replace(first, stats=(StatRule(None, rows),)), *rest)
    result = anonymous_model(
        replace(original, nodes=rules), AnonymousNames(), AnonymizeOptions(drop_times=True)
    )
    kept = ((None, Histogram.of(7)), (), (None, Histogram.of(9)))
    assert result.nodes[0].stats == (StatRule(None, kept),)


def test_models_need_their_parameters() -> None:
    model = sampled_model()
    with pytest.raises(UsageError, match="--drop-parameters"):
        anonymous_model(model, AnonymousNames(), AnonymizeOptions(drop_parameters=True))
