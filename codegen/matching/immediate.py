"""Nonblocking collectives for a language that has blocking ones only: where are they to stand?

All members of a communicator start its collectives in the same order, but may complete them in any. So the
blocking form stands where the application starts the collective, unless ranks would then wait for each other:
where a rank sends or receives in between what others need before they come (as when a barrier says that all
messages have arrived), it stands where the application completes the collective.
"""

from __future__ import annotations

from codegen.matching.choices import CAREFUL
from codegen.matching.scopes import is_collective
from codegen.matching.wildcards import Plan
from scalatrace.errors import UsageError
from scalatrace.ops import operation
from scalatrace.trace.trace import Trace

__all__ = ["must_be_late"]

MOST_EVENTS = 2_000_000
"""Longer traces are not executed: their collectives stand where they start."""


def must_be_late(trace: Trace) -> bool:
    """Whether ranks would wait for each other if nonblocking collectives were blocking where they start.

    Costs O(operations) without such collectives, else one execution (`engine.py`).
    """
    immediate = (op for op in trace.ops if is_collective(op.name) and operation(op.name).nonblocking)
    if next(immediate, None) is None or trace.nevents() > MOST_EVENTS:
        return False
    try:
        return Plan(trace, blocking=True).execute(CAREFUL, synchronous=False).report is not None
    except UsageError:  # peers or tags were not recorded
        return False
