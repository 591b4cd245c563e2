"""Errors of replays."""

from scalatrace.errors import ScalatraceError


class ReplayError(ScalatraceError):
    """MPI returned an error, or did something else than recorded."""


class UnsupportedError(ScalatraceError):
    """The trace holds operations that have no handler; none of its calls was issued."""


class MissingError(ScalatraceError):
    """A call uses a communicator that no call of the trace makes; none was issued."""


class AloneError(ScalatraceError):
    """Some calls of a selected part of a program have no partner in it; none was issued."""


class ThreadsError(ScalatraceError):
    """Several threads of a rank made calls; none was issued."""


class RanksError(ScalatraceError):
    """The replay runs on another number of ranks than the program did."""

    exit_status = 2
