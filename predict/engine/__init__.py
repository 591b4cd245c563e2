"""The built-in simulator: LogGOPS clocks of all ranks, advanced on the compressed trace.

In: a trace and a platform. Out: clocks, times by call site and rank, sensitivity of the longest path.
"""

from scalatrace.predict.engine.marked_kernels import KernelTimes
from scalatrace.predict.engine.simulate import SimulateOptions, Simulation, simulate

__all__ = ["KernelTimes", "SimulateOptions", "Simulation", "simulate"]
