"""Traces of what each rank calls, given as plain lists: compressed and merged as the recorder does it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scalatrace
from scalatrace.core.binding import COMM_WORLD, Core, family
from scalatrace.trace.model.tables import Datatype, Kind
from scalatrace.trace.model.trace import Trace

PEERS = ("dest", "source", "target_rank")
ARRAYS = ("requests", "sendcounts", "recvcounts", "displs", "sdispls", "rdispls", "dims")
TYPES = ("datatype", "sendtype", "recvtype")
STRINGS = ("filename",)


@dataclass(frozen=True)
class IssuedCall:
    """A call. `site`: its line in app.py; parameters in order; `comm` a name of `Groups`, "world" or none."""

    op: str
    site: int
    params: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.params)[name]

    def get(self, name: str, default: Any = None) -> Any:
        return dict(self.params).get(name, default)


def call(op: str, site: int, **params: Any) -> IssuedCall:
    """A call; arrays are tuples."""
    return IssuedCall(op, site, tuple(params.items()))


Groups = dict[str, list[list[int]]]
"""Communicators besides the world: for each name the members of each instance; `b<a` is b, split from a."""


def record(ranks: Sequence[Sequence[IssuedCall]], groups: Groups | None = None) -> Trace:
    """The trace of ranks that make these calls."""
    cores = [_recorded(rank, calls, len(ranks), groups or {}) for rank, calls in enumerate(ranks)]
    step = 1
    while step < len(cores):
        for r in range(0, len(cores) - step, 2 * step):
            cores[r].merge(cores[r + step].pack())
        step *= 2
    with tempfile.TemporaryDirectory() as folder:
        cores[0].write(Path(folder) / "trace.st")
        for core in cores:
            core.close()
        return scalatrace.load(Path(folder) / "trace.st")


def _recorded(rank: int, calls: Sequence[IssuedCall], nprocs: int, groups: Groups) -> Core:
    core = Core(rank, nprocs)
    core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
    core.define_stat("compute_ns")
    comms = {"world": (COMM_WORLD, rank, nprocs)}
    for i, (key, instances) in enumerate(groups.items()):
        name, _, parent = key.partition("<")
        for members in instances:
            if rank in members:
                made_from = comms[parent or "world"][0]
                number = family(made_from, i)
                core.define_comm(number, made_from, "split", members)
                comms[name] = number, members.index(rank), len(members)
    for i, made in enumerate(calls):
        number, own, size = comms[made.get("comm", "world")]
        schema = [(name, _kind(name)) for name, _ in made.params]
        values = [_value(core, name, value, number) for name, value in made.params]
        signature = core.define_signature([f"app.py:{made.site}:main", "app.py:1:<module>"])
        core.append(
            core.define_op(made.op, schema), values, signature, own, size, [1000.0 + i % 7 + 100 * rank]
        )
    core.finish()
    return core


def _kind(name: str) -> Kind:
    if name in PEERS:
        return Kind.PEER
    if name in TYPES:
        return Kind.TYPE
    if name in STRINGS:
        return Kind.STRING
    return Kind.ARRAY if name in ARRAYS else Kind.COMM if name == "comm" else Kind.INT


def _value(core: Core, name: str, value: Any, family: int) -> int:
    if name in ARRAYS:
        return core.array(value)
    if name in TYPES:
        kind = value if isinstance(value, Datatype) else Datatype(value, 8, 8)
        return core.define_type(kind.description, kind.size, kind.extent)
    if name in STRINGS:
        return core.string(value)
    return family if name == "comm" else int(value)


def walked(trace: Trace, rank: int, sites: bool = True) -> list[tuple[Any, ...]]:
    """(op, site, parameters) of a rank's calls; the communicator as its members."""
    result = []
    for made in trace.walk(rank):
        params = tuple(
            (name, value.members if name == "comm" else value) for name, value in made.params.items()
        )
        result.append((made.op, made.site if sites else "", params))
    return result
