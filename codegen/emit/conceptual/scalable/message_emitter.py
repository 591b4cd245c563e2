"""Messages between tasks that are told by conditions, and what is under way of them.

What is awaited where follows from what every rank of the sample has under way there (see `pending`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scalatrace.codegen.build.places import Places, opposite
from scalatrace.codegen.build.sample import Mask, Sample
from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.pending import Pending, Request
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import RANK, Tongue
from scalatrace.codegen.emit.conceptual.scalable.forms import (
    choice_in,
    exchanged,
    is_special,
    multiplied,
    of_task,
    with_peer,
)
from scalatrace.codegen.emit.conceptual.statement_writer import Sentences
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import (
    TRUE,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Var,
    add,
    all_of,
    choose,
    map_leaves,
    mul,
    names_in,
)
from scalatrace.codegen.program.tree import Call, Program, calls
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, SPECIAL_MAX, UNDEFINED

__all__ = ["Said"]

Ages = Callable[[int], Sequence[int] | None]
"""From a rank of the sample to the requests that a call names; None for all."""

Names = tuple[str, str, str, str]
"""How a call names count, datatype, peer and tag."""


class Said(Sentences):
    """Says everything that goes from one task to another."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        assert program.shape is not None
        self.program, self.shape, self.sample = program, program.shape, Sample(program.shape)
        self.places = Places(self.sample, ())
        self.tongue = Tongue(program.shape)
        self.pending = Pending(RankList.all(self.sample.n))
        self.waiting: tuple[Cond, list[str]] | None = None
        self.mine = frozenset({"rank", *program.shape.coords})
        self.channels = {
            (call["comm"] if "comm" in call else Const(0), call[name])
            for call in calls(program.body)
            for name in ("tag", "sendtag", "recvtag")
            if name in call
        }

    def compute(self, cond: Cond, time: str) -> None:
        """These tasks compute for so long; what they compute one after the other is said together."""
        if self.waiting is not None and self.waiting[0] != cond:
            self.flush()
        self.waiting = cond, [*(self.waiting[1] if self.waiting else ()), time]

    def flush(self) -> None:
        """Say what is to be computed since the last message."""
        if self.waiting is None:
            return
        (cond, times), self.waiting = self.waiting, None
        numbers = [int(time) for time in times if time.isdigit()]
        formulas = [time for time in times if not time.isdigit()]
        whole = sum(numbers)
        told = [*formulas, *([str(whole)] if whole else [])]
        if told:
            text = told[0] if len(told) == 1 else f"({' + '.join(told)} )"
            self.say(f"{self.who(cond, named=False)} COMPUTE FOR {text} MICROSECONDS")

    @property
    def tagged(self) -> bool:
        """Whether tags tell messages apart: not when there is one only, nor when receives take any."""
        return len(self.channels) > 1 and all(tag != Const(ANY_TAG) for _, tag in self.channels)

    def local(self, part: Expr | Cond) -> bool:
        """Whether something depends on the task."""
        found = names_in(part)
        return bool(found & self.mine) or "Own(" in repr(part)

    def fixed(self, part: Expr | Cond) -> bool:
        """Whether something depends on the task only, and on no loop."""
        return names_in(part) <= self.sample.fixed

    def who(self, cond: Cond, named: bool = True, target: bool = False) -> str:
        """The tasks for which a condition holds."""
        if cond == TRUE:
            return "TASKS t SUCH THAT t >= 0" if target else "ALL TASKS t" if named else "ALL TASKS"
        if (one := self.single(cond)) is not None:
            return f"TASK {words.atom(one)}"
        return f"TASKS t SUCH THAT {words.cond(self.tongue.cond(cond))}"

    def single(self, cond: Cond) -> Expr | None:
        """The one task for which a condition holds, if it says so."""
        match cond:
            case Compare("==", Var("rank"), e) if not self.local(e):
                return self.tongue.expr(e)
        return None

    def message(self, call: Call, cond: Cond, ranks: Mask, verb: str, later: bool) -> None:
        """`TASKS t SUCH THAT t < 3 ASYNCHRONOUSLY SEND A 800 BYTE MESSAGE TO UNSUSPECTING TASK t + 1`"""
        peer = "dest" if verb == "SEND" else "source"
        self.transfer(call, cond, verb, later, ("count", "datatype", peer, "tag"))
        if later:
            self.pending.make(self.listed(ranks), Request())

    def exchange(self, call: Call, cond: Cond, ranks: Mask) -> None:
        """Sendrecv: both at once, and awaited where nothing else is under way."""
        self.transfer(call, cond, "RECEIVE", True, ("recvcount", "recvtype", "source", "recvtag"))
        self.transfer(call, cond, "SEND", True, ("sendcount", "sendtype", "dest", "sendtag"))
        self.pending.make(self.listed(ranks), Request())
        done = [r for r in np.flatnonzero(ranks).tolist() if self.pending.complete(r, (0,))]
        self.awaited(done, call)

    def transfer(self, call: Call, cond: Cond, verb: str, later: bool, names: Names) -> None:
        count, datatype, peer, tag = names
        family = call["comm"] if "comm" in call else Const(0)
        for there, leaf in self.alternatives(call[peer], cond):
            if leaf == Const(ANY_SOURCE):
                raise GenerateError("a receive takes from any source: no rule was found for its sender")
            if isinstance(leaf, Const) and leaf.value < SPECIAL_MAX:
                continue  # nothing is sent to PROC_NULL
            if verb == "SEND" and not later and self.own(there, leaf, family):
                mine = Compare("==", leaf, self.shape.variables()["r"])
                self.transfer(with_peer(call, peer, leaf), all_of(there, mine), verb, True, names)
                there = all_of(there, opposite(mine))
            nbytes = self.nbytes(call[count], call[datatype])
            for here, size in self.cases(nbytes, there):
                for some, channel in self.cases(self.tag(family, call[tag]), here):
                    self.one(call, some, verb, later, leaf, family, size, channel)

    def one(
        self, call: Call, cond: Cond, verb: str, later: bool, peer: Expr, family: Expr, size: Expr, tag: Expr
    ) -> None:
        """A message of tasks that all send as much with the same tag."""
        other = self.tongue.world(self.tongue.expr(peer), family)
        nbytes, channel = self.tongue.expr(size), self.tongue.expr(tag)
        if (single := self.single(cond)) is not None:
            other, nbytes, channel = (of_task(e, single) for e in (other, nbytes, channel))
        each = RANK.name in names_in(nbytes, *([channel] if self.tagged else []))
        task = "s" if each else "t"
        who = "TASK s" if each else self.who(cond, RANK.name in names_in(other), verb == "RECEIVE")
        using = f" USING TAG {words.atom(channel, task)}" if self.tagged else ""
        way = "TO UNSUSPECTING" if verb == "SEND" else "FROM"
        how = "ASYNCHRONOUSLY " if later else ""
        spec = f"A {words.atom(nbytes, task)} BYTE MESSAGE{using}"
        text = f"{who} {how}{verb} {spec} {way} TASK {words.atom(other, task)}"
        self.say(self.by_turns(cond, text) if each else text, self.site(call))

    def by_turns(self, cond: Cond, text: str) -> str:
        """What task s does, said of one after the other: many tasks together have one size and tag."""
        every = "FOR EACH s IN {0, ..., num_tasks - 1}"
        if cond == TRUE:
            return f"{every} {text}"
        return f"{every} IF {words.cond(self.tongue.cond(cond), 's')} THEN {{ {text} }}"

    def cases(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """What an expression is for the tasks of each of its choices: sizes cannot depend on the task.

        It stays as it is where it would depend on the task all the same.
        """
        told = self.split(e, cond)
        return [(cond, e)] if any(self.local(part) for _, part in told) else told

    def split(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """An expression by its choices."""
        found = choice_in(e, self.local)
        if found is None or self.single(cond) is not None:
            return [(cond, e)]
        told = []
        for some, branch in ((found.cond, found.then), (opposite(found.cond), found.otherwise)):
            told += self.split(exchanged(e, found, branch), all_of(cond, some))
        return told

    def own(self, cond: Cond, peer: Expr, family: Expr) -> bool:
        """Whether tasks may send to themselves: the language wants such a message asynchronous."""
        if self.tongue.axes(family) is not None:
            return False
        ranks = self.sample.mask(cond) if self.fixed(cond) else self.sample.everyone
        return bool((np.equal(self.sample.value(peer), self.sample.columns["rank"]) & ranks).any())

    def alternatives(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """The values that tasks have, each with its condition, where special ones are among them."""
        if isinstance(e, Choose) and self.local(e.cond) and is_special(e):
            return [
                *self.alternatives(e.then, all_of(cond, e.cond)),
                *self.alternatives(e.otherwise, all_of(cond, opposite(e.cond))),
            ]
        return [(cond, e)]

    def nbytes(self, n: Expr, kind: Expr) -> Expr:
        """The size of so many elements of a datatype."""
        sizes = tuple(t.size for t in self.program.types)
        if isinstance(kind, Choose):
            return choose(kind.cond, self.nbytes(n, kind.then), self.nbytes(n, kind.otherwise))
        if isinstance(kind, Const):
            size = sizes[kind.value] if kind.value >= 0 else 0
            return map_leaves(n, lambda leaf: multiplied(leaf, size))
        if isinstance(kind, Item):
            return mul(n, Item(tuple(sizes[i] if i >= 0 else 0 for i in kind.table), kind.index))
        raise GenerateError("its datatype varies without a rule")

    def tag(self, family: Expr, tag: Expr) -> Expr:
        """The number that keeps messages of other tags and communicators away."""
        families = sorted({repr(f) for f, _ in self.channels})
        if not self.tagged or len(families) < 2:
            return tag
        return add(mul(tag, Const(len(families))), Const(families.index(repr(family))))

    def complete(self, call: Call, ranks: Mask) -> None:
        """A wait, where it leaves nothing under way."""
        free = call.op == "Request_free"
        ages = self.ages(call, ranks)
        done = [r for r in np.flatnonzero(ranks).tolist() if self.pending.complete(r, ages(r), free)]
        self.awaited(done, call)

    def ages(self, call: Call, ranks: Mask) -> Ages:
        """The requests that a call names, by rank of the sample; None for all."""
        one = "request" in call
        named = call["request"] if one else call["requests"]
        if not self.fixed(named):
            return lambda rank: (0,) if one else None
        numbers = np.broadcast_to(self.sample.value(named), ranks.shape).tolist()
        if one:
            return lambda rank: (numbers[rank],)
        assert self.program.shape is not None
        made = self.program.shape.arrays
        lists = {
            n: None if n in made else tuple(age for age in self.program.arrays[n].values if age != UNDEFINED)
            for n in set(numbers)
        }
        if "index" in call:
            at = call["index"]
            k = at.value if isinstance(at, Const) else 0
            return lambda rank: (lists[numbers[rank]] or ())[k : k + 1]
        return lambda rank: lists[numbers[rank]]

    def awaited(self, done: Sequence[int], call: Call) -> None:
        """Those who have nothing more under way await it."""
        if done:
            ranks = np.zeros(self.sample.n, dtype=bool)
            ranks[list(done)] = True
            self.say(f"{self.who(self.asking(ranks), named=False)} AWAIT COMPLETION", self.site(call))

    def asking(self, ranks: Mask) -> Cond:
        """The condition for ranks of the sample."""
        return self.places.cond(ranks, self.sample.everyone)

    def unfinished(self) -> Mask:
        """Ranks that may have something under way."""
        ranks: Mask = np.zeros(self.sample.n, dtype=bool)
        ranks[list(self.pending.unfinished())] = True
        return ranks

    def listed(self, ranks: Mask) -> RankList:
        """Ranks of the sample by their numbers."""
        return RankList(np.flatnonzero(ranks).tolist())
