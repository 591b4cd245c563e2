"""Configuration of Sphinx for the documentation (`make docs`)."""

from __future__ import annotations

import sys
from pathlib import Path

import scalatrace

sys.path.insert(0, str(Path(__file__).parent))

project = "scalatrace"
author = "the scalatrace developers"
version = release = scalatrace.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "extensions.command_reference",
    "extensions.contents",
    "extensions.docstrings",
    "extensions.repository_links",
]
exclude_patterns = ["pictures", "extensions"]
smartquotes = False

html_theme = "furo"
html_title = f"scalatrace {release}"
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "source_repository": "https://github.com/scalatrace/scalatrace/",
    "source_branch": "main",
    "source_directory": "docs/",
}

# Blocks without a language are terminal sessions; anchors are those of the code host.
highlight_language = "console"
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

# Docstrings: the style of Google; names between single backticks are code.
default_role = "literal"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
