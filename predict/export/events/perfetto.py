"""Events as a Perfetto trace (`.pftrace`), with names and call sites stored once for each track."""

from __future__ import annotations

from hashlib import blake2b
from typing import IO, Any

from scalatrace.errors import UsageError
from scalatrace.operations import operation
from scalatrace.predict.export.events.chrome import arguments
from scalatrace.predict.timeline import Timeline, TimelineEvent

__all__ = ["write_perfetto"]

_INCREMENTAL, _CLEARED = 2, 1
"""Flags of a packet: it needs names given before; all names are forgotten before it."""


def write_perfetto(timeline: Timeline, file: IO[bytes]) -> None:
    """Write packets: tracks first, then the calls of each rank. Raises UsageError without `perfetto`."""
    try:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        raise UsageError(
            "this needs the package perfetto; install it: pip install 'scalatrace[perfetto]'"
        ) from None
    builder = StreamingTraceProtoBuilder(file)
    process = builder.create_packet()
    process.track_descriptor.uuid = _uuid("process")
    process.track_descriptor.process.pid = 1
    process.track_descriptor.process.process_name = _clean(timeline.trace.meta.get("program", "MPI program"))
    builder.write_packet(process)
    for position, line in enumerate(timeline.lines):
        track = builder.create_packet()
        descriptor = track.track_descriptor
        name = f"rank {timeline.label(line)}"
        descriptor.uuid, descriptor.parent_uuid = _uuid(name), _uuid("process")
        descriptor.name = name
        descriptor.sibling_order_rank = position if timeline.has_threads else line[0]
        builder.write_packet(track)
    for position, line in enumerate(timeline.lines):
        writer = _LineWriter(builder, TrackEvent, f"rank {timeline.label(line)}", position + 1)
        for event in timeline.events(*line):
            writer.write(event)


class _LineWriter:
    """Writes the calls of one line as one sequence of packets."""

    def __init__(self, builder: Any, kinds: Any, track: str, sequence: int) -> None:
        self._builder, self._kinds = builder, kinds
        self._track, self._sequence = _uuid(track), sequence
        self._names: dict[tuple[str, str], int] = {}

    def write(self, event: TimelineEvent) -> None:
        """Write the begin and the end of a call."""
        begin = self._packet(event.start_ns, self._kinds.TYPE_SLICE_BEGIN)
        call = event.call
        begin.track_event.name_iid = self._iid(begin, "event_names", f"MPI_{call.op}")
        category = operation(call.op).category.value
        begin.track_event.category_iids.append(self._iid(begin, "event_categories", category))
        for name, value in arguments(event).items():
            entry = begin.track_event.debug_annotations.add()
            entry.name_iid = self._iid(begin, "debug_annotation_names", name)
            if isinstance(value, int):
                entry.int_value = value
            else:
                entry.string_value = _clean(value)
        begin.track_event.flow_ids.extend(_uuid(message.name) for message in event.messages if message.sent)
        self._builder.write_packet(begin)
        end = self._packet(event.end_ns, self._kinds.TYPE_SLICE_END)
        end.track_event.terminating_flow_ids.extend(
            _uuid(message.name) for message in event.messages if not message.sent
        )
        self._builder.write_packet(end)

    def _packet(self, time_ns: int, kind: int) -> Any:
        packet = self._builder.create_packet()
        packet.timestamp = time_ns
        packet.trusted_packet_sequence_id = self._sequence
        packet.sequence_flags = _INCREMENTAL | (0 if self._names else _CLEARED)
        packet.track_event.type, packet.track_event.track_uuid = kind, self._track
        return packet

    def _iid(self, packet: Any, table: str, text: str) -> int:
        """Return the number of a name; a new one is defined in the packet."""
        iid = self._names.get((table, text))
        if iid is None:
            iid = self._names[table, text] = len(self._names) + 1
            entry = getattr(packet.interned_data, table).add()
            entry.iid, entry.name = iid, _clean(text)
        return iid


def _uuid(text: str) -> int:
    """Return a number of 64 bits for a track or an arrow."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
