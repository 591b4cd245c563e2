"""Runs of one program on several numbers of ranks: efficiencies, growth by call site, what dominates beyond.

In: traces, and the times of their runs on a network that takes no time. Out: plain data for the page.
"""
