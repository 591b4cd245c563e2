"""Schedules of collective algorithms: who sends how many bytes to whom, in which round.

In: operation, algorithm (of `platform.algorithms`), rank, sizes in bytes. Out: the rounds of that rank.
"""

from scalatrace.predict.lowering.schedules.expand import expand, schedule
from scalatrace.predict.lowering.schedules.rounds import Round, Shape

__all__ = ["Round", "Shape", "expand", "schedule"]
