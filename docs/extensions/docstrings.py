"""Indented blocks in docstrings are code, as in this project's Markdown pages."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

BEFORE_NAPOLEON = 400
"""Priority of the listener: napoleon indents the sections `Args:` and the like, at 500."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _mark_code, priority=BEFORE_NAPOLEON)
    return {"parallel_read_safe": True}


def _mark_code(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    lines[:] = with_marked_code(lines)


def with_marked_code(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with `::` before each indented block that follows an empty line."""
    result: list[str] = []
    indented = False
    for number, line in enumerate(lines):
        starts = line.startswith("    ") and number > 0 and not lines[number - 1].strip()
        if starts and not indented:
            result += ["::", ""]
        if line.strip():
            indented = line.startswith("    ")
        result.append(line)
    return result
