"""Rounds of a schedule, one after another."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from scalatrace.predict.lowering.schedules import RoundShape, schedule

__all__ = ["Round", "list_rounds"]


class Round(NamedTuple):
    """Messages of one rank that are under way together.

    Attributes:
        sends, recvs: rank in the communicator and bytes of each message.
        reduced_bytes: bytes that the operator of a reduction combines after the round.
    """

    sends: tuple[tuple[int, int], ...]
    recvs: tuple[tuple[int, int], ...]
    reduced_bytes: int


def list_rounds(algorithm: str, shape: RoundShape) -> list[Round]:
    """Return the rounds of a rank in which it sends or receives."""
    rounds = []
    for _, group in groupby(schedule(algorithm, *shape).tolist(), key=itemgetter(0)):
        steps = list(group)
        sends = tuple((to, sent) for _, to, _, _, sent, _ in steps if to >= 0)
        recvs = tuple((source, received) for _, _, source, _, _, received in steps if source >= 0)
        rounds.append(Round(sends, recvs, sum(step[5] for step in steps if step[3])))
    return [each for each in rounds if each.sends or each.recvs]
