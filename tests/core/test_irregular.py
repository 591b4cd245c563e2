"""Programs without rules: memory of values, times of few samples, long iterations that differ."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace

MAX_TERMS = 1 << 16
"""Terms of a vector that the core does not pack (values/vec.cpp)."""

PERIODS_BYTES = 8 << 18
"""Hashes of events, which the search for exact repetitions keeps (fold/periods.hpp)."""


class Program:
    """A rank that sends messages of given sizes from call sites of given numbers."""

    def __init__(self) -> None:
        self.core = Core(0, 1)
        self.core.define_comm(COMM_WORLD, 0, "world", [0])
        self.core.define_stat("compute_ns")
        self._send = self.core.define_op("Send", (("count", Kind.INT),))
        self._sites: dict[int, int] = {}

    def send(self, count: int, site: int = 0, compute_ns: float = 1.0) -> None:
        """Send a message. Sites are numbered in the order of the program's text."""
        if site not in self._sites:
            self._sites[site] = self.core.define_signature([f"app.py:{site + 10}:main"])
        self.core.append(self._send, [count], self._sites[site], stats=[compute_ns])

    def trace(self, folder: Path) -> Trace:
        """Finish the program, and read its trace."""
        with self.core as core:
            core.finish()
            core.write(folder / "a.st")
        return load(folder / "a.st")


def counts_of(trace: Trace) -> list[int]:
    """Return the sizes of all messages in their order."""
    return [int(call.values[0]) for call in trace.walk(0)]


def without_rule(n: int) -> list[int]:
    rng = random.Random(n)
    return [rng.randrange(1 << 16) for _ in range(n)]


def test_values_without_a_rule_take_few_bytes(tmp_path: Path) -> None:
    """Older values are packed: less than 8 bytes for each of these, not 36 to 66."""
    counts, program = without_rule(4 * MAX_TERMS), Program()
    for count in counts[:MAX_TERMS]:
        program.send(count)
    unpacked = program.core.nbytes
    for count in counts[MAX_TERMS:]:
        program.send(count)
    assert program.core.nbytes - unpacked < 8 * 3 * MAX_TERMS + PERIODS_BYTES
    assert counts_of(program.trace(tmp_path)) == counts


@pytest.mark.parametrize("repeated", [7, MAX_TERMS // 4])
def test_values_with_a_rule_around_packed_ones(tmp_path: Path, repeated: int) -> None:
    """Repetitions before, within and behind values that are packed are read as they came."""
    counts = [1, 2, 3] * repeated + without_rule(2 * MAX_TERMS) + list(range(repeated)) + [5, 9] * repeated
    counts += without_rule(MAX_TERMS) + [4] * repeated
    program = Program()
    for count in counts:
        program.send(count)
    assert counts_of(program.trace(tmp_path)) == counts


def test_parts_of_unfinished_programs_have_packed_values(tmp_path: Path) -> None:
    """A part that is written in the middle has the values so far, and changes nothing."""
    counts, program = without_rule(2 * MAX_TERMS + 5), Program()
    for count in counts[:-5]:
        program.send(count)
    program.core.write_part(tmp_path / "part")
    for count in counts[-5:]:
        program.send(count)
    with Core.read_part(tmp_path / "part") as part:
        part.write(tmp_path / "part.st")
    assert counts_of(load(tmp_path / "part.st")) == counts[:-5]
    assert counts_of(program.trace(tmp_path)) == counts


@pytest.mark.parametrize("samples", [2, 3, 12])
def test_two_samples_have_one_bin(tmp_path: Path, samples: int) -> None:
    """They are its ends. Bins of more show what differs, such as the start of one rank of three."""
    times, program = [float(1000 * (i + 1)) for i in range(samples)], Program()
    for time in [500.0, *times]:
        program.send(1, compute_ns=time)
    (node,) = program.trace(tmp_path).nodes
    assert isinstance(node, Event)
    histogram = node.stats[-1].histograms[0]
    assert histogram is not None
    assert (histogram.count, histogram.bins == ()) == (samples, samples == 2)
    assert histogram.min == pytest.approx(1000, rel=1 / 32)
    assert histogram.max == pytest.approx(1000 * samples, rel=1 / 32)
    assert histogram.mean == pytest.approx(sum(times) / samples, rel=1 / 2048)


def test_many_samples_have_bins(tmp_path: Path) -> None:
    program = Program()
    for i in range(14):
        program.send(1, compute_ns=1000.0 * (i + 1))
    (node,) = program.trace(tmp_path).nodes
    assert isinstance(node, Event)
    histogram = node.stats[-1].histograms[0]
    assert histogram is not None
    assert len(histogram.bins) == 5


def test_long_iterations_that_differ_become_one_loop(tmp_path: Path) -> None:
    """The first two have different calls at both ends, 700 calls apart: a table of 490,000 cells."""
    program, sent = Program(), []
    for optional in ((1, 700), (2, 701), (1, 701), (2, 700)):
        for site in (0, optional[0], *range(3, 699), optional[1], 702):
            program.send(site, site)
            sent.append(site)
    trace = program.trace(tmp_path)
    assert len(trace.nodes) == 1
    assert counts_of(trace) == sent
