"""Whether the ranks of a trace can come to wait for each other (dissertation §4.4.4).

The trace is executed without time, several times: with buffered sends and messages from any source chosen in
turns, by the lowest and by the highest rank, and by whom other receives wait for; then with sends that wait
for their receives. What is found is there; what is not found may be there still: not every order is tried,
since their number is beyond all bounds, and a trace holds what one run did (which rank a manager answered,
say). Polls (`MPI_Test`, `MPI_Iprobe`) block nobody: a rank that would poll in vain goes on.
"""

from __future__ import annotations

from dataclasses import replace

from scalatrace.codegen.matching.diagnosis.diagnose import count_unmatched
from scalatrace.codegen.matching.diagnosis.report import MatchingProblem, MatchingReport
from scalatrace.codegen.matching.wildcards import ExecutionPlan
from scalatrace.executor.matching import MatchExecution, SenderPolicy
from scalatrace.trace.consistency.failed import repeatable
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.explicit import explicit

__all__ = ["check_deadlock"]

MAX_CHECKED_STEPS = 500_000
"""Calls up to which every system of choosing senders is tried; beyond, only the most dangerous one."""


def check_deadlock(trace: Trace, synchronous: bool = True) -> MatchingReport | None:
    """The first problem found, gravest first; None when there is none.

    A deadlock that needs a choice of senders says which (`MatchingReport.choices`); one that needs sends
    without buffers is MatchingProblem.UNSAFE. Messages that nobody receives are a problem too.

    Args:
        synchronous: whether to look for deadlocks that only sends without buffers bring.

    Costs one execution where senders are certain and nothing is found, else up to five.

    Raises:
        UsageError: the trace does not know its peers or tags.
    """
    trace = explicit(repeatable(trace))
    plan = ExecutionPlan(trace)
    certain = plan.is_certain()
    careful, problem = SenderPolicy.CAREFUL, None
    if certain and synchronous:
        strict, problem = plan.execute(careful, synchronous=True, polls_wait=False)
        if problem is None:  # with buffers ranks wait less, and the same messages meet
            return _left_over(strict)
    first, deadlock = plan.execute(careful, synchronous=False, polls_wait=False)
    if deadlock is not None:
        return deadlock
    if not certain:
        few = first.steps <= MAX_CHECKED_STEPS
        policies = (SenderPolicy.ADVERSE, SenderPolicy.LOWEST, SenderPolicy.HIGHEST)
        for policy in policies if few else policies[:1]:
            _, deadlock = plan.execute(policy, synchronous=False, polls_wait=False)
            if deadlock is not None:
                return deadlock
    unmatched = _left_over(first)
    if unmatched is None and synchronous:
        if not certain:
            _, problem = plan.execute(careful, synchronous=True, polls_wait=False)
        return problem and replace(problem, problem=MatchingProblem.UNSAFE)
    return unmatched


def _left_over(execution: MatchExecution) -> MatchingReport | None:
    messages = count_unmatched(execution)
    return MatchingReport(MatchingProblem.UNMATCHED, unmatched=messages) if messages else None
