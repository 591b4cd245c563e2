"""Programs of ranks in a ring that exchange with both neighbours, and what else some of them do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalatrace import Trace
from support.calls import IssuedCall, call, record

EXTRA = 90
"""Calls from this line on are no part of the dominating pattern."""

DOUBLE = "MPI_DOUBLE"


@dataclass
class Script:
    """One rank's calls; requests have names, and are turned into ages as the recorder does it."""

    calls: list[IssuedCall] = field(default_factory=list)
    _live: list[Any] = field(default_factory=list)

    def message(self, op: str, site: int, peer: int, tag: int = 1, request: Any = None) -> None:
        """A Send, Isend, Recv or Irecv; with the name of its request."""
        name = "dest" if "send" in op.lower() else "source"
        self.calls.append(call(op, site, count=8, datatype=DOUBLE, **{name: peer}, tag=tag, comm="world"))
        if request is not None:
            self._live.append(request)

    def wait(self, site: int, *requests: Any) -> None:
        """Wait for one request, Waitall for several."""
        n = len(self._live)
        ages = tuple(n - 1 - self._live.index(request) for request in requests)
        if len(ages) == 1:
            self.calls.append(call("Wait", site, request=ages[0]))
        else:
            self.calls.append(call("Waitall", site, requests=ages))
        self._live = [one for one in self._live if one not in requests]

    def collective(self, op: str, site: int) -> None:
        """A collective call on the world."""
        self.calls.append(call(op, site, comm="world"))


@dataclass(frozen=True)
class Extra:
    """A message that only two ranks of one trace know: in which step, from where to where, how."""

    step: int
    source: int
    dest: int
    how: str


HOWS = ("blocking", "waited", "among", "exchanged", "everybody", "wild")


def ring(nprocs: int, steps: int, extras: Sequence[Extra] = ()) -> Trace:
    """The trace of a ring."""
    scripts = [Script() for _ in range(nprocs)]
    for step in range(steps):
        here = [extra for extra in extras if extra.step == step and extra.source != extra.dest]
        _run(scripts, here, _before)
        for rank, script in enumerate(scripts):
            script.message("Irecv", 10, (rank - 1) % nprocs, request="left")
            script.message("Irecv", 11, (rank + 1) % nprocs, request="right")
        _run(scripts, here, _between)
        for rank, script in enumerate(scripts):
            script.message("Isend", 12, (rank + 1) % nprocs, request="to right")
            script.message("Isend", 13, (rank - 1) % nprocs, request="to left")
            script.wait(14, "left", "right", "to right", "to left")
        _run(scripts, here, _behind)
        for script in scripts:
            script.collective("Barrier", 20)
    return record([script.calls for script in scripts])


def _run(
    scripts: list[Script],
    extras: Sequence[Extra],
    what: Callable[[Extra, Script, Script, list[Script]], None],
) -> None:
    for extra in extras:
        what(extra, scripts[extra.source], scripts[extra.dest], scripts)


def _before(extra: Extra, source: Script, dest: Script, every: list[Script]) -> None:
    if extra.how == "blocking":
        source.message("Send", 90, extra.dest, tag=7)
        dest.message("Recv", 91, extra.source, tag=7)
    if extra.how == "wild":
        source.message("Send", 92, extra.dest, tag=8)
        dest.message("Recv", 93, -1000000002, tag=8)
    if extra.how == "waited":
        dest.message("Irecv", 94, extra.source, tag=9, request=extra)
        source.message("Send", 95, extra.dest, tag=9)
        dest.wait(96, extra)
    if extra.how == "everybody":
        for script in every:
            script.collective("Barrier", 97)


def _between(extra: Extra, source: Script, dest: Script, every: list[Script]) -> None:
    """The receive is younger than some of the ring's requests and older than others."""
    if extra.how == "among":
        dest.message("Irecv", 98, extra.source, tag=10, request=extra)
        source.message("Send", 99, extra.dest, tag=10)
    if extra.how == "exchanged":
        for mine, peer in ((source, extra.dest), (dest, extra.source)):
            mine.calls.append(
                call(
                    "Sendrecv", 100, sendcount=1, sendtype=DOUBLE, dest=peer, sendtag=11,
                    recvcount=1, recvtype=DOUBLE, source=peer, recvtag=11, comm="world",
                )
            )  # fmt: skip


def _behind(extra: Extra, source: Script, dest: Script, every: list[Script]) -> None:
    if extra.how == "among":
        dest.wait(101, extra)
