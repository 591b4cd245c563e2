"""What can go wrong when a benchmark is generated, as one line for the user."""

from collections.abc import Sequence

from scalatrace.errors import ScalatraceError


class GenerateError(ScalatraceError):
    """The trace cannot become a program in the language; nothing was written."""


class LeakError(ScalatraceError):
    """An obfuscated program would still hold a name of the trace; nothing was written."""


def where(site: Sequence[str]) -> str:
    """The innermost frame of a call, for messages."""
    return f" at {site[0]}" if site else ""
