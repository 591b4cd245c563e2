"""Replay by a compiled program: run a library of generated C in this process.

In: C text that `codegen` wrote for a host, the MPI that this process has loaded. Out: calls, times and bytes
of a rank by operation and communicator.
"""

from scalatrace.compilers.generated import LibraryKind

__all__ = ["REPLAY"]

REPLAY = LibraryKind(
    "replay", "the compiled replay", "this replay", "compiling the replay (kept for the next one)"
)
