"""GOAL: schedules of messages and computations, for LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine 2009).

Computations are in whole nanoseconds; what is cut off is added to the next. A message without content has one
byte, since the simulator computes with size - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from scalatrace.predict.export.order import Dependencies, Order
from scalatrace.predict.lowering import Collective, Computation, Lowering, LoweringTarget, Recv, Send, Wait

__all__ = ["GOAL", "lines", "write_goal"]

GOAL = LoweringTarget()


def write_goal(lowering: Lowering, file: IO[bytes]) -> None:
    """Write the schedule of all ranks."""
    file.write(f"num_ranks {len(lowering.ranks)}\n".encode())
    for number, rank in enumerate(lowering.ranks):
        file.write(f"rank {number} {{\n".encode())
        file.writelines(f"{line}\n".encode() for line in lines(lowering, rank))
        file.write(b"}\n")


def lines(lowering: Lowering, rank: int) -> Iterator[str]:
    """Yield the statements of a rank."""
    order, rest_ns = Order(), 0.0
    for action in lowering.actions(rank):
        match action:
            case Computation(ns):
                rest_ns += ns
                whole, rest_ns = int(rest_ns), rest_ns - int(rest_ns)
                if whole:
                    yield from _statement(order, order.blocking(), f"calc {whole}")
            case Send() | Recv():
                needs = order.blocking() if action.request is None else order.nonblocking(action.request)
                yield from _statement(order, needs, _message(action))
            case Wait(requests):
                order.wait(requests)
            case Collective():
                raise AssertionError("GOAL has no collectives")


def _message(message: Send | Recv) -> str:
    verb, side = ("send", "to") if isinstance(message, Send) else ("recv", "from")
    return f"{verb} {max(message.nbytes, 1)}b {side} {message.peer} tag {message.tag}"


def _statement(order: Order, needs: Dependencies, text: str) -> Iterator[str]:
    yield f"l{order.last}: {text}"
    yield from (f"l{order.last} requires l{each}" for each in needs.ended)
    if needs.begun is not None:
        yield f"l{order.last} irequires l{needs.begun}"
