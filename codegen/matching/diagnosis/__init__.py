"""Diagnosis of an execution that cannot finish.

In: a stopped execution. Out: a report of the calls that wait, the cycle among them, and unmatched messages.
"""
