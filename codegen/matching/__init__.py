"""Which calls of a trace belong together: collectives across ranks, receives and their senders, deadlocks."""

from codegen.matching.align import align_collectives, needs_alignment
from codegen.matching.deadlock import check_deadlock
from codegen.matching.immediate import must_be_late, with_late_collectives
from codegen.matching.report import DeadlockError, Problem, Report
from codegen.matching.wildcards import has_wildcards, resolve_wildcards

__all__ = [
    "DeadlockError",
    "Problem",
    "Report",
    "align_collectives",
    "check_deadlock",
    "has_wildcards",
    "must_be_late",
    "needs_alignment",
    "resolve_wildcards",
    "with_late_collectives",
]
