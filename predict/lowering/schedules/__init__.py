"""Schedules of collective algorithms: who sends how many bytes to whom, in which round.

In: operation, algorithm (of `platform.algorithms`), rank, sizes in bytes. Out: the rounds of that rank.
"""

from scalatrace.predict.lowering.schedules.expand import expand, schedule, used_algorithm
from scalatrace.predict.lowering.schedules.rounds import CollectiveShape, Round

__all__ = ["CollectiveShape", "Round", "expand", "schedule", "used_algorithm"]
