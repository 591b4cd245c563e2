"""Measure collectives on the ranks of MPI_COMM_WORLD: rank 0 chooses what all ranks measure.

rank 0       choose -> order -> measure -> combine -> choose ...
other ranks            order -> measure -> combine
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from statistics import fmean

import numpy as np
from mpi4py import MPI

from scalatrace.arrays import Floats
from scalatrace.ranks import wait_asleep
from scalatrace.replay.tune.compiled import ControlVariables, TimedCollectives
from scalatrace.replay.tune.library import MpiLibrary, TunedSetting
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.selection import RejectedError

__all__ = ["MeasuringRank"]

TARGET_NS = 3e6
"""Time of the calls of one visit of a point."""
MIN_REPEATS, MAX_REPEATS = 5, 30
MAX_OFFSET_NS = 2e6
"""Limit of how late a rank comes: a rank that comes later finds the same situation."""

Order = tuple[int, TunedSetting | None, int, bool]
"""Number of a point, an algorithm (None: the default), calls, and whether results are compared."""

Part = tuple[int, Floats, int]
"""Error code, durations in ns, and hash of one rank."""


class MeasuringRank:
    """This rank of the measurements."""

    def __init__(
        self,
        comm: MPI.Intracomm,
        points: Sequence[CollectivePoint],
        library: MpiLibrary,
        variables: ControlVariables,
        timed: TimedCollectives,
    ) -> None:
        """Make the communicators of all points; all ranks do."""
        self._comm, self._points, self._library = comm, points, library
        self._variables, self._timed = variables, timed
        self._partitions: dict[tuple[tuple[int, ...], ...], tuple[MPI.Comm, MPI.Comm]] = {}
        self._communicators: dict[tuple[object, ...], MPI.Comm] = {}
        self._least_ns: dict[int, float] = {}
        self._digests: dict[int, tuple[int, ...]] = {}
        self._checked: set[tuple[int, TunedSetting]] = set()
        self._numbers = {id(point): number for number, point in enumerate(points)}
        for point in points:
            if point.groups not in self._partitions:
                self._partitions[point.groups] = self._split(point.groups)

    def _split(self, groups: tuple[tuple[int, ...], ...]) -> tuple[MPI.Comm, MPI.Comm]:
        color, key = MPI.UNDEFINED, 0
        for number, group in enumerate(groups):
            if self._comm.rank in group:
                color, key = number, group.index(self._comm.rank)
        comm = self._comm.Split(color, key)
        return comm, comm.Dup() if comm != MPI.COMM_NULL else comm

    def serve(self) -> None:
        """Carry out what rank 0 orders, until it ends; for all other ranks."""
        while (order := self._comm.bcast(None)) is not None:
            self._carry_out(order)

    def end(self) -> None:
        """Let the other ranks leave `serve`."""
        self._comm.bcast(None)

    def measure(self, point: CollectivePoint, candidate: TunedSetting | None) -> float:
        """Return the time of a call in ns, from the arrival of the last rank; for rank 0.

        It is the median of some calls, and the mean of the communicators that call at the same time.

        Raises:
            RejectedError: the algorithm ends with an error, or has another result than the default.
        """
        number = self._numbers[id(point)]
        checks = (
            number not in self._digests if candidate is None else (number, candidate) not in self._checked
        )
        parts = self._order(number, candidate, self._repeats(number), checks)
        if code := max(code for code, _, _ in parts):
            raise RejectedError(
                MPI.Get_error_string(code).strip().splitlines()[-1]
            )  # MPICH: a stack of errors
        if checks:
            self._compare(number, candidate, parts)
        ns = _time_of(point, parts)
        self._least_ns[number] = min(ns, self._least_ns.get(number, ns))
        return ns

    def _repeats(self, number: int) -> int:
        """Return how often a point is called in one visit: by its shortest time, which is not disturbed."""
        if number not in self._least_ns:
            return MIN_REPEATS
        latest_ns = max(map(max, self._points[number].arrivals_ns))
        whole_ns = self._least_ns[number] + min(latest_ns, MAX_OFFSET_NS)
        return int(np.clip(TARGET_NS / whole_ns, MIN_REPEATS, MAX_REPEATS))

    def _order(self, number: int, candidate: TunedSetting | None, repeats: int, checks: bool) -> list[Part]:
        order: Order = (number, candidate, repeats, checks)
        self._comm.bcast(order)
        parts = self._carry_out(order)
        assert parts is not None  # on rank 0
        return parts

    def _compare(self, number: int, candidate: TunedSetting | None, parts: Sequence[Part]) -> None:
        point = self._points[number]
        digests = tuple(digest for _, _, digest in parts)
        if candidate is None:
            self._digests[number] = digests
            return
        expected = self._digests[number]
        with_result = {
            rank
            for group in point.groups
            for place, rank in enumerate(group)
            if (point.op not in ("reduce", "gather") or place == point.root)
            and (point.op != "exscan" or place)
        }
        if any(digests[rank] != expected[rank] for rank in with_result):
            raise RejectedError("its result differs from that of the default")
        self._checked.add((number, candidate))

    def _carry_out(self, order: Order) -> list[Part] | None:
        number, candidate, repeats, checks = order
        point = self._points[number]
        comm, meeting = self._partitions[point.groups]
        settings = candidate.settings if candidate else ()
        part: Part = (0, np.zeros(repeats), 0)
        if self._library.per_communicator:
            comm = self._made_with(settings, point.groups, comm)
            settings = ()
        before = self._set(settings)
        if comm != MPI.COMM_NULL:
            part = self._timed.time(comm, meeting, point, self._offset_ns(point), repeats, checks)
        self._set(before)
        if sum(map(len, point.groups)) < self._comm.size:
            wait_asleep(self._comm)
        return self._comm.gather(part)

    def _made_with(
        self, settings: tuple[tuple[str, int], ...], groups: tuple[tuple[int, ...], ...], comm: MPI.Comm
    ) -> MPI.Comm:
        """Return a communicator of the same ranks that was made with some settings."""
        if not settings or comm == MPI.COMM_NULL:
            return comm
        key = (settings, groups)
        if key not in self._communicators:
            before = self._set(settings)
            self._communicators[key] = comm.Dup()
            self._set(before)
        return self._communicators[key]

    def _set(self, settings: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Set control variables. Returns their values before, in the order in which to set them again."""
        before = [(name, self._variables[name]) for name, _ in settings]
        for name, value in settings:
            self._variables[name] = value
        return before[::-1]

    def _offset_ns(self, point: CollectivePoint) -> float:
        for group, arrivals in zip(point.groups, point.arrivals_ns, strict=True):
            with suppress(ValueError):
                return min(arrivals[group.index(self._comm.rank)], MAX_OFFSET_NS)
        return 0.0


def _time_of(point: CollectivePoint, parts: Sequence[Part]) -> float:
    """Return ns from the arrival of the last rank to the end on the last one, at least 1."""
    times = []
    for group, arrivals in zip(point.groups, point.arrivals_ns, strict=True):
        last_ns = min(max(arrivals), MAX_OFFSET_NS)
        longest = np.max([parts[rank][1] for rank in group], axis=0)
        times.append(max(1.0, float(np.median(longest)) - last_ns))
    return fmean(times)
