"""Emitter of Python over mpi4py.

In: a program tree. Out: the text of one Python file.
"""
