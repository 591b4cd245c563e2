"""What ranks wait for: cores, receivers, or other ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.cli.ideal import with_ideal_run
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.tree import leaves
from scalatrace.report.style import coarse_duration
from scalatrace.trace.model.nodes import Event, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.late_ranks import late
from support.small_messages import measured


def waiting_ranks() -> Trace:
    """Rank 2 is late at a barrier, which is short at best."""
    trace = late([0, 0, 16, 0], 30_000)
    (loop,) = trace.nodes
    assert isinstance(loop, Sequence)
    (event,) = loop.nodes
    assert isinstance(event, Event)
    stats = tuple(
        replace(row, histograms=(row.histograms[0], replace(row.histograms[1], min=1000.0)))
        for row in event.stats
        if row.histograms[1] is not None
    )
    return replace(trace, nodes=[replace(loop, nodes=(replace(event, stats=stats),))])


def test_more_ranks_than_cores_are_an_entry() -> None:
    """Recorded waiting is mostly for cores: that of other ranks is at most that of the simulated run."""
    trace = waiting_ranks()
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    own, crowded = (
        gather(each, "x", options=with_ideal_run(PageOptions(), each)) for each in (waiting_ranks(), trace)
    )
    shares = [{one.kind: one.share for one in found.advice} for found in (own, crowded)]
    assert "cores" not in shares[0]
    assert crowded.causes is not None
    run_ns = crowded.summary.run_time_ns
    assert run_ns is not None
    assert shares[1]["cores"] == pytest.approx(1 - crowded.causes.ideal_ns / run_ns)
    assert shares[1]["imbalance"] < shares[0]["imbalance"] / 2
    assert f"{coarse_duration(crowded.causes.ideal_ns)}, " in crowded.result


def test_completions_of_sends_wait_for_receivers() -> None:
    b = Builder(4)
    data: dict[str, Any] = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    receive = b.event("Irecv", source=To(Encoding.MODULO, Vec(-1)), **data)
    send = b.event("Isend", dest=To(Encoding.MODULO, Vec(1)), **data)
    both = (b.event("Waitall", at=(f"a.py:{line}:f",), requests=(0,)) for line in (5, 6))
    trace = measured(b.of(b.loop(5, receive, send, *both)))
    calls = {leaf.number: leaf.ends_sends for leaf in leaves(gather(trace, "x").tree.root)}
    assert calls == {2: False, 3: False, 4: True, 5: False}


def test_the_summary_names_the_longest_computations() -> None:
    """Each with its place, executions and time; a second one from a tenth of the time on."""
    (entry,) = (one for one in gather(waiting_ranks(), "x").advice if one.kind == "computation")
    assert entry.where.endswith("(9 × 8 µs)")
    assert "; " not in entry.where
