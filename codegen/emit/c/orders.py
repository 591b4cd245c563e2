"""What a C program of several threads has more: the orders in which they use what they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalatrace.codegen.emit.c.data import CData
from scalatrace.codegen.emit.threads import shared_uses, thread_functions
from scalatrace.codegen.program.tree import MpiCall, ProgramArgument, Stmt
from scalatrace.trace.model.tables import SharedKind

__all__ = ["CThreads"]

KINDS = {SharedKind.REQUEST: "REQUEST", SharedKind.WINDOW: "WINDOW", SharedKind.FILE: "FILES"}


class CThreads(CData):
    """The parts of a C program's text that are about threads."""

    def body(self, body: Sequence[Stmt]) -> None:
        """Statements one after the other; those of a thread in a function of their own."""
        super().body(thread_functions(body) if self.threads else body)

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
        """Return the functions that tell the orders, and choose the pieces of the library for them."""
        threads = self.threads
        if threads is None:
            return ""
        self.wanted["run_threads"] = None
        parts = []
        self.wide = True
        if "shared_comms" in self.wanted:
            turns = [
                (family, f"i < {self.infix.expr(order.length)} ? {self.infix.expr(order.value)} : thread")
                for family, order in threads.turns.items()
            ]
            parts += [
                _switch("int turn(int comm, long i)", "comm", turns, "thread", "(void)i;"),
                _switch(
                    "long ncalls(int comm)",
                    "comm",
                    [(family, self.infix.expr(n)) for family, n in threads.ncalls.items()],
                    "0",
                ),
            ]
        if "object" in self.wanted or threads.shares_requests:
            uses = list(threads.uses.items())
            numbers = [
                (f"{KINDS[kind]} * (COMMS + THREADS) + {of}", str(k))
                for k, ((kind, of), _) in enumerate(uses)
            ]
            lengths = [(k, self.infix.expr(order.length)) for k, (_, order) in enumerate(uses)]
            values = [(k, self.infix.expr(order.value)) for k, (_, order) in enumerate(uses)]
            parts += [
                _switch("int uses_of(int kind, int of)", "kind * (COMMS + THREADS) + of", numbers, "-1"),
                _switch("long nuses(int uses)", "uses", lengths, "0"),
                _switch("long use(int uses, long i)", "uses", values, "0", "(void)i;"),
            ]
        self.wide = False
        return "\n\n".join(parts)


def _switch(
    head: str, value: str, cases: Iterable[tuple[object, str]], otherwise: str, first: str = ""
) -> str:
    """Return a function that gives the result of a case; equal results stand together."""
    labels = dict[str, list[str]]()
    for label, result in cases:
        labels.setdefault(result, []).append(f"    case {label}:")
    lines = [f"static {head}", "{", *([f"    {first}"] if first else [])]
    if labels:
        lines.append(f"    switch ({value}) {{")
        for result, own in labels.items():
            lines += [*own, f"        return {result};"]
        lines.append("    }")
    else:
        lines.append(f"    (void)({value});")
    return "\n".join([*lines, f"    return {otherwise};", "}"])
