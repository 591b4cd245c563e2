"""SPMD programs without MPI: what each rank calls goes into cores, and beside them into plain lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import scalatrace
from scalatrace.core.binding import Core
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace

WORLD = 1
P2P = (("count", Kind.INT), ("peer", Kind.PEER), ("tag", Kind.INT), ("comm", Kind.COMM))
ARRAYS = (("requests", Kind.ARRAY),)

Call = tuple[object, ...]


@dataclass
class Rank:
    """One rank of a run: its core, and what it was told, one tuple a call."""

    core: Core
    rank: int
    nprocs: int
    told: list[Call] = field(default_factory=list)
    families: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # name -> family, own rank, size

    def call(
        self,
        op: str,
        site: str | tuple[str, ...],
        peer: int = 0,
        count: int = 8,
        tag: int = 0,
        comm: str = "world",
        ns: float = 1000.0,
    ) -> None:
        """A call with a peer. `site`: the innermost frame, or several, innermost first."""
        family, own, size = self.families[comm]
        number = self.core.define_op(op, P2P)
        frames = (site,) if isinstance(site, str) else site
        signature = self.core.define_signature([*frames, "app.py:1:<module>"])
        self.core.append(number, [count, peer, tag, family], signature, own, size, [ns, ns / 4])
        self.told.append((op, frames[0], count, peer, tag, comm))

    def wait(self, site: str, ages: list[int]) -> None:
        """A call with an array."""
        number = self.core.define_op("Waitall", ARRAYS)
        signature = self.core.define_signature([site, "app.py:1:<module>"])
        self.core.append(number, [self.core.array(ages)], signature, self.rank, self.nprocs, [1000.0, 250.0])
        self.told.append(("Waitall", site, tuple(ages)))

    def communicator(self, name: str, ordinal: int, members: list[int]) -> None:
        """Make a sub-communicator of the world this rank is in."""
        from scalatrace.core.binding import family

        number = family(WORLD, ordinal)
        self.core.define_comm(number, WORLD, "split", members)
        self.families[name] = (number, members.index(self.rank), len(members))


Program = Callable[[Rank], None]


def record(program: Program, nprocs: int, folder: Path) -> tuple[Trace, list[list[Call]]]:
    """Run a program on every rank, one after the other, merge as MPI_Finalize would, load the file.

    Writes `folder`/trace.st and `folder`/logs/rank-R.log. Returns the trace and what each rank called."""
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    ranks = []
    for r in range(nprocs):
        core = Core(r, nprocs)
        core.define_comm(WORLD, 0, "world", range(nprocs))
        core.define_stat("compute_ns")
        core.define_stat("comm_ns")
        core.flatlog_open(logs / f"rank-{r}.log")
        rank = Rank(core, r, nprocs, families={"world": (WORLD, r, nprocs)})
        program(rank)
        core.flatlog_close()
        core.finish()
        ranks.append(rank)
    step = 1
    while step < nprocs:
        for r in range(0, nprocs - step, 2 * step):
            ranks[r].core.merge(ranks[r + step].core.pack())
        step *= 2
    ranks[0].core.write(folder / "trace.st")
    for rank in ranks:
        rank.core.close()
    return scalatrace.load(folder / "trace.st"), [rank.told for rank in ranks]


def walked(trace: Trace, rank: int) -> list[Call]:
    """What the trace says a rank called, as Rank.told has it."""
    result: list[Call] = []
    for event in trace.walk(rank):
        if event.op == "Waitall":
            result.append((event.op, event.site, event["requests"]))
        else:
            name = "world" if event.comm.family == 0 else "sub"
            result.append((event.op, event.site, event["count"], event["peer"], event["tag"], name))
    return result
