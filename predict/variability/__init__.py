"""Variability: the slowest rank of each interval of a bulk-synchronous program, and partitioned messages.

In: a trace or a table of times. Out: samples of interval maxima, and the model of partitioned communication
(Dominguez-Trujillo 2021, chapters 3 and 4).
"""

from scalatrace.predict.variability.intervals import ComputeInterval, intervals, synchronises
from scalatrace.predict.variability.maxima import maxima_of, read_times, spread_of_ranks
from scalatrace.predict.variability.partitioned import (
    PartitionedSend,
    ThreadTimes,
    max_rate,
    partitioned_send,
    postal,
    single_send,
)

__all__ = [
    "ComputeInterval", "PartitionedSend", "ThreadTimes", "intervals", "max_rate", "maxima_of",
    "partitioned_send", "postal", "read_times", "single_send", "spread_of_ranks", "synchronises",
]  # fmt: skip
