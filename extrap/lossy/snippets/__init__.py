"""Event snippets: a small language, its machine, and what both do to the calls of a rank (§3.2.4).

`extrap.lossy.snippets.parse` reads them from files.
"""

from extrap.lossy.snippets.tree import Snippets

__all__ = ["Snippets"]
