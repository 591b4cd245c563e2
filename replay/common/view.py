"""Calls of the walk, and views of them with other parameters. Handlers take both."""

from __future__ import annotations

from typing import Any

from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.tables import Communicator

__all__ = ["AnyCall", "View"]


class View:
    """A call (or another view) of which a subclass changes parameters; everything else is the call's.

    Attributes:
        op: operation, without `MPI_`.
        values: equal for equal calls of a place.
    """

    __slots__ = ("_call", "op", "values")

    def __init__(self, call: AnyCall, op: str = "", values: tuple[Any, ...] = ()) -> None:
        self._call = call
        self.op: str = op or call.op
        self.values: tuple[Any, ...] = values or call.values

    @property
    def place(self) -> CompiledEvent:
        """The event node as this rank sees it."""
        return self._call.place

    @property
    def comm(self) -> Communicator:
        """The call's communicator."""
        return self._call.comm

    @property
    def family(self) -> int:
        """Family of the call's communicator."""
        return self._call.family

    def __contains__(self, name: object) -> bool:
        return name in self._call

    def __getitem__(self, name: str) -> Any:
        """A parameter: int, Communicator, Datatype, str or tuple of ints. Raises KeyError."""
        return self._call[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter, or the default when the operation has none of that name."""
        return self[name] if name in self._call else default


AnyCall = Call | View
"""A call of the walk, or one with other parameters."""
