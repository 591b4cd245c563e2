"""Merges of histograms whose times, summed over ranks, need more than 64 bits."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from core.test_rank_sets import rank_core, trace_of
from scalatrace.core.binding import Core
from scalatrace.errors import FormatError
from support.parts import fields_of, packed

HOUR_NS = 3_600_000_000_000
SAMPLE = struct.Struct("<Q 4d 2i Q 3d")
"""A histogram of one bin: samples, minimum, maximum, mean, squares; bins; samples, minimum, maximum, sum."""
TIMES = 19, 0, 6
"""Where a packed core has the statistics of its first call, by predecessor."""


def part(rank: int, path: Path, count: int, in_bin: int | None = None) -> Core:
    """Return a part of two ranks in which each histogram has so many samples of an hour."""
    fields = fields_of(rank_core(rank, 2, [0, 0], float(HOUR_NS)))
    nodes, call, stats = TIMES
    for after in fields[nodes][call][stats][2:]:
        for i, old in enumerate(after[1:], 1):
            mean = SAMPLE.unpack(old)[3]
            times = count, mean, mean, mean, 0.0, 1, 0, in_bin or count, mean, mean, mean * (in_bin or count)
            after[i] = SAMPLE.pack(*times)
    Core(rank, 2).write_packed(packed(fields), path)
    return Core.read_part(path)


@pytest.mark.parametrize("count", [10**7, 1 << 50, 1 << 61])
def test_sums_of_merged_times_are_right(tmp_path: Path, count: int) -> None:
    """10^7 hours are 3.6e19 ns."""
    whole = part(0, tmp_path / "0", count)
    with part(1, tmp_path / "1", count) as other:
        whole.merge_core(other)
    trace = trace_of(whole)
    times = [stats.histograms[0] for stats in trace.nodes[0].stats if stats.histograms[0]]
    assert [h.count for h in times] == [2 * count] * len(times)
    assert [h.total for h in times] == pytest.approx([2 * count * HOUR_NS] * len(times), rel=1e-3)


def test_more_samples_than_a_count_holds(tmp_path: Path) -> None:
    whole = part(0, tmp_path / "0", 1 << 62)
    with (
        part(1, tmp_path / "1", 1 << 61) as other,
        pytest.raises(FormatError, match=r"more than 2\^62 samples: a part of the trace is damaged"),
    ):
        whole.merge_core(other)


@pytest.mark.parametrize(("count", "in_bin"), [((1 << 62) + 1, None), (4, 5), (4, 3)])
def test_a_part_with_impossible_counts(tmp_path: Path, count: int, in_bin: int | None) -> None:
    with pytest.raises(FormatError, match="a damaged histogram"):
        part(0, tmp_path / "0", count, in_bin)
