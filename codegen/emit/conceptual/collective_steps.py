"""The steps of a collective (see `collectives`) in words: statements, or messages between pairs of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.expr import Expr

__all__ = ["Wording"]


@dataclass(frozen=True, slots=True)
class Wording:
    """Who takes part in a step, and what is moved.

    Attributes:
        who: the tasks that take part.
        root: the one of them that has the data, or gets them.
        others: all but the root, as its targets.
        everyone: all, as targets of each.
        members: all, one after the other, for a loop.
        nbytes: of one message.
        integers: how many are reduced.
    """

    who: str
    root: Expr
    others: str
    everyone: str
    members: str
    nbytes: Expr
    integers: Expr

    def statement(self, step: str) -> str:
        """A step in one statement."""
        who, at, data = self.who, self.at, self.data
        numbers = f"{words.atom(self.integers)} INTEGERS"
        match step:
            case "barrier":
                return f"{who} SYNCHRONIZE"
            case "multicast" | "multicast all":
                return f"{at} MULTICASTS {data} TO {self.others}"
            case "all to all":
                return f"{who} MULTICAST {data} TO {self.everyone}"
            case "reduce":
                return f"{who} REDUCE {numbers} TO {at}"
            case "reduce to all":
                return f"{who} REDUCE {numbers}"
        return f"FOR EACH r IN {{{self.members}}} {who} REDUCE {numbers} TO TASK r"

    def messages(self, step: str) -> str:
        """A step as messages between each pair of tasks, all at once."""
        who, at, data = self.who, self.at, self.data
        wait = f"THEN {who} AWAIT COMPLETION"
        spread = f"{at} ASYNCHRONOUSLY SENDS {data} TO {self.others} {wait}"
        senders = self.others.replace("ALL OTHER TASKS", f"TASKS u SUCH THAT u <> {words.atom(self.root)}")
        gathered = f"{senders} ASYNCHRONOUSLY SEND {data} TO {at} {wait}"
        match step:
            case "multicast" | "multicast all":
                return f"{{ {spread} }}"
            case "reduce":
                return f"{{ {gathered} }}"
            case "reduce to all":
                return f"{{ {gathered} THEN {spread} }}"
        to = self.everyone if self.everyone.startswith("ALL") else f"{self.everyone} /\\ u <> t"
        return f"{{ {who} ASYNCHRONOUSLY SEND {data} TO {to} {wait} }}"

    @property
    def at(self) -> str:
        """The root in words."""
        return f"TASK {words.atom(self.root)}"

    @property
    def data(self) -> str:
        """A message in words."""
        return f"A {words.atom(self.nbytes)} BYTE MESSAGE"
