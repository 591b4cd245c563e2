"""What both C and Python need to name: communicators, datatypes, arrays, constants given by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scalatrace.codegen.emit.text import identifier
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.program.tree import BenchmarkProgram, ProgramArgument, calls
from scalatrace.formula import Const, Item, Lookup, Special, leaves, numbers_in
from scalatrace.predefined import DATATYPES, NO_DATATYPE
from scalatrace.trace.model.tables import Kind

__all__ = [
    "LISTS", "NAMED_CONSTANTS", "ArgumentNames", "list_used", "named_constants", "possible",
    "predefined_name",
]  # fmt: skip

NAMED_CONSTANTS = frozenset({"split_type", "lock_type", "assert", "amode", "whence"})
"""Parameters that hold names of constants of MPI, several of them joined by `|`."""

LISTS = frozenset({"sendtypes", "recvtypes"})
"""Parameters that hold a datatype for each peer; the trace has the struct of them."""

_CONSTANT = re.compile(r"MPI_[A-Z_0-9]+|0|[1-9][0-9]*")
_ARRAY = re.compile(r"A\d+")
PREDEFINED = ("WORLD", "SELF", "NONE")


def possible(argument: ProgramArgument, size: int) -> Iterable[int]:
    """Entries of a table that an argument can mean: those it names, or all where it counts."""
    e = argument.value
    plain = all(isinstance(leaf, Const | Item | Special | Lookup) for leaf in leaves(e))
    return numbers_in(e) if plain else range(size)


def list_used(
    program: BenchmarkProgram,
    kind: Kind,
    names: frozenset[str] | None = None,
    but: frozenset[str] = frozenset(),
) -> list[int]:
    """The entries of a table that the calls refer to, in order.

    Args:
        names: of parameters with these names only, if given.
        but: not of parameters with these names.
    """
    sizes = {
        Kind.COMM: len(program.comms),
        Kind.TYPE: len(program.types),
        Kind.STRING: len(program.strings),
        Kind.ARRAY: len(program.arrays),
    }
    used: set[int] = set()
    for call in calls(program.body):
        for argument in call.arguments:
            named = argument.name not in but and (names is None or argument.name in names)
            if argument.kind is kind and named:
                used.update(i for i in possible(argument, sizes[kind]) if 0 <= i < sizes[kind])
    return sorted(used)


def named_constants(text: Foreign, prefix: str) -> str:
    """An expression of constants of MPI from the trace's `MPI_MODE_CREATE|MPI_MODE_RDWR`.

    Raises:
        GenerateError: it is something else.
    """
    words = text.raw.split("|")
    if not all(_CONSTANT.fullmatch(word) for word in words):
        raise GenerateError(f"{text.raw!r} is not a constant of MPI")
    return " | ".join(re.sub("^MPI_", prefix, word) for word in words)


def predefined_name(name: str) -> str:
    """Return the name of a predefined datatype. Raises GenerateError when it is none."""
    if name == NO_DATATYPE:
        return "MPI_BYTE"
    if name not in DATATYPES:
        raise GenerateError(f"{name!r} is no predefined datatype of MPI")
    return name


class ArgumentNames:
    """Readable names for numbered things, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wish: str) -> str:
        """The name, or with a number behind it."""
        name = identifier(wish)
        if name in self._taken or _ARRAY.fullmatch(name):
            name = next(f"{name}_{n}" for n in range(2, 1 << 30) if f"{name}_{n}" not in self._taken)
        self._taken.add(name)
        return name

    def families(self, program: BenchmarkProgram) -> dict[int, str]:
        """WORLD, SELF, NONE, SPLIT3, ... of the communicators."""
        names = dict(enumerate(PREDEFINED))
        self._taken.update(PREDEFINED)
        for i, family in enumerate(program.comms[3:], 3):
            names[i] = self.new(f"{family.kind.upper()}{i}")
        return names

    def types(self, program: BenchmarkProgram, indices: Iterable[int]) -> dict[int, str]:
        """DOUBLE, VECTOR2, ... of the datatypes."""
        names = {}
        for i in indices:
            head = program.types[i].description.partition("(")[0]
            predefined = head.startswith("MPI_")
            names[i] = self.new(head.removeprefix("MPI_") if predefined else f"{head.upper()}{i}")
        return names
