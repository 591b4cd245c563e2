"""Start-up and shut-down of a program: their times, and a trace without these times."""

from scalatrace.trace.phases.find import at_one_point, find_phases, leave_out_phases, run_load

__all__ = ["at_one_point", "find_phases", "leave_out_phases", "run_load"]
