"""Compiler from coNCePTuaL to C.

In: a checked tree. Out: the text of one C file; `runtime/` is the library that it carries.
"""
