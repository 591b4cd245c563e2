"""Times of replays: waits between calls, their scaling, delays, lateness.

In: recorded times in ns. Out: how long a rank waits before a call.
"""
