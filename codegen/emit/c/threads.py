"""C programs of several threads: the orders in which they use what they share, and their run-time library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from scalatrace.codegen.emit.c.data import CData
from scalatrace.codegen.emit.pieces import RuntimeLibrary
from scalatrace.codegen.emit.threads import KINDS, replace_forms, shared_uses
from scalatrace.codegen.program.tree import MpiCall, ProgramArgument

__all__ = ["ONLY_THREADS", "CThreads", "threaded"]

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


_HEADS = {
    "turn": ("int turn(int comm, long i)", "comm", "thread", "(void)i;"),
    "ncalls": ("long ncalls(int comm)", "comm", "0", ""),
    "uses_of": ("int uses_of(int kind, int of)", "kind * (COMMS + THREADS) + of", "-1", ""),
    "nuses": ("long nuses(int uses)", "uses", "0", ""),
    "use": ("long use(int uses, long i)", "uses", "0", "(void)i;"),
}
"""Of a function: its head, what its cases are of, its result in no case, and its first statement."""


class CThreads(CData):
    """The parts of a C program's text that are about threads."""

    between = "\n\n"

    def in_order(self, call: MpiCall, text: str) -> str:
        """Return the text of a call, within what makes it wait for other threads."""
        if self.threads is None:
            return text
        uses = shared_uses(self.program, self.threads, call)
        if uses.requests:
            self.wanted["requests"] = None
            text = f"{text}; hand_over()"
        if uses.kind is not None and uses.number is not None and uses.comm is not None:
            self.wanted["object"] = None
            kind, comm, number = KINDS[uses.kind], self.number(uses.comm), self.number(uses.number)
            text = f"OBJECT({kind}, {comm}, {number}, {text})"
        for use in uses.comms:
            self.wanted["shared_comms"] = None
            text = f"SHARED({self.number(use.argument)}, {use.how}, {text})"
        return text

    def with_seed(self, library: str) -> str:
        """Return the functions of the library with the random numbers of each thread."""
        seed = "    dice = 88172645463325252u + 1000003u * (uint64_t)(rank + RANKS * thread);\n"
        return library.replace("    $setup;\n", seed if self.bins else "")

    def number(self, argument: ProgramArgument) -> str:
        """Return an argument that is a small number."""
        return self.argument(argument, "int")

    def threaded_init(self) -> str:
        """Return the start of MPI with several threads."""
        return (
            "int provided;\n"
            "    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);\n"
            '    if (provided < MPI_THREAD_MULTIPLE) stop("this MPI does not let several threads call it");'
        )

    def orders(self) -> str:
        """Return the functions that tell the orders, with numbers in 64 bits."""
        self.wide = True
        text = super().orders()
        self.wide = False
        return text

    def use_numbers(self, objects: Sequence[tuple[str, int]]) -> str:
        """`int uses_of(int kind, int of)`"""
        numbers = ((f"{kind} * (COMMS + THREADS) + {of}", str(k)) for k, (kind, of) in enumerate(objects))
        return self.choice("uses_of", numbers)

    def choice_text(self, name: str, cases: Mapping[str, Sequence[str]]) -> str:
        """`static long nuses(int uses)`, a switch."""
        head, value, otherwise, first = _HEADS[name]
        lines = [f"static {head}", "{", *([f"    {first}"] if first else [])]
        if cases:
            lines.append(f"    switch ({value}) {{")
            for result, labels in cases.items():
                lines += [*(f"    case {label}:" for label in labels), f"        return {result};"]
            lines.append("    }")
        else:
            lines.append(f"    (void)({value});")
        return "\n".join([*lines, f"    return {otherwise};", "}"])


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
