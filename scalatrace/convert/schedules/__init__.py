"""Conversion of schedules (GOAL, Chakra) into traces.

In: a graph of operations of each rank. Out: the calls of each rank, in an order in which the graph can run.
"""
