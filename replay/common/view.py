"""What handlers are given in place of an event of the walk when some of its parameters are others."""

from __future__ import annotations

from typing import Any


class View:
    """An event (or another view) of which a subclass changes parameters; everything else is the event's."""

    __slots__ = ("_event",)

    def __init__(self, event: Any) -> None:
        self._event = event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._event, name)

    def __contains__(self, name: object) -> bool:
        return name in self._event

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter, or the default when the operation has none of that name."""
        return self[name] if name in self._event else default

    def __getitem__(self, name: str) -> Any:
        return self._event[name]
