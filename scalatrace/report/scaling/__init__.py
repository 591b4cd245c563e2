"""Runs of one program on several numbers of ranks: efficiencies, growth by call site, what dominates beyond.

In: recorded traces, and the times of their runs on a network that takes no time; or the times of call sites
in the inputs of an extrapolation. Out: plain data for the page.
"""
