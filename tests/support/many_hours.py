"""A trace of a million ranks that compute ten hours each: sums over its ranks need more than 64 bits."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To

NPROCS = 1_000_000
STEPS = 10
STEP_NS = 3_600_000_000_000
"""An hour before each step."""
CALL_NS = 60_000_000_000
TOTAL_NS = NPROCS * STEPS * STEP_NS
"""3.6e19, of all ranks: more than 2^63 and 2^64."""
COUNT = 1 << 40
"""Doubles of a message: bytes of all ranks need more than 63 bits, too."""


def histogram(count: int, mean: int) -> Histogram:
    """Return the histogram of samples that are near a mean."""
    half = count // 2
    low, high = mean - mean // 8, mean + mean // 8
    bins = (Bin(half, low, low, low), Bin(half, high, high, high))
    return Histogram(count, low, high, mean, mean // 8, bins)


def many_hours(nprocs: int = NPROCS, count: int = COUNT) -> Trace:
    """Return a ring of ranks that send to their neighbour and add a number in every step."""
    b = Builder(nprocs)
    b.trace.stats.append(RecordedStat("comm_ns", 1.0))
    n = nprocs * STEPS
    neighbour = {"datatype": DOUBLE, "tag": 1, "comm": Comm()}
    source, dest = (To(Encoding.MODULO, Vec(distance)) for distance in (-1, 1))
    receive = b.event("Irecv", at=("ring.py:3:step",), count=count, source=source, **neighbour)
    send = b.event("Send", at=("ring.py:4:step",), count=count, dest=dest, **neighbour)
    wait = b.event("Wait", at=("ring.py:5:step",), request=0)
    total = b.event("Allreduce", at=("ring.py:6:step",), count=1, datatype=DOUBLE, op="MPI_SUM", comm=Comm())
    events = receive, send, wait, total
    preds = [START, *((event.op, event.signature) for event in events)]
    before = {
        id(receive): [(0, nprocs, STEP_NS), (4, n - nprocs, STEP_NS)],
        id(send): [(1, n, 1000)], id(wait): [(2, n, 1000)], id(total): [(3, n, 1000)],
    }  # fmt: skip
    loop = b.loop(STEPS, *(_timed(event, before[id(event)]) for event in events))
    trace = b.of(loop)
    trace.preds[:] = preds
    return trace


def _timed(event: Event, before: list[tuple[int, int, int]]) -> Event:
    """Add times: predecessor, samples and mean of the time before."""
    stats = (PredStats(pred, (histogram(n, mean), histogram(n, CALL_NS))) for pred, n, mean in before)
    return replace(event, stats=tuple(stats))
