"""Histograms in columns: stored twice they are the same, near to what was measured, checked when read."""

from __future__ import annotations

import math
import random

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.container import read_container
from scalatrace.trace.io.reader import load
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.histogram_columns import COLUMNS, ColumnReader, ColumnWriter, rounded
from support.traces import histograms

samples = st.lists(st.integers(0, 1 << 50) | st.integers(0, 40), min_size=2, max_size=40)


def measured(values: list[int]) -> Histogram:
    """A histogram of samples in five bins at most."""
    ordered, mean = sorted(values), sum(values) / len(values)
    std = math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1))
    size = -(-len(ordered) // 5)
    parts = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    bins = tuple(Bin(len(part), part[0], part[-1], sum(part) / len(part)) for part in parts)
    return Histogram(len(ordered), ordered[0], ordered[-1], mean, std, bins if len(bins) > 1 else ())


@given(st.lists(histograms() | samples.map(measured), max_size=12))
def test_stored_twice(given: list[Histogram]) -> None:
    once = _through_columns(given)
    assert _through_columns(once) == once


def _through_columns(given: list[Histogram]) -> list[Histogram]:
    writer = ColumnWriter()
    fits = [writer.add(histogram) for histogram in given]
    reader = ColumnReader(writer.columns)
    result = [reader.next() if fit else one for one, fit in zip(given, fits, strict=True)]
    reader.finish()
    return result


@given(samples.map(measured))
def test_near_to_what_was_measured(histogram: Histogram) -> None:
    stored = rounded(histogram)
    assert stored.count == histogram.count
    assert _near(stored.mean, histogram.mean, 1 / 2048)
    assert _near(stored.std, histogram.std, 1 / 16)
    assert _near(stored.min, histogram.min, 1 / 32)
    assert _near(stored.max, histogram.max, 1 / 32)
    assert _near(sum(b.count for b in stored.all_bins), histogram.count, 1 / 32)
    assert stored.rounded() == stored  # rows hold the same numbers, for formulas and text
    ordered = [value for b in stored.bins for value in (b.min, b.mean, b.max)]
    assert ordered == sorted(ordered)


def _near(stored: float, measured: float, share: float) -> bool:
    """Whether a number is within a share, after rounding to an integer."""
    return abs(stored - measured) <= share * measured + 0.5 + 1e-6


@given(samples.map(measured))
def test_draws_have_the_mean(histogram: Histogram) -> None:
    bins = rounded(histogram).drawn_bins
    total = sum(b.count * b.mean for b in bins) / sum(b.count for b in bins)
    assert _near(total, histogram.mean, 1 / 2048)


@given(seed=st.integers(0, 1 << 30))
def test_recorder_writes_the_same_columns(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """The columns of the core are those of Python's writer."""
    rng, path = random.Random(seed), tmp_path_factory.mktemp("core") / "a.st"
    with Core(0, 1) as core:
        core.define_comm(COMM_WORLD, 0, "world", [0])
        core.define_stat("compute_ns")
        core.define_stat("comm_ns")
        op = core.define_op("Send", (("count", Kind.INT), ("comm", Kind.COMM)))
        sites = [core.define_signature([f"app+0x{site:x}"]) for site in range(4)]
        for _ in range(60):
            time = rng.choice([0.0, 7.0, 1000.0, rng.random() * 2 ** rng.randrange(50)])
            core.append(
                op, [rng.randrange(3), COMM_WORLD], rng.choice(sites), stats=[time, 1000 + time / 100]
            )
        core.finish()
        core.write(path)
    payload = read_container(path.read_bytes()).payload
    written = msgpack.unpackb(payload, strict_map_key=False)["histograms"]
    assert any(written)
    assert msgpack.unpackb(pack_payload(load(path)), strict_map_key=False)["histograms"] == written


def _columns(change: dict[str, bytes]) -> tuple[bytes, ...]:
    writer = ColumnWriter()
    assert writer.add(measured([3, 5, 900, 1000, 70_000, 80_000, 90_000, 100_000, 200_000, 300_000]))
    return tuple(change.get(name, column) for name, column in zip(COLUMNS, writer.columns, strict=True))


@pytest.mark.parametrize(
    "change",
    [
        {"counts": b""}, {"counts": b"\1"}, {"counts": b"\x80" * 12}, {"means' low bytes": b""},
        {"means": b"\xff"}, {"deviations": b"\x81\x80\x80\x80\1"}, {"numbers of bins": b"\0"},
        {"numbers of bins": b"\x7f"}, {"bins' counts": b"\0\1\1\1\1"},
        {"bins' minima": b"\xff\xff\xff\xff\x0f" * 5}, {"bins' maxima": b""},
    ],
)  # fmt: skip
def test_refuses(change: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match=r"histogram|number"):
        _read_all(_columns(change))


def _read_all(columns: tuple[bytes, ...]) -> None:
    reader = ColumnReader(columns)
    reader.next()
    reader.finish()


@pytest.mark.parametrize("columns", [None, (b"",), ("",) * len(COLUMNS), {}])
def test_refuses_what_are_no_columns(columns: object) -> None:
    with pytest.raises(ValueError, match="column"):
        ColumnReader(columns)
