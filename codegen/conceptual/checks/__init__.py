"""Checks of a parsed program: names, messages, and what can be judged without running it.

In: a tree. Out: nothing, or ProgramErrors.
"""
