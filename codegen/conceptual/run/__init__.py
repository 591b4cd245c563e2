"""Interpreter of coNCePTuaL over mpi4py: execution of events, counters, log files, the command line.

In: events. Out: MPI calls, output and log files.
"""
