"""The trees of all ranks of all traces, node by node.

In: the nodes of each trace. Out: aligned nodes, each with its events on the ranks that have it.
"""
