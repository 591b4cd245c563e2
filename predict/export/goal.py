"""GOAL: schedules of messages and computations, for LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine 2009).

Computations are in whole nanoseconds; what is cut off is added to the next. A message without content has one
byte, since the simulator computes with size - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from scalatrace.predict.export.order import Dependencies, ProgramOrder
from scalatrace.predict.lowering import (
    CollectiveAction,
    Computation,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)

__all__ = ["GOAL", "lines", "write_goal"]

GOAL = LoweringTarget()


def write_goal(lowering: TraceLowering, file: IO[bytes]) -> None:
    """Write the schedule of all ranks."""
    file.write(f"num_ranks {len(lowering.ranks)}\n".encode())
    for number, rank in enumerate(lowering.ranks):
        file.write(f"rank {number} {{\n".encode())
        file.writelines(f"{line}\n".encode() for line in lines(lowering, rank))
        file.write(b"}\n")


def lines(lowering: TraceLowering, rank: int) -> Iterator[str]:
    """Yield the statements of a rank."""
    order, rest_ns = ProgramOrder(), 0.0
    for action in lowering.actions(rank):
        match action:
            case Computation(ns):
                rest_ns += ns
                whole_ns, rest_ns = int(rest_ns), rest_ns - int(rest_ns)
                if whole_ns:
                    yield from _statement(order, order.blocking(), f"calc {whole_ns}")
            case SendMessage() | RecvMessage():
                needs = order.blocking() if action.request is None else order.nonblocking(action.request)
                yield from _statement(order, needs, _message(action))
            case WaitAction(requests):
                order.wait(requests)
            case CollectiveAction():
                raise AssertionError("GOAL has no collectives")


def _message(message: SendMessage | RecvMessage) -> str:
    verb, side = ("send", "to") if isinstance(message, SendMessage) else ("recv", "from")
    return f"{verb} {max(message.nbytes, 1)}b {side} {message.peer} tag {message.tag}"


def _statement(order: ProgramOrder, needs: Dependencies, text: str) -> Iterator[str]:
    yield f"l{order.last}: {text}"
    yield from (f"l{order.last} requires l{number}" for number in needs.ended)
    if needs.begun is not None:
        yield f"l{order.last} irequires l{needs.begun}"
