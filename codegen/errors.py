"""Errors of benchmark generation, each as one line for the user."""

from collections.abc import Sequence

from scalatrace.codegen.foreign import Foreign
from scalatrace.errors import ScalatraceError
from scalatrace.escapes import clean


class GenerateError(ScalatraceError):
    """The language cannot express the trace; no file was written."""


class NameLeakError(ScalatraceError):
    """An obfuscated program would hold a name of the trace; no file was written."""


def make_rejection(text: str, language: str, why: str, line: int | None) -> GenerateError:
    """Return the error for a text that its language rejects, with the rejected line."""
    lines = text.split("\n")
    shown = f", line {line}: {lines[line - 1].strip()[:160]}" if line and line <= len(lines) else ""
    return GenerateError(f"internal error: the generated text is no {language} ({why}){shown}")


def cannot_write(op: str, site: Sequence[Foreign], language: str, reason: object) -> GenerateError:
    """Return the error for a call that a language cannot express, with the languages that can."""
    advice = "; use --to c or --to python" if language == "conceptual" else ""
    return GenerateError(f"cannot write MPI_{op}{where(site)} to {language}: {reason}{advice}")


def wrong_call(op: str, site: Sequence[Foreign], reason: object) -> GenerateError:
    """Return the error for a call that no language can express."""
    return GenerateError(f"MPI_{op}{where(site)}: {reason}")


def where(site: Sequence[Foreign]) -> str:
    """Return the innermost frame of a call, for messages."""
    return f" at {clean(site[0].raw)}" if site else ""
