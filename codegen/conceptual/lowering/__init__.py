"""Lowering of programs to the events of each task.

In: a tree, a number of tasks, parameters. Out: events, and faults found before anything runs.
"""
