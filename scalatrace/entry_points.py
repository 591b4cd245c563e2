"""Entry points of installed packages, by group; groups of earlier versions are still read, with a warning."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points

__all__ = ["registered"]


def registered(group: str, old_group: str) -> list[EntryPoint]:
    """Return the entry points of a group, those of its old name behind them.

    Each entry point of the old group is reported on standard error with the name to use.
    """
    current = list(entry_points(group=group))
    names = {entry.name for entry in current}
    former = [entry for entry in entry_points(group=old_group) if entry.name not in names]
    for entry in former:
        package = entry.dist.name if entry.dist is not None else entry.value
        print(
            f"scalatrace: warning: {package} registers {entry.name!r} in the entry-point group "
            f"{old_group!r}; "
            f"rename it to {group!r}",
            file=sys.stderr,
        )
    return [*current, *former]
