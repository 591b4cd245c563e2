"""What a reporter prints."""

from __future__ import annotations

import io

from rich.console import Console


def drawn(reporter: object, width: int = 160) -> str:
    """The text of a reporter on a console of this width."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    reporter.render(console)  # type: ignore[attr-defined]
    return console.file.getvalue()  # type: ignore[attr-defined]
