"""Event snippets: the language, its state machine, and their application to the calls of a rank (§3.2.4).

`scalatrace.extrap.lossy.snippets.parse` reads them from files.
"""

from scalatrace.extrap.lossy.snippets.tree import Snippets

__all__ = ["Snippets"]
