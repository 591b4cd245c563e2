"""Loads of ranks in the merge: close to what each rank computed, in bytes that grow with differences only."""

from __future__ import annotations

import random
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.test_rank_sets import rank_core, trace_of, united
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.errors import FormatError


def cores(totals: list[float]) -> list[Core]:
    return [rank_core(rank, len(totals), [0], total) for rank, total in enumerate(totals)]


def check_loads(core: Core, totals: list[float], in_calls: list[float] | None = None) -> None:
    """Each rank's computation and time in calls are known within 5 %, relative to their means."""
    trace = trace_of(core)
    expected = {"compute_ns": totals, "comm_ns": in_calls or [1e6 / total for total in totals]}
    for stat, sums in expected.items():
        mean = sum(sums) / len(sums)
        off = {log2(trace.load_factor(stat, rank)) - log2(total / mean) for rank, total in enumerate(sums)}
        assert max(map(abs, off)) <= log2(1.05), (stat, sums)


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=33))
def test_any_loads_come_back(totals: list[float]) -> None:
    check_loads(united(cores(totals)), totals)


@given(st.lists(st.sampled_from([100.0, 101.0, 130.0, 400.0]), min_size=2, max_size=16), st.randoms())
def test_ranks_that_come_between_others_keep_their_loads(totals: list[float], order: random.Random) -> None:
    parts = cores(totals)
    order.shuffle(parts)
    first, *others = parts
    for other in others:
        first.merge(other.pack())
        other.close()
    check_loads(first, totals)


def test_a_message_of_more_ranks_with_like_loads_is_no_longer() -> None:
    noise = random.Random(1)
    lengths = []
    for nprocs in (16, 256):
        core = united(cores([1e6 * noise.uniform(0.99, 1.01) for _ in range(nprocs)]))
        lengths.append(len(core.pack()))
        core.close()
    assert lengths[1] < lengths[0] + 32, lengths


def test_a_message_with_ranks_that_there_are_not_is_refused() -> None:
    core, other = rank_core(0, 2, [0]), rank_core(200, 300, [0])
    packed = other.pack()
    at = packed.index(b"\xcd\x01\x2c")  # 300 ranks
    with pytest.raises(FormatError, match="ranklist"):
        core.merge(packed[:at] + b"\xcd\x00\x02" + packed[at + 3 :])


def test_a_core_that_goes_on_after_an_end_adds_to_its_load() -> None:
    core = rank_core(0, 2, [0], 1000.0)
    core.merge(rank_core(1, 2, [0], 1000.0).pack())
    core.append(0, [0, COMM_WORLD], core.define_signature(["app.py:1:main"]), 0, 2, [3000.0, 500.0])
    core.finish()
    check_loads(core, [4000.0, 1000.0], [1500.0, 1000.0])
