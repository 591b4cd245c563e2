"""Messages between tasks that are told by conditions, and what is under way of them.

What is awaited where follows from what every rank of the sample has under way there (see `pending`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from codegen.emit.conceptual import words
from codegen.emit.conceptual.pending import Pending, Request
from codegen.emit.conceptual.speech import Sentences
from codegen.emit.conceptual.tongue import RANK, Tongue
from codegen.errors import GenerateError
from codegen.expr import (
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
)  # fmt: skip
from codegen.program import Call, Program, calls
from codegen.scalable.places import Places, opposite
from codegen.scalable.rewrite import rewritten
from codegen.scalable.sample import Mask, Sample
from codegen.specialise import variables
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.values import ANY_SOURCE, ANY_TAG, SPECIAL_MAX, UNDEFINED

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
        self.mine = frozenset({"rank", *program.shape.coords})
        self.channels = {
            (call["comm"] if "comm" in call else Const(0), call[name])
            for call in calls(program.body)
            for name in ("tag", "sendtag", "recvtag")
            if name in call
        }

    @property
    def tagged(self) -> bool:
        """Whether tags tell messages apart: not when there is one only, nor when receives take any."""
        return len(self.channels) > 1 and all(tag != Const(ANY_TAG) for _, tag in self.channels)

    def local(self, part: Expr | Cond) -> bool:
        """Whether something depends on the task."""
        found = variables([part])
        return bool(found & self.mine) or "Own(" in repr(part)

    def fixed(self, part: Expr | Cond) -> bool:
        """Whether something depends on the task only, and on no loop."""
        return variables([part]) <= self.sample.fixed

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
            other = self.tongue.world(self.tongue.expr(leaf), family)
            nbytes = self.tongue.expr(self.nbytes(call[count], call[datatype]))
            channel = self.tongue.expr(self.tag(family, call[tag]))
            if (one := self.single(there)) is not None:
                other, nbytes, channel = (_of_task(e, one) for e in (other, nbytes, channel))
            using = f" USING TAG {words.atom(channel)}" if self.tagged else ""
            named = any(RANK.name in variables([e]) for e in (other, nbytes, channel))
            who = self.who(there, named, verb == "RECEIVE")
            way = "TO UNSUSPECTING" if verb == "SEND" else "FROM"
            how = "ASYNCHRONOUSLY " if later else ""
            spec = f"A {words.atom(nbytes)} BYTE MESSAGE{using}"
            self.say(f"{who} {how}{verb} {spec} {way} TASK {words.atom(other)}", self.site(call))

    def alternatives(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """The values that tasks have, each with its condition, where special ones are among them."""
        if isinstance(e, Choose) and self.local(e.cond) and _special(e):
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
            return map_leaves(n, lambda leaf: _times(leaf, size))
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


def _times(leaf: Expr, size: int) -> Expr:
    if isinstance(leaf, Const):
        return Const(max(0, leaf.value) * size)
    if isinstance(leaf, Item):
        return Item(tuple(max(0, v) * size for v in leaf.table), leaf.index)
    return mul(leaf, Const(size))


def _of_task(e: Expr, task: Expr) -> Expr:
    return rewritten(e, lambda part: task if isinstance(part, Var) and part.name == RANK.name else None)


def _special(e: Expr) -> bool:
    if isinstance(e, Choose):
        return _special(e.then) or _special(e.otherwise)
    return isinstance(e, Const) and e.value < SPECIAL_MAX
