"""Transports that issue calls: MPI, and one in memory for tests.

In: an operation and its arguments. Out: the issued call and its status.
"""
