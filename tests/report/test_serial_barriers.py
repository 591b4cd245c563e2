"""Ranks that compute one after another between barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.overview.serial_barriers import find_serial_barriers
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm

NRANKS, STEPS = 4, 10
LONG_NS, SHORT_NS = 1_000_000, 1_000


def written_one_by_one(writes: int = 1, waiting_ns: float = LONG_NS) -> Trace:
    """Each of four ranks computes before one of four barriers in each of ten steps, the first one excepted.

    Args:
        writes: of a rank in four barriers.
        waiting_ns: mean time in a barrier.
    """
    b = Builder(NRANKS)
    event = b.event("Barrier", comm=Comm(), at=("a.py:7:store", "a.py:12:main"))
    first, again = STEPS * NRANKS, STEPS * NRANKS * (NRANKS - 1)
    long = again * writes // NRANKS
    bins = (Bin(again - long, SHORT_NS, SHORT_NS, SHORT_NS), Bin(long, LONG_NS, LONG_NS, LONG_NS))
    mean = sum(each.count * each.mean for each in bins) / again
    computed = Histogram(again, SHORT_NS, LONG_NS, mean, LONG_NS / 2, bins)
    at_first = (Histogram(first, SHORT_NS, SHORT_NS, SHORT_NS, 0), Histogram(first, 500, 1000, 1000, 0))
    stats = (
        PredStats(1, at_first),
        PredStats(2, (computed, Histogram(again, 500, waiting_ns, waiting_ns, 0))),
    )
    start = b.event("Barrier", comm=Comm(), at=("a.py:2:main",))
    trace = b.of(start, b.loop(STEPS, b.loop(NRANKS, replace(event, stats=stats))))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds += [(start.op, start.signature), (event.op, event.signature)]
    return trace


def test_serial_barriers_are_found() -> None:
    """While one rank computes, three of four ranks wait."""
    found = find_serial_barriers(written_one_by_one(waiting_ns=0.75 * LONG_NS))
    assert found is not None
    assert found.time_ns == pytest.approx(STEPS * (NRANKS - 1) * LONG_NS, rel=0.01)
    assert found.mean_ranks == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    "trace",
    [
        written_one_by_one(waiting_ns=1_000),  # all ranks compute at once
        written_one_by_one(writes=3),  # before most barriers
        written_one_by_one(waiting_ns=10 * LONG_NS),  # they wait for something else
    ],
)
def test_other_waiting_at_barriers_is_none(trace: Trace) -> None:
    assert find_serial_barriers(trace) is None


def test_one_rank_that_is_always_late_is_another_case() -> None:
    trace = written_one_by_one(waiting_ns=0.75 * LONG_NS)
    trace.load = [Vec([32, -100, -100, -100]), Vec([0] * NRANKS)]
    assert find_serial_barriers(trace) is None


def test_the_page_names_them() -> None:
    trace = written_one_by_one(waiting_ns=0.75 * LONG_NS)
    page = gather(trace, "a.st", options=with_ideal_run(PageOptions(), trace))
    assert page.causes is not None
    assert page.causes.why.startswith("Ranks run one after another, which costs up to 7")
    assert "in turn" not in page.causes.why
    assert page.causes.parts is None  # the simulated run lacks this
    entry = next(each for each in page.advice if each.kind == "serialisation")
    assert ("ranks that compute there", "1 of 4 at once") in entry.numbers
