"""Links from pages to files outside docs/ lead to the code host, as these files are no pages."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from sphinx.application import Sphinx

REPOSITORY = "https://github.com/scalatrace/scalatrace/blob/main"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _redirect)
    return {"parallel_read_safe": True}


def _redirect(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = redirected(source[0], posixpath.dirname(f"docs/{docname}"))


def redirected(text: str, folder: str) -> str:
    """Return a page of a folder of the repository with its links out of docs/ replaced."""

    def replace(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        inside = path.startswith("docs/")
        return match[0] if inside else f"]({REPOSITORY}/{path}{match[2] or ''})"

    return re.sub(r"\]\((\.\.[^)#\s]*)(#[^)\s]*)?\)", replace, text)
