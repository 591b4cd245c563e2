"""Time lines: start and end of each call of a rank, reconstructed from recorded computation and call times.

In: a trace without open receives. Out: calls with times that are consistent across ranks.
"""

from scalatrace.predict.timeline.events import TimedCall, TimedMessage, Timeline
from scalatrace.predict.timeline.times import CallTimes, call_times

__all__ = ["CallTimes", "TimedCall", "TimedMessage", "Timeline", "call_times"]
