"""Which calls of a trace belong together: collectives across ranks, receives and their senders, deadlocks."""

from scalatrace.codegen.matching.alignment.align_collectives import align_collectives, needs_alignment
from scalatrace.codegen.matching.deadlock import check_deadlock
from scalatrace.codegen.matching.diagnosis.report import MatchingError, MatchingProblem, MatchingReport
from scalatrace.codegen.matching.immediate import must_be_late, with_late_collectives
from scalatrace.codegen.matching.wildcards import has_unnamed_senders, has_wildcards, resolve_wildcards

__all__ = [
    "MatchingError", "MatchingProblem", "MatchingReport", "align_collectives", "check_deadlock",
    "has_unnamed_senders", "has_wildcards", "must_be_late", "needs_alignment", "resolve_wildcards",
    "with_late_collectives",
]  # fmt: skip
