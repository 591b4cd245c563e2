"""The library of C programs with several threads: variables of each, other forms of what they share."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from scalatrace.codegen.emit.pieces import RuntimeLibrary
from scalatrace.codegen.emit.threads import replace_forms

__all__ = ["ONLY_THREADS", "threaded"]

ONLY_THREADS = re.compile(r"^ *\$(?:lock|unlock|made)\([a-z]*\);\n", re.MULTILINE)
"""Statements of programs of several threads."""

_STATE = re.compile(r"^(?P<indent> *)static (?!inline|const|_Thread_local)(?P<rest>[^(\n]*)$", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/")
_COMMON = re.compile(r"\b(?:rank|measures|step|noting|sleeps|share|buffer_size|attached)\b")
"""Variables that have one value for all threads."""

_OF_REQUESTS = frozenset({
    "requests", "of_age", "ended", "gather", "is_persistent", "scatter", "one_done", "Parrived",
})  # fmt: skip
_OF_MESSAGES = frozenset({"messages", "message", "matched"})


@cache
def threaded(
    plain: RuntimeLibrary, forms: RuntimeLibrary, shares_requests: bool, shares_messages: bool
) -> RuntimeLibrary:
    """Return the library for programs of several threads.

    Args:
        plain: of programs of one thread.
        forms: other forms of its pieces, and what else several threads need.
        shares_requests, shares_messages: whether threads name those of other threads.
    """
    result = RuntimeLibrary(())
    left_out = (set() if shares_requests else _OF_REQUESTS) | (set() if shares_messages else _OF_MESSAGES)
    made = "fresh->family = made;" if shares_requests else "publish(made);"
    age = "long age" if shares_requests or shares_messages else "int age"
    for name, piece in plain.pieces.items():
        text = _STATE.sub(_own, piece.text).replace("$lock();", "lock();").replace("$unlock();", "unlock();")
        text = re.sub(r"\bint age\b", age, text.replace("$made(made);", made))
        result.pieces[name] = replace(piece, text=text)
    replace_forms(result.pieces, forms, left_out)
    return result


def _own(match: re.Match[str]) -> str:
    """Make a variable one of each thread."""
    if _COMMON.search(_COMMENT.sub("", match["rest"])):
        return match[0]
    return f"{match['indent']}static _Thread_local {match['rest']}"
