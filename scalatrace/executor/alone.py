"""Check whether the recorded part of a program can run alone: each call finds its partners in the trace."""

from __future__ import annotations

from scalatrace.errors import LimitError, UsageError
from scalatrace.executor.matching import MatchExecution, Matching, SenderPolicy
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.consistency.failed import repeatable
from scalatrace.trace.consistency.partial import part_note
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.explicit import explicit

__all__ = ["why_not_alone"]


def why_not_alone(trace: Trace) -> str:
    """Return in one line why a trace of a part of a program cannot run; "" where it can, or has all calls.

    Numbers and sizes are compared first, whose messages are clearer. Then the calls are executed without
    time, which finds ranks that wait for ever. What was recorded as histograms is not compared.
    """
    note, trace = part_note(trace), repeatable(trace)
    missing = note and (first_conflict(trace) or _first_wait(trace))
    return f"{note}, and the trace cannot run alone: {missing}" if missing else ""


def _first_wait(trace: Trace) -> str:
    try:
        execution = Matching(explicit(trace)).execute(SenderPolicy.CAREFUL, synchronous=False)
    except (UsageError, LimitError):
        return ""
    if execution.mismatch:
        (rank, event), (other_rank, other_event) = execution.mismatch[:2]
        first, second = _describe(execution, event), _describe(execution, other_event)
        return f"rank {rank} calls {first} where rank {other_rank} calls {second}"
    wait = next(iter(execution.waits()), None)
    return f"rank {wait.rank} waits for ever in {_describe(execution, wait.event)}" if wait else ""


def _describe(execution: MatchExecution, event: Event) -> str:
    trace = execution.trace
    stack = trace.stack(event.signature)
    return f"MPI_{trace.ops[event.op].name}" + (f" at {stack[0]}" if stack else "")
