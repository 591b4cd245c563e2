"""What can go wrong when a benchmark is generated, as one line for the user."""

from collections.abc import Sequence

from scalatrace.errors import ScalatraceError


class GenerateError(ScalatraceError):
    """The trace cannot become a program in the language; nothing was written."""


class LeakError(ScalatraceError):
    """An obfuscated program would still hold a name of the trace; nothing was written."""


def refused(text: str, language: str, why: str, line: int | None) -> GenerateError:
    """Return the error for a text that its language refuses, with the line: a call, and where it is from."""
    lines = text.split("\n")
    shown = f", line {line}: {lines[line - 1].strip()[:160]}" if line and line <= len(lines) else ""
    return GenerateError(f"internal error: the generated text is no {language} ({why}){shown}")


def where(site: Sequence[str]) -> str:
    """The innermost frame of a call, for messages."""
    return f" at {site[0]}" if site else ""
