"""The handlers, by chapter of the MPI standard. Importing this registers them all.

A handler gets the rank and one event of the walk, and issues the call that the event describes: the
arguments of the C binding in its order, taken from the event's parameters of the same names.
"""

from scalatrace.replay.calls import (
    collectives,
    communicators,
    environment,
    files,
    onesided,
    p2p,
    requests,
    topologies,
)

__all__ = [
    "collectives",
    "communicators",
    "environment",
    "files",
    "onesided",
    "p2p",
    "requests",
    "topologies",
]
