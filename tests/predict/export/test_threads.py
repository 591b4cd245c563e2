"""Exports of traces whose ranks have several threads: a track for each thread."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.errors import ScalatraceError
from scalatrace.predict.export.events.chrome import write_chrome
from scalatrace.predict.export.events.otf2_archive import write_otf2
from scalatrace.predict.export.events.paraver import write_paraver
from scalatrace.predict.export.events.perfetto import write_perfetto
from scalatrace.predict.export.events.tables import write_csv, write_parquet
from scalatrace.predict.export.formats import FORMATS, ExportSelection, estimated_bytes
from scalatrace.predict.platform import read_platform
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Sequence
from scalatrace.trace.query.requests import OF_STREAM
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm

LINES = [(0, 0), (1, 0), (1, 2)]


def threads() -> Trace:
    """Rank 1 has threads 0 and 2: one begins a send on tag 4, the other ends it. Both send on tag 5."""
    b = Builder(2)
    given = {"count": 1, "datatype": DOUBLE, "comm": Comm()}
    zero, one = Groups([(RankList([0]), Vec(1))]), Groups([(RankList([1]), Vec(1))])
    receives = [b.event("Recv", zero, source=1, tag=tag, **given) for tag in (4, 5, 5)]
    first = [b.event("Isend", one, dest=0, tag=4, **given), b.event("Send", one, dest=0, tag=5, **given)]
    later = [
        b.event("Wait", one, request=OF_STREAM + OF_STREAM // 2),
        b.event("Send", one, dest=0, tag=5, **given),
    ]
    trace = b.of(*receives, *first, *later)
    trace = replace(trace, nodes=[*trace.nodes[:-2], Sequence(one, tuple(trace.nodes[-2:]), 2)])
    trace.meta |= {"threads": "2", "elapsed-ns": "1000"}
    return trace


def test_lines() -> None:
    timeline = Timeline(threads())
    assert timeline.lines == LINES
    events = {line: list(timeline.events(*line)) for line in LINES}
    assert [[event.call.op for event in events[line]] for line in LINES] == [
        ["Recv", "Recv", "Recv"],
        ["Isend", "Send"],
        ["Wait", "Send"],
    ]
    assert timeline.count() == 7
    sent, (received,) = events[1, 0][0], events[0, 0][0].messages
    assert [message.name for message in sent.messages] == [received.name]
    assert events[0, 0][0].end_ns > sent.start_ns
    # The send ends where the other thread waits for it, not before it has begun.
    (wait, _) = events[1, 2]
    assert wait.finished == (sent.messages[0].request,)
    assert wait.end_ns > sent.start_ns
    # Which thread's message on tag 5 is received first is not known.
    assert not events[0, 0][1].messages
    assert not events[1, 2][1].messages


def test_simulated_lines() -> None:
    trace = threads()
    timeline = Timeline(trace, platform=read_platform("cluster"))
    assert timeline.lines == LINES
    for rank, thread in LINES:
        events = list(timeline.events(rank, thread))
        assert [event.call.op for event in events] == [call.op for call in trace.walk(rank, thread)]
        assert all(before.end_ns < after.start_ns for before, after in pairwise(events))


def test_chrome_and_tables(tmp_path: Path) -> None:
    timeline = Timeline(threads())
    out = io.BytesIO()
    write_chrome(timeline, out)
    entries = json.loads(out.getvalue())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in entries if e["name"] == "thread_name"}
    assert names == {0: "rank 0.0", 1: "rank 1.0", 2: "rank 1.2"}
    assert [e["tid"] for e in entries if e["ph"] == "X"] == [0, 0, 0, 1, 1, 2, 2]
    out = io.BytesIO()
    write_csv(timeline, out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode())))
    assert [(row["rank"], row["thread"]) for row in rows] == [("0", "0")] * 3 + [("1", "0")] * 2 + [
        ("1", "2")
    ] * 2
    parquet = pytest.importorskip("pyarrow.parquet")
    with open(tmp_path / "x.parquet", "wb") as file:
        write_parquet(timeline, file)
    assert parquet.read_table(tmp_path / "x.parquet")["thread"].to_pylist() == [0] * 5 + [2] * 2


def test_paraver(tmp_path: Path) -> None:
    write_paraver(Timeline(threads()), tmp_path / "x.prv")
    head, *records = (tmp_path / "x.prv").read_text().splitlines()
    assert head.endswith(":2(1,1):1:2(1:1,3:2)")
    assert "LEVEL THREAD SIZE 4\nrank 0.0\nrank 1.0\nrank 1.1\nrank 1.2" in (tmp_path / "x.row").read_text()
    (message,) = [record for record in records if record.startswith("3:")]
    assert message.startswith("3:2:1:2:1:")


def test_otf2(tmp_path: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    write_otf2(Timeline(threads()), tmp_path / "x")
    with otf2.reader.open(str(tmp_path / "x" / "traces.otf2")) as archive:
        locations = [(place.group.name, place.name) for place in archive.definitions.locations]
        entered = [place.name for place, event in archive.events if type(event).__name__ == "Enter"]
    assert locations == [
        ("MPI Rank 0", "Master thread"), ("MPI Rank 1", "Master thread"), ("MPI Rank 1", "Thread 1.2")
    ]  # fmt: skip
    assert entered.count("Thread 1.2") == 2


def test_perfetto() -> None:
    pytest.importorskip("perfetto")
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Packets

    out = io.BytesIO()
    write_perfetto(Timeline(threads()), out)
    packets = Packets()
    packets.ParseFromString(out.getvalue())
    tracks = [packet.track_descriptor.name for packet in packets.packet if packet.track_descriptor.name]
    assert tracks == ["rank 0.0", "rank 1.0", "rank 1.2"]


@pytest.mark.parametrize("name", ["goal", "simgrid", "chakra"])
def test_simulators_refuse(name: str) -> None:
    with pytest.raises(ScalatraceError, match="one for each rank; csv, parquet, otf2, perfetto, chrome"):
        estimated_bytes(FORMATS[name], threads(), ExportSelection())
