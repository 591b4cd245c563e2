"""Replay by a compiled program: build a library of generated C once, run it in this process.

In: C text that `codegen` wrote for a host, the MPI that this process has loaded. Out: calls, times and bytes
of a rank by operation and communicator.
"""
