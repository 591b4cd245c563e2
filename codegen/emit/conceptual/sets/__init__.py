"""Sets of tasks, and what expressions are for each set: for the ranks of a trace, and for any grid of tasks.

In: a program tree. Out: conditions, expressions and communicators that statements are made of.
"""
