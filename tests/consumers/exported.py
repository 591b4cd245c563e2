"""Read exported files back: calls by operation, and bytes of sends where the format has them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from scalatrace.operations import Category, operation

__all__ = ["CALLS", "is_send"]

Counted = tuple[Counter[str], Counter[str]]
"""Calls by operation; bytes of sends by operation, empty where the format does not have them."""


def is_send(op: str) -> bool:
    """Return whether the bytes of an operation's calls are those that it sends, in every format."""
    return operation(op).category is Category.SEND


def _csv(path: Path) -> Counted:
    with open(path, newline="") as file:
        return _rows(csv.DictReader(file))


def _parquet(path: Path) -> Counted:
    from pyarrow import parquet

    return _rows(parquet.read_table(path).to_pylist())


def _rows(rows: Iterable[dict[str, object]]) -> Counted:
    calls: Counter[str] = Counter()
    nbytes: Counter[str] = Counter()
    for row in rows:
        op = str(row["call"]).removeprefix("MPI_")
        calls[op] += 1
        if is_send(op):
            nbytes[op] += int(str(row["bytes"] or 0))
    return calls, nbytes


def _chrome(path: Path) -> Counted:
    entries = json.loads(path.read_text())["traceEvents"]
    return Counter(entry["name"].removeprefix("MPI_") for entry in entries if entry["ph"] == "X"), Counter()


def _perfetto(path: Path) -> Counted:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    names: dict[tuple[int, int], str] = {}
    calls: Counter[str] = Counter()
    for packet in protos.Trace.FromString(path.read_bytes()).packet:
        sequence, track = packet.trusted_packet_sequence_id, packet.track_event
        for entry in packet.interned_data.event_names:
            names[sequence, entry.iid] = entry.name
        if track.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            calls[names[sequence, track.name_iid].removeprefix("MPI_")] += 1
    return calls, Counter()


def _otf2(path: Path) -> Counted:
    import otf2

    calls: Counter[str] = Counter()
    with otf2.reader.open(str(path / "traces.otf2")) as reader:
        for _, event in reader.events:
            if type(event).__name__ == "Enter":
                calls[event.region.name.removeprefix("MPI_")] += 1
    return calls, Counter()


def _paraver(path: Path) -> Counted:
    names: dict[int, str] = {}
    for line in path.with_suffix(".pcf").read_text().splitlines():
        number, _, name = line.strip().partition(" ")
        if number.isdecimal() and name.strip().startswith("MPI_"):
            names[int(number)] = name.strip().removeprefix("MPI_")
    calls: Counter[str] = Counter()
    for record in path.read_text().splitlines()[1:]:
        fields = record.split(":")
        if fields[0] == "2" and int(fields[7]):
            calls[names[int(fields[7])]] += 1
    return calls, Counter()


CALLS: dict[str, Callable[[Path], Counted]] = {
    "csv": _csv,
    "parquet": _parquet,
    "chrome": _chrome,
    "perfetto": _perfetto,
    "otf2": _otf2,
    "paraver": _paraver,
}
