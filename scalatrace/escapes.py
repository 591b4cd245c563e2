"""Texts from files on a terminal: control characters are shown, not sent."""

__all__ = ["LINES", "clean"]

LINES = "\n\t"
"""Control characters of messages with several lines."""


def clean(text: str, keep: str = "") -> str:
    """Return a text with its control characters escaped, but for those to keep."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else f"\\x{ord(c):02x}" for c in text)
