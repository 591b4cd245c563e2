"""Time lines: start and end of each call of a rank, reconstructed from recorded computation and call times.

In: a trace without open receives. Out: calls with times that are consistent across ranks.
"""

from scalatrace.predict.timeline.events import Timeline, TimelineEvent, TimelineMessage
from scalatrace.predict.timeline.lines import Line
from scalatrace.predict.timeline.times import TimelineTimes, call_times

__all__ = ["Line", "Timeline", "TimelineEvent", "TimelineMessage", "TimelineTimes", "call_times"]
