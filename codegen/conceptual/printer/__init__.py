"""Printer of coNCePTuaL.

In: a tree. Out: its text, as a person would write it.
"""
