"""Lowering: the calls of a trace as messages between world ranks, for tools that know little of MPI.

In: a trace without open receives. Out: per rank, a stream of computation, messages, waits and collectives of
all ranks; and an account of what was lowered and what is lost.
"""

from scalatrace.predict.lowering.actions import (
    CollectiveAction,
    Computation,
    LoweredAction,
    LoweredStep,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    WaitAction,
)
from scalatrace.predict.lowering.lower import TraceLowering
from scalatrace.predict.lowering.report import Account, Outcome
from scalatrace.predict.lowering.streams import LoweredStreams

__all__ = [
    "Account",
    "CollectiveAction",
    "Computation",
    "LoweredAction",
    "LoweredStep",
    "LoweredStreams",
    "LoweringTarget",
    "Outcome",
    "RecvMessage",
    "SendMessage",
    "TraceLowering",
    "WaitAction",
]  # fmt: skip
