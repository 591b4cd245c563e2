"""The library's C functions in two forms: counts that an int holds, and larger ones (MPI 4's `MPI_Send_c`).

One text makes both. What differs between them is marked in it:

    $count            int                    long
    $_c               nothing                _c, behind the name of what has two forms
    $at(array, i)     arrays[array].at[i]    element(array, i)
    $counts(array)    arrays[array].at       counts_of(array)
    $places(array)    arrays[array].at       places_of(array)

A piece without marks is the same for both. The large form of an operation is named as MPI names it: `Send_c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from scalatrace.codegen.emit.pieces import LibraryPiece, RuntimeLibrary, library
from scalatrace.formula import Binary, Called, Choose, Const, Item, Lookup, Select, Value, number_bounds

__all__ = ["INT_MAX", "LARGE", "REQUIRED", "beyond_int", "both_forms"]

INT_MAX = 2**31 - 1
LARGE = "_c"
"""What the names of the large forms end with."""

REQUIRED = """\
#if MPI_VERSION < 4
#error "this benchmark has counts that an int does not hold: it needs an MPI of version 4 or later"
#endif
"""
"""What stands before a program that calls large forms."""

_AT = re.compile(r"\$at\((\w+), ")
_WHOLE = re.compile(r"\$(counts|places)\((\w+)\)")
_MARK = re.compile(r"\$(?:count\b|_c\b|at\(|counts\(|places\()")


@cache
def both_forms(suffix: str, names: tuple[str, ...]) -> RuntimeLibrary:
    """The library of these files with the large forms of what has two."""
    marked = library(suffix, names)
    result = RuntimeLibrary(())
    double = {name for name, piece in marked.pieces.items() if _MARK.search(piece.text)}
    for name, piece in marked.pieces.items():
        result.pieces[name] = LibraryPiece(name, piece.needs, _small(piece.text))
        if name in double:
            result.pieces[name + LARGE] = LibraryPiece(
                name + LARGE, tuple(_needs(piece, double)), _large(piece.text)
            )
    return result


def _small(text: str) -> str:
    text = text.replace("$count ", "int ").replace("$_c", "")
    text = re.sub(r"\$at\((\w+), ((?:[^()]|\([^()]*\))*)\)", r"arrays[\1].at[\2]", text)
    return _WHOLE.sub(r"arrays[\2].at", text)


def _large(text: str) -> str:
    text = text.replace("$count ", "long ").replace("$_c", LARGE)
    return _WHOLE.sub(r"\1_of(\2)", _AT.sub(r"element(\1, ", text))


def _needs(piece: LibraryPiece, double: set[str]) -> Iterator[str]:
    for need in piece.needs:
        yield need + LARGE if need in double else need
    if _AT.search(piece.text):
        yield "element"
    for match in _WHOLE.finditer(piece.text):
        yield f"{match[1]}_of"


def beyond_int(e: Value, sized: bool = True) -> bool:
    """Whether a number may be more than an int holds; where its limits are not known, a part of it.

    Args:
        sized: the number of ranks is known. Of a grid that is given at run time no limits are known, so only
            numbers count that are written out.
    """
    limits = number_bounds(e) if sized or isinstance(e, Const | Item | Lookup) else None
    if limits is not None:
        return limits[1] > INT_MAX
    match e:
        case Choose(_, a, b) | Select(_, a, b) | Binary(_, a, b):
            return beyond_int(a, sized) or beyond_int(b, sized)
        case Called(_, arguments):
            return any(beyond_int(a, sized) for a in arguments)
    return False
