"""Times of all calls in a simulated run, for time lines."""

from __future__ import annotations

from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.platform import Platform
from scalatrace.predict.timeline.lines import TimelineLines
from scalatrace.predict.timeline.times import TimelineTimes

__all__ = ["simulated_times"]

_PS = 1000


def simulated_times(
    lines: TimelineLines, platform: Platform, options: SimulateOptions | None = None
) -> list[TimelineTimes]:
    """Return the times of all lines in a run of the whole trace on a platform, in their order.

    Times are whole ns. A call begins at least 1 ns after the end of the one before it, and takes at least
    1 ns, as the formats of viewers need it; so calls that take no time may move by some ns.

    Raises:
        ScalatraceError: the trace cannot be simulated, or has more calls than `CallLog` keeps.
    """
    trace = lines.lowering.trace
    simulator = Simulator(trace)
    log = CallLog(trace, simulator.program, lines.lines)
    simulator.run(platform, options, call_log=log)
    return [_whole_ns(log.of(rank, thread).tolist()) for rank, thread in lines.lines]


def _whole_ns(times_ps: list[list[int]]) -> TimelineTimes:
    result, last_ns = TimelineTimes(), -1
    for start_ps, end_ps in times_ps:
        start_ns = max(round(start_ps / _PS), last_ns + 1)
        last_ns = max(round(end_ps / _PS), start_ns + 1)
        result.starts.append(start_ns)
        result.ends.append(last_ns)
    return result
