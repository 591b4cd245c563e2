"""Emitter of coNCePTuaL for programs of any number of tasks (§4.4.5).

In: a program tree of formulas. Out: the tree of a coNCePTuaL program.
"""
