"""Programs without rules: memory of values, times of few samples, long iterations that differ."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace

MAX_TERMS = 1 << 16
"""Terms of a vector that the core does not pack (values/vec.cpp)."""

PERIODS_BYTES = 8 << 18
"""Hashes of events, which the search for exact repetitions keeps (fold/periods.hpp)."""

MAX_FULL_HISTOGRAMS = 1 << 15
"""Histograms of a trace above which those of few samples have one bin (core/histograms.cpp)."""


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


@pytest.mark.parametrize("nodes", [32, MAX_FULL_HISTOGRAMS + 1])
def test_many_histograms_of_few_samples_have_one_bin(tmp_path: Path, nodes: int) -> None:
    program = Program()
    for site in range(nodes):
        for run in range(4):
            program.send(1, site, compute_ns=1000.0 * (run + 1))
    trace = program.trace(tmp_path)
    histograms = [leaf.stats[-1].histograms[0] for leaf in trace.leaves() if isinstance(leaf, Event)]
    assert len(histograms) == nodes
    for histogram in histograms:
        assert histogram is not None
        assert (histogram.count, len(histogram.bins)) == (3, 3 if nodes == 32 else 0)
        assert histogram.mean == pytest.approx(3000, rel=1 / 2048)
        assert histogram.min == pytest.approx(2000, rel=1 / 32)
        assert histogram.max == pytest.approx(4000, rel=1 / 32)


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


def optional_calls(rng: random.Random, iterations: int) -> list[int]:
    """Sites of iterations with a few of many calls, in an order of their own: hardly two align."""
    return [site for _ in range(iterations) for site in [0, *rng.sample(range(1, 60), rng.randrange(4, 40))]]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999), iterations=st.integers(1, 400))
def test_calls_that_never_fold_are_kept(
    tmp_path_factory: pytest.TempPathFactory, seed: int, iterations: int
) -> None:
    """Alignments that fail get less credit, which loses nothing; equal calls give equal files."""
    sites, files = optional_calls(random.Random(seed), iterations), []
    for _ in range(2):
        folder, program = tmp_path_factory.mktemp("never"), Program()
        for site in sites:
            program.send(site, site)
        assert counts_of(program.trace(folder)) == sites
        files.append((folder / "a.st").read_bytes())
    assert files[0] == files[1]


def test_loops_behind_calls_that_never_fold_are_found(tmp_path: Path) -> None:
    """Failed alignments leave enough credit for iterations with optional calls."""
    program, sent = Program(), optional_calls(random.Random(1), 1000)
    for site in sent:
        program.send(site, site)
    loop = [site for step in range(400) for site in (70, *range(71, 80 + step % 3), 90)]
    for site in loop:
        program.send(site, site)
    trace = program.trace(tmp_path)
    assert counts_of(trace) == sent + loop
    lines = [int(trace.frames[trace.signatures[leaf.signature][0]].split(":")[1]) for leaf in trace.leaves()]
    assert sum(line >= 80 for line in lines) <= 24
