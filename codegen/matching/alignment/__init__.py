"""Collective calls of several call sites aligned into one (§4.4.3, Algorithm 2).

In: a trace. Out: a trace in which each collective call is one node.
"""
