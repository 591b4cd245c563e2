"""A trace of an OTF2 archive, such as Score-P writes.

An archive has messages and collectives, not the parameters of calls: sizes become bytes, and collectives with
several sizes have their mean. Calls that neither send, receive, wait nor are collectives are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.convert.otf2_calls import ImportedCall, LocationCalls
from scalatrace.convert.ranks import RankCalls, write_trace
from scalatrace.errors import FormatError, UsageError

__all__ = ["convert_otf2"]


def convert_otf2(path: str | PathLike[str], output: str | PathLike[str]) -> Counter[str]:
    """Write the trace of an archive (its `.otf2` file); return how often each MPI call was left out.

    Raises:
        UsageError: the package otf2 is not installed.
        FormatError: the archive cannot be read, or has no MPI ranks.
    """
    try:
        import otf2
        from _otf2.ErrorCodes import Error as LibraryError
    except ImportError:
        raise UsageError("this needs the package otf2; install it: pip install 'scalatrace[otf2]'") from None
    left_out: Counter[str] = Counter()
    try:
        with otf2.reader.open(str(path)) as archive:
            locations = _locations(otf2, archive.definitions, path)
            numbers = {location: rank for rank, location in enumerate(locations)}
            scale = 1e9 / archive.timer_resolution
            comms = _Comms(archive.definitions.comms, numbers)
            calls = _by_rank(archive.events(locations), numbers, scale, left_out)

            def record(rank: int) -> RankCalls:
                return _record(rank, len(locations), calls[rank].finished(), comms)

            meta = {"program": f"OTF2 archive {Path(path).parent.name}"}
            write_trace(range(len(locations)), record, output, meta)
    except (otf2.error.Error, LibraryError) as error:
        raise FormatError(f"cannot read the archive: {error}", path) from None
    return left_out


def _locations(otf2: Any, definitions: Any, path: str | PathLike[str]) -> list[Any]:
    """Return the location of each rank, in order."""
    for group in definitions.groups:
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
            return list(group.members)
    raise FormatError("the archive has no MPI ranks", path)


def _by_rank(
    events: Iterator[tuple[Any, Any]], numbers: dict[Any, int], scale: float, left_out: Counter[str]
) -> list[LocationCalls]:
    """Read the events of all ranks, which the reader gives in the order of their times."""
    calls = [LocationCalls(scale, left_out) for _ in numbers]
    for location, event in events:
        calls[numbers[location]].add(event)
    return calls


def _record(rank: int, nprocs: int, calls: list[ImportedCall], comms: _Comms) -> RankCalls:
    result = RankCalls(rank, nprocs, ("compute_ns", "comm_ns"))
    for call in calls:
        comms.define(result, call)
        result.append(call.op, call.params(comms.key), call.frames, (call.compute_ns, call.comm_ns))
    return result


class _Comms:
    """Communicators of an archive: families of those with equal size, without a rank in common."""

    def __init__(self, definitions: Any, numbers: dict[Any, int]) -> None:
        self._members: dict[Any, list[int]] = {}
        self._ordinals: dict[Any, int] = {}
        families: list[tuple[int, set[int]]] = []
        for comm in definitions:
            listed = getattr(comm.group, "members", ())
            members = [numbers[location] for location in listed if location in numbers]
            self._members[comm] = members
            if len(members) == len(numbers):
                continue
            for ordinal, (size, ranks) in enumerate(families):
                if size == len(members) and not ranks & set(members):
                    ranks.update(members)
                    self._ordinals[comm] = ordinal
                    break
            else:
                self._ordinals[comm] = len(families)
                families.append((len(members), set(members)))

    def key(self, comm: Any) -> object:
        """Return how calls name a communicator."""
        return ("otf2", self._ordinals[comm]) if comm in self._ordinals else "world"

    def define(self, calls: RankCalls, call: ImportedCall) -> None:
        """Define the communicator of a call."""
        comm = call.comm
        if comm is not None and comm in self._ordinals:
            calls.comm(self.key(comm), "split", self._members[comm], ordinal=self._ordinals[comm])
