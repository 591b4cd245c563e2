"""Start-up and shut-down of a program: which times belong to them, and a trace without these times."""

from scalatrace.trace.phases.find import find_phases, leave_out_phases

__all__ = ["find_phases", "leave_out_phases"]
