"""Table of contents from the links of docs/index.md, so that no second list of pages is kept.

Each heading with links to pages becomes a group of the side bar.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True}


def _add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "index":
        source[0] += "".join(toctree(title, pages) for title, pages in groups(source[0]))


def groups(text: str) -> list[tuple[str, list[str]]]:
    """Return the headings of a page, each with the pages of this folder that its section links to."""
    sections = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    linked = [re.findall(r"\]\((?!\.\.|http)([\w/-]+)\.md\)", section) for section in sections[1::2]]
    return [(title, pages) for title, pages in zip(sections[::2], linked, strict=True) if pages]


def toctree(title: str, pages: list[str]) -> str:
    """Return the directive of one group."""
    entries = "\n".join(dict.fromkeys(pages))
    return f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"
