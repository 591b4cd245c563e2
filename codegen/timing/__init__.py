"""Computation times of programs: the preceding call, its schedule, means per rank, imbalance (§4.3).

In: a trace and its statistics. Out: durations of computations.
"""
