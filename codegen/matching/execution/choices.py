"""Whose message a receive from any source gets, when there are several."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ADVERSE",
    "CAREFUL",
    "FAIR",
    "HIGHEST",
    "IN_TURNS",
    "LOWEST",
    "Candidate",
    "SenderPolicy",
    "shuffled",
]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sender whose message a receive could take.

    Attributes:
        source: world rank.
        spare: messages left of it that no receive with a certain sender needs.
        allowed: whether all other receives still get a message, if this one takes it.
        hinted: the receiver's next calls suggest that it was this one, as the answer of a manager does.
        chosen: how often this receive has taken a message from there.
        when: its call, in the order of the program's text and iterations; earlier is less.
        distance: from the receiver up to the sender, modulo the number of ranks.
    """

    source: int
    spare: int
    allowed: bool
    hinted: bool
    chosen: int
    when: Any
    distance: int


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    """Takes the candidate of least `order`; a sparing one none whose messages others need, unless forced."""

    name: str
    order: Callable[[Candidate], Any]
    sparing: bool

    def choose(self, candidates: Sequence[Candidate], forced: bool) -> Candidate | None:
        """The best candidate; None for rather none of them."""
        allowed = candidates if forced or not self.sparing else [c for c in candidates if c.allowed]
        return min(allowed, key=self.order, default=None)


CAREFUL = SenderPolicy("careful", lambda c: (not c.hinted, c.when, c.chosen, c.distance), sparing=True)
"""Follows the recorded run where that shows; else messages in the order of the program's text and iterations,
and of those sent by one line in one iteration in turns: the same relative sources in every iteration."""

IN_TURNS = SenderPolicy("in turns", lambda c: (not c.hinted, c.chosen, c.distance), sparing=True)
FAIR = SenderPolicy("fair", lambda c: (c.when, c.chosen, c.distance), sparing=True)
LOWEST = SenderPolicy("lowest", lambda c: c.source, sparing=False)
HIGHEST = SenderPolicy("highest", lambda c: -c.source, sparing=False)
ADVERSE = SenderPolicy("adverse", lambda c: (c.spare, c.source), sparing=False)
"""Takes what other receives need, if it may: the way into a deadlock that MPI allows."""


def shuffled(seed: int) -> SenderPolicy:
    """A policy that draws; the same seed draws the same."""
    draw = random.Random(seed)
    return SenderPolicy(
        "shuffled", lambda c: (not c.hinted and draw.random() < 0.5, draw.random()), sparing=True
    )
