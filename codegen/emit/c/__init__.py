"""Emitter of C with MPI.

In: a program tree. Out: the text of one C file.
"""
