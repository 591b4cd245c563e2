"""Execution of a trace without time: mailboxes, requests, collectives, diagnosis of deadlocks.

In: a trace. Out: which calls match, or why none do.
"""
