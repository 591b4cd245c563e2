"""Events as an OTF2 archive, for Vampir, Pipit and Score-P's tools.

A location for each rank, or for each of its threads. Messages are on MPI_COMM_WORLD, so a tag of another
communicator is its number in the export; collectives are on their communicators.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.operations import Category, blocking_name, operation, received_bytes, sent_bytes
from scalatrace.predict.timeline import Line, Timeline, TimelineEvent
from scalatrace.trace.model.call import Call

__all__ = ["NO_ROOT", "write_otf2"]

NO_ROOT = (1 << 32) - 1
"""OTF2's root of collectives without one."""

_ROLES = {
    Category.SEND: "POINT2POINT", Category.RECV: "POINT2POINT", Category.SENDRECV: "POINT2POINT",
    Category.PROBE: "POINT2POINT", Category.NEIGHBOUR: "COLL_OTHER", Category.ONE_SIDED: "RMA",
    Category.WINDOW: "RMA", Category.IO: "FILE_IO", Category.FILE: "FILE_IO_METADATA",
}  # fmt: skip
_COLLECTIVE_ROLES = {
    "Barrier": "BARRIER", "Bcast": "COLL_ONE2ALL", "Scatter": "COLL_ONE2ALL", "Scatterv": "COLL_ONE2ALL",
    "Reduce": "COLL_ALL2ONE", "Gather": "COLL_ALL2ONE", "Gatherv": "COLL_ALL2ONE", "Scan": "COLL_OTHER",
    "Exscan": "COLL_OTHER",
}  # fmt: skip


def write_otf2(timeline: Timeline, folder: Path) -> None:
    """Write the archive `traces.otf2` into a folder. Raises UsageError if otf2 is not installed."""
    try:
        import otf2
    except ImportError:
        raise UsageError("this needs the package otf2; install it: pip install 'scalatrace[otf2]'") from None
    with otf2.writer.open(str(folder), timer_resolution=10**9) as archive:
        definitions = _Definitions(otf2, archive.definitions, timeline)
        for line in timeline.lines:
            writer = archive.event_writer_from_location(definitions.of_line[line])
            for event in timeline.events(*line):
                _write(writer, definitions, event)


class _Definitions:
    """Definitions of the archive: locations, regions and communicators, made when they are first used."""

    def __init__(self, otf2: Any, definitions: Any, timeline: Timeline) -> None:
        self._otf2, self._definitions = otf2, definitions
        self.positions = {rank: i for i, rank in enumerate(timeline.ranks)}
        self._regions: dict[str, Any] = {}
        self._comms: dict[tuple[int, ...], Any] = {}
        machine = definitions.system_tree_node("machine")
        self.of_line: dict[Line, Any] = {}
        for rank in timeline.ranks:
            self._add_locations(machine, rank, [line for line in timeline.lines if line[0] == rank])
        self.locations = [self.of_line[rank, 0] for rank in timeline.ranks]  # members of communicators
        definitions.group(
            "MPI locations", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI,
            group_flags=otf2.GroupFlag.NONE, members=self.locations,
        )  # fmt: skip
        self.world = self.comm("MPI_COMM_WORLD", tuple(range(len(self.locations))))

    def _add_locations(self, machine: Any, rank: int, lines: list[Line]) -> None:
        otf2 = self._otf2
        node = self._definitions.system_tree_node(f"rank {rank}", parent=machine)
        group = self._definitions.location_group(
            f"MPI Rank {rank}", location_group_type=otf2.LocationGroupType.PROCESS, system_tree_parent=node
        )
        for line in lines:
            name = f"Thread {rank}.{line[1]}" if line[1] else "Master thread"
            self.of_line[line] = self._definitions.location(
                name, type=otf2.LocationType.CPU_THREAD, group=group
            )

    def comm(self, name: str, members: tuple[int, ...]) -> Any:
        """Return the communicator of some locations, by position."""
        if members not in self._comms:
            otf2 = self._otf2
            group = self._definitions.group(
                name, group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI,
                group_flags=otf2.GroupFlag.NONE, members=[self.locations[i] for i in members],
            )  # fmt: skip
            self._comms[members] = self._definitions.comm(name, group=group)
        return self._comms[members]

    def comm_of(self, call: Call) -> Any:
        """Return the communicator of a collective call: its members that are in the archive."""
        comm = call.comm
        members = tuple(self.positions[rank] for rank in comm.members if rank in self.positions)
        return self.comm(f"{comm.kind} {comm.family}", members)

    def region(self, op: str) -> Any:
        """Return the region of an MPI procedure."""
        if op not in self._regions:
            role = _ROLES.get(operation(op).category, "FUNCTION")
            if operation(op).category is Category.COLLECTIVE:
                role = _COLLECTIVE_ROLES.get(blocking_name(op), "COLL_ALL2ALL")
            self._regions[op] = self._definitions.region(
                f"MPI_{op}",
                region_role=getattr(self._otf2.RegionRole, role),
                paradigm=self._otf2.Paradigm.MPI,
            )
        return self._regions[op]

    def collective(self, op: str) -> Any:
        """Return OTF2's name of a blocking collective; None for any other operation."""
        row = operation(op)
        if row.category is not Category.COLLECTIVE or row.nonblocking:
            return None
        return getattr(self._otf2.CollectiveOp, blocking_name(op).upper(), None)


def _write(writer: Any, definitions: _Definitions, event: TimelineEvent) -> None:
    region, call = definitions.region(event.call.op), event.call
    start, end = event.start_ns, event.end_ns
    collective = definitions.collective(call.op)
    writer.enter(start, region)
    if collective is not None:
        writer.mpi_collective_begin(start)
    for message in event.messages:
        if message.sent:
            peer, world = definitions.positions[message.dest], definitions.world
            if message.request is None:
                writer.mpi_send(start, peer, world, message.tag, message.nbytes)
            else:
                writer.mpi_isend(start, peer, world, message.tag, message.nbytes, message.request)
    for request in event.posted:
        writer.mpi_irecv_request(start, request)
    for request in event.finished:
        writer.mpi_isend_complete(end, request)
    for message in event.messages:
        if not message.sent:
            peer, world = definitions.positions[message.source], definitions.world
            if message.request is None:
                writer.mpi_recv(end, peer, world, message.tag, message.nbytes)
            else:
                writer.mpi_irecv(end, peer, world, message.tag, message.nbytes, message.request)
    if collective is not None:
        root = call["root"] if call.get("root", -1) >= 0 else NO_ROOT
        sizes = sent_bytes(call.op, call), received_bytes(call.op, call)
        writer.mpi_collective_end(end, collective, definitions.comm_of(call), root, *sizes)
    writer.leave(end, region)
