"""Traces as given, and written again: bytes, and what the rounding of histograms in columns changes.

Simulated times, with mean computations and with drawn ones, are those of a replay on a machine without noise.

python -m benchmarks.rewritten cg.16.st lu.16.st [--keep]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.given import table_of_traces
from benchmarks.simulate import PLATFORM
from benchmarks.table import grouped
from scalatrace import Trace, load
from scalatrace.predict.engine.simulate import Options, Simulator
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.values.histogram import Histogram

COLUMNS = (
    "trace", "bytes given", "written again", "ratio", "total time off by", "mean off by", "drawn mean off by",
    "longest call off by", "simulated time off by", "drawn off by",
)  # fmt: skip
TITLE = "Traces written again"
DRAWS = 20  # simulated runs with drawn times


def main() -> int:
    """Write, compare, print; 2 if an argument is no file."""
    return 0 if table_of_traces(__doc__, "rewritten", TITLE, COLUMNS, compared) is not None else 2


def compared(path: Path) -> Iterator[str]:
    """The columns of a trace."""
    given = load(path)
    written = pack_container(pack_payload(given), True)
    again = loads(written)
    pairs = list(zip(times(given), times(again), strict=True))
    before, after = (sum(h.total for h in side) for side in zip(*pairs, strict=True))
    size = path.stat().st_size
    yield from (path.stem, grouped(size), grouped(len(written)), f"{len(written) / size:.2f}")
    yield share(abs(after - before) / before)
    yield share(max(off(old.mean, new.mean) for old, new in pairs))
    yield share(max(off(old.mean, drawn_mean(new)) for old, new in pairs))
    yield share(max(off(old.max, new.max) for old, new in pairs))
    yield from (share(off(*simulated_ns(given, again, drawn))) for drawn in (False, True))


def simulated_ns(given: Trace, again: Trace, drawn: bool) -> tuple[float, float]:
    """Simulated run times of both; of drawn times the mean of several runs."""
    runs = [Options(drawn=drawn, seed=seed) for seed in range(DRAWS if drawn else 1)]
    simulators = Simulator(given), Simulator(again)
    before, after = (statistics.fmean(s.run(PLATFORM, run).time_ns for run in runs) for s in simulators)
    return before, after


def times(trace: Trace) -> Iterator[Histogram]:
    """All histograms of times, in the order of the nodes."""
    for event in trace.leaves():
        for stats in event.stats:
            yield from (h for h in stats.histograms[:2] if h is not None)


def drawn_mean(histogram: Histogram) -> float:
    """The mean of what a replay draws."""
    bins = histogram.drawn_bins
    return sum(b.count * b.mean for b in bins) / sum(b.count for b in bins)


def off(old: float, new: float) -> float:
    """The relative error; 0 for what is less than a microsecond, where integers are rounded."""
    return abs(new - old) / old if old >= 1000 else 0.0


def share(part: float) -> str:
    """A percentage."""
    return f"{100 * part:.3f} %"


if __name__ == "__main__":
    sys.exit(main())
