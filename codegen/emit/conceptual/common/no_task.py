"""The number in place of MPI_PROC_NULL: no message goes to a task with a negative number."""

from scalatrace.trace.values.vec import PROC_NULL

__all__ = ["NO_TASK"]

NO_TASK = PROC_NULL
