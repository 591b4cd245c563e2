"""Traces with times for the page: recorded ones of the corpus, and large ones by hand; data of a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import scalatrace
from scalatrace.cli import main
from scalatrace.errors import ScalatraceError
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To

__all__ = ["embedded", "extrapolate_rings", "hostile", "million_stencil", "recorded", "ring", "star", "timed"]

SEEDS = Path(__file__).resolve().parents[1] / "corpus" / "trace" / "seeds"


def recorded() -> dict[str, Trace]:
    """Recorded traces of the corpus that agree with themselves, by name."""
    result = {}
    for path in sorted(SEEDS.glob("*.st")):
        trace = scalatrace.load(path)
        try:
            for rank in trace.ranks:
                list(trace.walk(rank))
        except ScalatraceError:
            continue
        result[path.stem] = trace
    return result


def timed(trace: Trace, scale: int = 1) -> Trace:
    """Give each event node of a trace the same times after any call: 1,000 ns before it, 3,000 ns in it.

    Args:
        scale: factor of these times.
    """
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds = [START]
    for leaf in trace.leaves():
        if (leaf.op, leaf.signature) not in trace.preds:
            trace.preds.append((leaf.op, leaf.signature))
    for table in ("pred_index", "stat_index"):
        trace.__dict__.pop(table, None)

    def with_times(node: Event | Sequence) -> Event | Sequence:
        if isinstance(node, Sequence):
            return Sequence(node.repeat, tuple(map(with_times, node.nodes)))
        times = ((1000, 1000, 1000), (1000, 9000, 3000))
        pair = tuple(Histogram(8, *(scale * one for one in three), 0) for three in times)
        stats = tuple(PredStats(pred, pair) for pred in range(len(trace.preds)))
        return Event(node.repeat, node.op, node.signature, node.params, stats)

    trace.nodes = [with_times(node) for node in trace.nodes]
    return trace


def ring(nprocs: int, steps: int = 10, nbytes: int = 800) -> Trace:
    """A ring of any number of ranks: each sends to the next one."""
    b = Builder(nprocs)
    given: dict[str, Any] = {"count": nbytes // 8, "datatype": DOUBLE}
    on: dict[str, Any] = {"tag": 1, "comm": Comm()}
    steps_of = b.loop(
        steps,
        b.event("Irecv", at=("ring.py:3:turn",), **given, source=To(Encoding.MODULO, Vec(-1)), **on),
        b.event("Send", at=("ring.py:4:turn",), **given, dest=To(Encoding.MODULO, Vec(1)), **on),
        b.event("Wait", at=("ring.py:5:turn",), request=0),
    )  # fmt: skip
    total = b.event("Allreduce", at=("ring.py:9:main",), count=1, datatype=DOUBLE, comm=Comm())
    return timed(b.of(steps_of, total))


def star(nprocs: int = 6) -> Trace:
    """All ranks send to rank 0."""
    b = Builder(nprocs)
    workers = Groups([(RankList(range(1, nprocs)), Vec(1))])
    on: dict[str, Any] = {"count": 2, "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    return b.of(b.loop(50, b.event("Send", workers, at=("star.py:3:give",), dest=0, **on)))


def million_stencil(side: int = 1024, steps: int = 5) -> Trace:
    """A stencil on side x side ranks: each sends to its neighbours to the right and below, and back."""
    b = Builder(side * side)
    whole = side * side
    nodes = [
        (1, RankList.from_runs(_runs(side, 1))),
        (-1, RankList.from_runs(_runs(side, -1))),
        (side, RankList.from_runs([(0, whole - side)])),
        (-side, RankList.from_runs([(side, whole)])),
    ]
    sends = [
        b.event("Isend", Groups([(ranks, Vec(1))]), at=(f"halo.py:{number}:send",), count=8, datatype=DOUBLE,
                dest=To(Encoding.RELATIVE, Vec(step)), tag=number, comm=Comm())
        for number, (step, ranks) in enumerate(nodes, 1)
    ]  # fmt: skip
    loop = b.loop(steps, *sends, b.event("Barrier", at=("halo.py:9:main",), comm=Comm()))
    return timed(b.of(loop))


def _runs(side: int, step: int) -> list[tuple[int, int]]:
    """Runs of ranks that have a neighbour to the right (step 1) or to the left (-1)."""
    first = 0 if step > 0 else 1
    return [(row * side + first, row * side + first + side - 1) for row in range(side)]


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\x1b[31m"


def hostile() -> Trace:
    """A trace whose names are attacks on a page."""
    b = Builder(4)
    event = b.event("Isend", at=(f"{HOSTILE}.py:3:{HOSTILE}",), count=1, datatype=DOUBLE,
                    dest=To(Encoding.MODULO, Vec(1)), tag=1, comm=Comm(), info=HOSTILE)  # fmt: skip
    odd = b.event(HOSTILE, at=(f"{HOSTILE}+0x12",), comm=Comm())
    trace = timed(b.of(b.loop(3, event, odd)))
    trace.meta = {"program": HOSTILE, HOSTILE: HOSTILE, "extrapolated": HOSTILE}
    return trace


def extrapolate_rings() -> None:
    """Save rings of 4, 6 and 8 ranks as r4.st, ..., their formulas as ring.stx, and 64 ranks as big.st."""
    inputs = [f"r{nprocs}.st" for nprocs in (4, 6, 8)]
    for nprocs, path in zip((4, 6, 8), inputs, strict=True):
        save(ring(nprocs), path)
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "ring.stx"]) == 0
    assert main(["extrapolate", *inputs, "-P", "64", "-o", "big.st"]) == 0


def embedded(text: str) -> Any:
    """Return the data in the text of a page."""
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    return json.loads(match[1])
