"""Statements of a program: loops and branches, messages, collectives.

In: a program tree, and the sets of its tasks. Out: the tree of a coNCePTuaL program.
"""
