"""Tune the collectives of an MPI library for a program: measure its calls with each algorithm, make rules.

In: a trace, and as many ranks as it has. Out: a `TuneResult`, whose rules the library's own file holds.
`run.py` has the steps.
"""
