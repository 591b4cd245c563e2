"""Names of functions as programmers write them, from those in symbol tables."""

from __future__ import annotations

import ctypes
import re
from functools import cache

__all__ = ["function_name"]

_BRACKETS = re.compile(
    r"\(anonymous namespace\)|\{lambda\([^{}]*\)#\d+\}|operator\s?(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|<=?|>=?)"
)
_FORTRAN_MODULE = re.compile(r"__(?P<module>\w+?)_MOD_(?P<name>\w+)")


@cache
def function_name(symbol: str) -> str:
    """`Foam::reduce` of a C++ name, `solver::exchange` of a Fortran module's, `exchange` of `exchange_`.

    Without a C++ library on this machine, names of C++ remain as they are.
    """
    symbol = symbol.partition("@")[0]
    if match := _FORTRAN_MODULE.fullmatch(symbol):
        return f"{match['module']}::{match['name']}"
    if symbol.startswith("_Z"):
        return _without_arguments(_demangle(symbol))
    return symbol.removesuffix("_") if not symbol.startswith("_") else symbol


def _demangle(symbol: str) -> str:
    library = _cxx()
    if library is None:
        return symbol
    status = ctypes.c_int(-1)
    text = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if status.value or not text:
        return symbol
    name = ctypes.cast(text, ctypes.c_char_p).value or b""
    ctypes.CDLL(None).free(ctypes.c_void_p(text))
    return name.decode(errors="replace")


@cache
def _cxx() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    return library


def _without_arguments(name: str) -> str:
    """The name without arguments and return type: both stand outside of template arguments.

    Tokens with brackets of their own are hidden meanwhile: `operator()`, `operator<<`, lambdas.
    """
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:
        hidden.append(match[0])
        return f"\0{chr(0xE000 + len(hidden) - 1)}"

    text = _BRACKETS.sub(hide, name)
    depth, start, end = 0, 0, len(text)
    for i, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if depth == 0 and char == " " and not text[:i].endswith("operator"):
            start = i + 1
        if depth == 0 and char == "(" and i > start:
            end = i
            break
    return re.sub("\0(.)", lambda match: hidden[ord(match[1]) - 0xE000], text[start:end])
