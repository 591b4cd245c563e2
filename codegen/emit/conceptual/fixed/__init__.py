"""Emitter of coNCePTuaL for the number of ranks of a recorded trace (§4.4.2).

In: a program tree. Out: the tree of a coNCePTuaL program.
"""
