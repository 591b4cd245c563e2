"""Search for cyclic garbage, which takes long where very many objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_collection"]


@contextmanager
def without_collection() -> Iterator[None]:
    """Stop the search for cyclic garbage: trees have no cycles, and the search visits all their nodes.

    Move new objects to the oldest generation at the end, so later collections skip them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # unfreeze() would undo what the user froze
                gc.freeze()
                gc.unfreeze()
            gc.enable()
