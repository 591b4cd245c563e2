"""Events exported and read back by the tools of their formats: equal to the walk."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.predict.export.events.chrome import write_chrome
from scalatrace.predict.export.events.otf2_archive import write_otf2
from scalatrace.predict.export.events.paraver import write_paraver
from scalatrace.predict.export.events.perfetto import write_perfetto
from scalatrace.predict.export.events.rows import EventRow, rows
from scalatrace.predict.export.events.tables import write_csv, write_parquet
from scalatrace.predict.timeline import Timeline, TimelineEvent, TimelineMessage
from support.builder import DOUBLE, Builder, Comm, stencil
from support.lowered import every_kind

TRACES = [stencil(), every_kind(6)]


def all_events(timeline: Timeline) -> list[TimelineEvent]:
    return [event for rank in timeline.ranks for event in timeline.events(rank)]


def messages(timeline: Timeline) -> list[TimelineMessage]:
    return [message for event in all_events(timeline) for message in event.messages]


def csv_rows(timeline: Timeline) -> list[dict[str, str]]:
    out = io.BytesIO()
    write_csv(timeline, out)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


@pytest.mark.parametrize("trace", TRACES)
def test_csv(trace: Trace) -> None:
    timeline = Timeline(trace)
    table = csv_rows(timeline)
    assert [row["call"] for row in table] == [f"MPI_{event.call.op}" for event in all_events(timeline)]
    assert list(table[0]) == list(EventRow._fields[:-1])
    for row, event in zip(table, all_events(timeline), strict=True):
        assert (int(row["rank"]), int(row["start_ns"]), int(row["end_ns"])) == event[:1] + event[2:4]


def test_columns() -> None:
    first, second = list(rows(Timeline(stencil(), ranks=[3])))[:2]
    assert first._replace(start_ns=0, end_ns=0) == EventRow(
        3, "MPI_Irecv", 2, 800, 7, "world", 0, 0, "src/halo.py:10:exchange"
    )
    assert (second.peer, second.bytes) == (0, 800)


def test_hostile_names_are_quoted() -> None:
    b = Builder(1)
    site = 'a","b\n=1+1\udcff'
    trace = b.of(b.event("Allreduce", at=(site,), count=1, datatype=DOUBLE, op="MPI_SUM", comm=Comm()))
    timeline = Timeline(trace)
    assert csv_rows(timeline)[0]["call_site"] == 'a","b\\x0a=1+1\\xdcff'
    out = io.BytesIO()
    write_chrome(timeline, out)
    assert json.loads(out.getvalue())["traceEvents"][3]["args"]["call_site"] == site


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    timeline = Timeline(every_kind(6))
    with open(tmp_path / "x.parquet", "wb") as file:
        write_parquet(timeline, file)
    table = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [EventRow(**row) for row in table] == list(rows(timeline))


@pytest.mark.parametrize("trace", TRACES)
def test_chrome(trace: Trace) -> None:
    timeline = Timeline(trace)
    out = io.BytesIO()
    write_chrome(timeline, out)
    entries = json.loads(out.getvalue())["traceEvents"]
    slices = [entry for entry in entries if entry["ph"] == "X"]
    assert [entry["name"] for entry in slices] == [f"MPI_{e.call.op}" for e in all_events(timeline)]
    starts = Counter(entry["id"] for entry in entries if entry["ph"] == "s")
    ends = Counter(entry["id"] for entry in entries if entry["ph"] == "f")
    assert starts == ends
    assert starts.total() * 2 == len(messages(timeline))


@pytest.mark.parametrize("trace", TRACES)
def test_perfetto(trace: Trace) -> None:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    timeline = Timeline(trace)
    out = io.BytesIO()
    write_perfetto(timeline, out)
    packets = protos.Trace.FromString(out.getvalue()).packet
    names: dict[tuple[int, int], str] = {}
    begun: list[tuple[int, str]] = []
    flows: Counter[int] = Counter()
    open_slices: Counter[int] = Counter()
    for packet in packets:
        sequence, track = packet.trusted_packet_sequence_id, packet.track_event
        for entry in packet.interned_data.event_names:
            names[sequence, entry.iid] = entry.name
        if track.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            begun.append((packet.timestamp, names[sequence, track.name_iid]))
            open_slices[track.track_uuid] += 1
        elif track.type == protos.TrackEvent.TYPE_SLICE_END:
            open_slices[track.track_uuid] -= 1
        flows.update(track.flow_ids)
        flows.subtract(track.terminating_flow_ids)
    assert begun == [(e.start_ns, f"MPI_{e.call.op}") for e in all_events(timeline)]
    assert not any(open_slices.values())
    assert not any(flows.values())
    tracks = [p.track_descriptor.name for p in packets if p.HasField("track_descriptor")]
    assert tracks[1:] == [f"rank {rank}" for rank in timeline.ranks]


@pytest.mark.parametrize("trace", TRACES)
def test_paraver(trace: Trace, tmp_path: Path) -> None:
    timeline = Timeline(trace)
    write_paraver(timeline, tmp_path / "x.prv")
    head, *records = (tmp_path / "x.prv").read_text().splitlines()
    assert head.startswith(f"#Paraver (01/01/2000 at 00:00):{timeline.end_ns}_ns:{len(timeline.ranks)}(")
    fields = [[int(word) for word in record.split(":")] for record in records]
    times = [values[5] for values in fields]
    assert times == sorted(times)
    entered = [values for values in fields if values[0] == 2 and values[7]]
    assert len(entered) == timeline.count()
    sent = Counter((values[3] - 1, values[9] - 1, values[13]) for values in fields if values[0] == 3)
    assert sent == Counter((m.source, m.dest, m.nbytes) for m in messages(timeline) if m.sent)
    legend = (tmp_path / "x.pcf").read_text()
    assert "MPI_Waitall" in legend
    assert "rank 0" in (tmp_path / "x.row").read_text()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("otf2")
    folder = tmp_path_factory.mktemp("otf2") / "archive"
    write_otf2(Timeline(every_kind(6)), folder)
    return folder


def test_otf2(archive: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    timeline = Timeline(every_kind(6))
    entered: dict[str, list[tuple[int, str]]] = {}
    counts: Counter[str] = Counter()
    collectives: list[tuple[str, int]] = []
    sent: Counter[tuple[int, int]] = Counter()
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        for location, event in reader.events:
            name = type(event).__name__
            counts[name] += 1
            if name == "Enter":
                entered.setdefault(location.group.name, []).append((event.time, event.region.name))
            if name in ("MpiSend", "MpiIsend"):
                sent[int(location.group.name.split()[-1]), event.receiver] += event.msg_length
            if name == "MpiCollectiveEnd":
                collectives.append((str(event.collective_op), len(event.communicator.group.members)))
    for rank in range(6):
        expected = [(e.start_ns, f"MPI_{e.call.op}") for e in timeline.events(rank)]
        assert entered[f"MPI Rank {rank}"] == expected
    assert counts["Enter"] == counts["Leave"] == timeline.count()
    assert counts["MpiSend"] + counts["MpiIsend"] == sum(m.sent for m in messages(timeline))
    assert counts["MpiRecv"] + counts["MpiIrecv"] == sum(not m.sent for m in messages(timeline))
    assert counts["MpiIrecv"] == counts["MpiIrecvRequest"]
    assert counts["MpiIsend"] == counts["MpiIsendComplete"]
    expected_bytes: Counter[tuple[int, int]] = Counter()
    for message in messages(timeline):
        if message.sent:
            expected_bytes[message.source, message.dest] += message.nbytes
    assert sent == expected_bytes
    assert {size for _, size in collectives} == {3, 6}


@pytest.mark.skipif(shutil.which("otf2-print") is None, reason="otf2-print is not installed")
def test_otf2_print(archive: Path) -> None:
    done = subprocess.run(
        ["otf2-print", str(archive / "traces.otf2")], capture_output=True, text=True, timeout=60, check=True
    )
    words = Counter(line.split()[0] for line in done.stdout.splitlines() if line.strip())
    assert words["ENTER"] == words["LEAVE"] == Timeline(every_kind(6)).count()


def test_some_ranks_and_a_window(tmp_path: Path) -> None:
    otf2: Any = pytest.importorskip("otf2")
    end = Timeline(every_kind(6)).end_ns
    timeline = Timeline(every_kind(6), ranks=[2, 5], window_ns=(0.3 * end, 0.6 * end))
    write_otf2(timeline, tmp_path / "part")
    write_paraver(timeline, tmp_path / "x.prv")
    with otf2.reader.open(str(tmp_path / "part" / "traces.otf2")) as reader:
        entered = sum(type(event).__name__ == "Enter" for _, event in reader.events)
    assert entered == timeline.count() == len(csv_rows(timeline))
