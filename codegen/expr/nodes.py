"""What expressions and conditions are made of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "FALSE", "TRUE", "AllOf", "AnyOf", "Binary", "Called", "Choose", "Compare", "Cond", "Const", "Expr",
    "Item", "Member", "Own", "Size", "Truth", "Var",
]  # fmt: skip


class _Hashed:
    """Remembers its hash, limits and length: expressions hold expressions, the same one many times over."""

    __slots__ = ("_bounds", "_hash", "_length")
    _hash: int
    _bounds: tuple[int, int] | None
    _length: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            names: tuple[str, ...] = type(self).__slots__
            found = hash((type(self).__name__, *(getattr(self, name) for name in names)))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Const:
    """An integer; one below `SPECIAL_MAX` is a constant of MPI."""

    value: int


@dataclass(frozen=True, slots=True)
class Var:
    """A variable from `least` to below `limit` (None: nobody knows).

    It is a loop's, `rank` in MPI_COMM_WORLD, or of a grid whose size is known at run time only a side, a
    coordinate, or a parameter of the program.
    """

    name: str
    limit: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """This process's rank in the communicator with that number."""

    family: Expr


@dataclass(frozen=True, slots=True)
class Size:
    """How many ranks a peer in the communicator with that number can be."""

    family: Expr


@dataclass(frozen=True, slots=True)
class Binary(_Hashed):
    """`+ - * / % ^ & << >>`, and `//`, which is rounded down; `/` is of numbers that are not negative."""

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Choose(_Hashed):
    """One of two values."""

    cond: Cond
    then: Expr
    otherwise: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Item(_Hashed):
    """An entry of a static table."""

    table: tuple[int, ...]
    index: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Called(_Hashed):
    """A function of numbers: `log2` (rounded down), `min`, `max`, `block` or `diagonal`; see `interpret`."""

    name: str
    arguments: tuple[Expr, ...]
    __hash__ = _Hashed.__hash__


Expr = Const | Var | Own | Size | Binary | Choose | Item | Called


@dataclass(frozen=True, slots=True)
class Truth:
    """Always or never."""

    value: bool


@dataclass(frozen=True, slots=True)
class Compare(_Hashed):
    """`== != < >=` and so on."""

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AllOf(_Hashed):
    """Each of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AnyOf(_Hashed):
    """At least one of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Member(_Hashed):
    """Whether a value is one of a set (or, `outside`, none of it): where no rule was found."""

    expr: Expr
    values: tuple[int, ...]
    outside: bool = False
    __hash__ = _Hashed.__hash__


Cond = Truth | Compare | AllOf | AnyOf | Member
TRUE, FALSE = Truth(True), Truth(False)
