"""Options, errors, what-if factors and call counters of replays.

In: nothing of the folders beside it. Out: the types that all of them share.
"""
