"""Addresses of dynamic windows, and ports: what a replay has in their place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.replay import ReplayError, ReplayOptions, run
from scalatrace.replay.common.options import ComputeMode
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.preparation import MAX_GAP_NBYTES, DynamicWindows, unite_intervals
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.windows import Exposed
from scalatrace.replay.timing.pace import Pace
from scalatrace.replay.transport.args import Text
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import PROC_NULL
from support.builder import DOUBLE, Builder, Comm
from support.memory_transport import BASE, MemoryTransport

INTERVALS = st.lists(
    st.builds(lambda low, n: (low, low + n), st.integers(0, 1 << 48), st.integers(1, 1 << 20)), min_size=1
)


def issued(trace: Trace) -> list[tuple[str, tuple[Any, ...]]]:
    transport = MemoryTransport()
    run(trace, transport, ReplayOptions(ComputeMode.NONE))
    return transport.calls


@given(INTERVALS)
def test_intervals_are_united(intervals: list[tuple[int, int]]) -> None:
    result = unite_intervals(intervals)
    for low, high in intervals:
        assert sum(a <= low and high <= b for a, b in result) == 1
    assert all(b + MAX_GAP_NBYTES < c for (_, b), (c, _) in pairwise(result))
    assert {low for low, _ in result} <= {low for low, _ in intervals}


def test_addresses_of_the_recorded_run_become_others() -> None:
    exposed = Exposed([1000, 5000], [200, 700])
    assert [exposed[at] for at in (1000, 1999, 5000, 5001)] == [200, 1199, 700, 701]


def test_calls_on_a_dynamic_window() -> None:
    b, far = Builder(), 140_000_000_000_000
    own = {
        "origin_count": 1,
        "origin_datatype": DOUBLE,
        "target_count": 1,
        "target_datatype": DOUBLE,
        "win": 0,
    }
    trace = b.of(
        b.event("Win_create_dynamic", comm=Comm(), win=0),
        b.event("Put", target_rank=0, target_disp=far + 8, comm=Comm(), **own),
        b.event("Put", target_rank=0, target_disp=far, comm=Comm(), **own),
        b.event("Put", target_rank=PROC_NULL, target_disp=5, comm=Comm(), **own),
        b.event("Win_free", comm=Comm(), win=0),
    )
    second, first, none = (args[4].n for op, args in issued(trace) if op == "Put")
    assert (second - first, first % 64, none) == (8, far % 64, 5)
    assert first >= BASE


class Watched(MemoryTransport):
    """Keeps the parts that are exchanged."""

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        self.__dict__.setdefault("exchanged", []).append([msgpack.unpackb(part) for part in parts])
        return super().exchange(parts)


def test_each_target_learns_of_its_own_memory_only() -> None:
    b, rank = Builder(nprocs=3), Watched(rank=1, size=3)
    own = {
        "origin_count": 1,
        "origin_datatype": DOUBLE,
        "target_count": 1,
        "target_datatype": DOUBLE,
        "win": 0,
    }
    disps = {0: 100_000, 1: 200_000}
    puts = [b.event("Put", target_rank=to, target_disp=at, comm=Comm(), **own) for to, at in disps.items()]
    trace = b.of(b.event("Win_create_dynamic", comm=Comm(), win=0), *puts)
    windows = DynamicWindows(RankReplay(rank, Pace(ComputeMode.NONE), ""), WhatIf(()))
    for call in trace.walk(1):
        windows.see(call)
    windows.finish()
    asked, answered = rank.__dict__["exchanged"]
    assert asked == [[[0, 0, [[100_000, 100_008]]]], [[0, 0, [[200_000, 200_008]]]], []]
    assert [len(part) for part in answered] == [0, 1, 0]


def test_ports() -> None:
    b = Builder()
    alone = b.family("split", [1], [0])
    both = b.family("connect", [1], [0], parent=alone.family)
    accept = b.event("Comm_accept", port_name="of the run", root=0, comm=Comm(), newcomm=both)
    (_, args), *_ = issued(b.of(accept))
    assert args[0] == Text(MemoryTransport().open_port())


def test_a_port_of_another_job() -> None:
    b = Builder()
    both = b.family("connect", [1], [0])
    connect = b.event("Comm_connect", port_name="elsewhere", root=0, comm=Comm(), newcomm=both)
    with pytest.raises(ReplayError, match="the server was another job"):
        issued(b.of(connect))
