"""Run all ranks of a trace, in C++ on its compressed form, each until it waits for others.

In: a trace and costs of messages. Out: clocks, and times by call and rank.
"""
