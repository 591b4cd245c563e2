"""Kinds of phases of random programs: pieces of C that end with nothing pending.

A kind is a function that draws its text; `KINDS` has all of them by name. `$n` is the unique name of a phase.
"""

from consumers.phases import collectives, completion, control, messages, probing, storage, wildcards
from consumers.phases.registry import KINDS, Phase, draw_phase

__all__ = ["KINDS", "Phase", "draw_phase"]

_ = (collectives, completion, control, messages, probing, storage, wildcards)  # register their kinds
