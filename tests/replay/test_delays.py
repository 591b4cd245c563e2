"""How long ranks compute that make different calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.replay import ReplayOptions
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.timing.compute_times import ComputeTimes
from scalatrace.trace.model.tables import Kind

COMPUTE_NS = {0: ("Barrier", 4e6), 1: ("Allreduce", 1e5), 2: ("Allreduce", 3e5)}
"""The calls of each rank, and the computation before each."""


def test_a_rank_computes_as_long_as_it_did(tmp_path: Path) -> None:
    """Within a step of its load, whether others make its calls or not."""
    cores = []
    for rank, (name, ns) in COMPUTE_NS.items():
        core = Core(rank, len(COMPUTE_NS))
        core.define_stat("compute_ns")
        op = core.define_op(name, (("comm", Kind.COMM),))
        site = core.define_signature([f"app.py:{len(name)}:main"])
        for _ in range(20):
            core.append(op, [COMM_WORLD], site, rank, len(COMPUTE_NS), [ns])
        core.finish()
        cores.append(core)
    for child in cores[1:]:
        cores[0].merge(child.pack())
    cores[0].write(tmp_path / "a.st")
    trace = load(tmp_path / "a.st")
    for rank, (_, ns) in COMPUTE_NS.items():
        delays = ComputeTimes(trace, rank, ReplayOptions(), WhatIf(()))
        total = sum(delays.before(call) for call in trace.walk(rank))
        assert total == pytest.approx(20 * ns, rel=0.1)
