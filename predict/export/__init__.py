"""Exports: traces in the formats of simulators.

In: a lowered trace. Out: files of GOAL, SimGrid or Chakra.
"""
