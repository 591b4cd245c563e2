"""From the symbolic trace to a trace: every formula evaluated for one grid.

What it costs depends on the number of nodes; masks over all ranks, one per condition, are the only thing as
long as there are ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from extrap.communicators import family_of
from extrap.compressing import ranks_of_mask, vec_of_array
from extrap.contents import TABLES, Tables
from extrap.errors import ExtrapolationError, InputError
from extrap.expression import LARGEST, evaluate, names_of
from extrap.fields import RANKWISE
from extrap.grid import Grid
from extrap.model import Model, ParamRule, Rule
from extrap.shapes import cycle, join, vec_from
from extrap.timing_rules import Timing
from scalatrace.trace.compress import vec_of
from scalatrace.trace.elastic import Columns, Elastic, Groups
from scalatrace.trace.nodes import Encoding, Event, Node, Peer, PredStats, Sequence
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.symbolic import CYCLE, INDEXED, Field, Part
from scalatrace.trace.tables import Kind, Op, Stat
from scalatrace.trace.trace import START, Trace
from scalatrace.trace.values import SPECIAL_MAX, Vec

Mask = np.ndarray[Any, np.dtype[np.bool_]]

MOST_VALUES = 1 << 20
"""Values of one vec that are computed one by one."""

MOST_LISTED = 1 << 12
"""Values that the general compressor takes; it needs time for each, progressions do not."""

MOST_GROUPS = 1 << 16
"""Groups of ranks that one value may be divided into."""

__all__ = ["instantiate"]


def instantiate(model: Model, grid: Grid, inputs: Mapping[str, int], timing: Timing) -> Trace:
    """The trace on a grid.

    Raises:
        InputError: the grid has another number of dimensions, or a parameter is missing.
        ExtrapolationError: a formula has no value there.
    """
    if len(grid.dims) != len(model.sizes):
        raise InputError(f"the traces are of a {len(model.sizes)}-dimensional grid; {grid} is not")
    for name, side, *seen in zip(model.sizes, grid.dims, *(dims for dims, _ in model.seen), strict=True):
        if side == 1 and len(grid.dims) > 1 and 1 not in seen:
            raise InputError(f"a grid of {grid} has {name} = 1: no trace shows what borders do there")
    missing = [name for name in model.inputs if name not in inputs]
    if missing:
        raise InputError(f"the traces have a parameter {missing[0]}: say which it is to be (--param)")
    return _Maker(model, grid, inputs, timing).trace()


class _Maker:
    def __init__(self, model: Model, grid: Grid, inputs: Mapping[str, int], timing: Timing) -> None:
        self.model, self.grid, self.timing = model, grid, timing
        self.env: dict[str, Any] = {**grid.columns, **inputs}
        self.tables = Tables()
        self.ops = {name: i for i, name in enumerate(model.ops)}
        self.frames: dict[str, int] = {}
        self.signatures: dict[tuple[int, ...], int] = {(): 0}
        self.preds: dict[tuple[int, int], int] = {START: 0}
        self._masks: dict[str, Mask] = {}
        self._ranks: dict[bytes, RankList] = {}

    def trace(self) -> Trace:
        everyone = np.ones(self.grid.nprocs, dtype=bool)
        nodes = [made for rule in self.model.nodes if (made := self.node(rule, everyone)) is not None]
        return Trace(
            nprocs=self.grid.nprocs,
            meta=dict(self.model.meta),
            ops=[Op(name, params) for name, params in self.model.ops.items()],
            stats=[Stat(name, resolution) for name, resolution in self.model.stats],
            frames=list(self.frames),
            signatures=list(self.signatures),
            comms=[family_of(rule, self.grid, self.env) for rule in self.model.families],
            types=list(self.tables.types),
            strings=list(self.tables.strings),
            arrays=list(self.tables.arrays),
            preds=list(self.preds),
            counts=dict(self.model.counts),
            load=[None] * len(self.model.stats),
            nodes=nodes,
        )

    def node(self, rule: Rule, ranks: Mask) -> Node | None:
        """The node for those of these ranks that take part; None when nobody does."""
        part = self.participants(rule.repeat, ranks)
        if not part.any():
            return None
        repeat = self.elastic(rule.repeat, ranks, None)
        if _least(repeat) < 0:
            what = " at ".join([rule.op or "a loop", *rule.stack[:1]])
            raise ExtrapolationError(f"{what} would run {_least(repeat)} times on {self.grid} ranks")
        if rule.op is None:
            children = tuple(made for child in rule.children if (made := self.node(child, part)) is not None)
            return Sequence(repeat, children) if children else None
        signature = self.signature(rule.stack)
        params = tuple(self.param(param, part) for param in rule.params)
        return Event(repeat, self.ops[rule.op], signature, params, self.stats(rule))

    def signature(self, stack: tuple[str, ...]) -> int:
        frames = tuple(self.frames.setdefault(frame, len(self.frames)) for frame in stack)
        return self.signatures.setdefault(frames, len(self.signatures))

    def stats(self, rule: Rule) -> tuple[PredStats, ...]:
        """Histograms at this size."""
        found = []
        for stat in rule.stats:
            if stat.pred is None:
                pred = self.preds[START]
            elif stat.pred[0] in self.ops:
                key = self.ops[stat.pred[0]], self.signature(stat.pred[1])
                pred = self.preds.setdefault(key, len(self.preds))
            else:
                continue  # the largest trace has no such call
            histograms = self.timing(stat.histograms)
            if any(h is not None for h in histograms):
                found.append(PredStats(pred, histograms))
        return tuple(found)

    def param(self, rule: ParamRule, ranks: Mask) -> Elastic | Peer:
        """A parameter of the ranks that take part."""
        value = self.elastic(rule.field, ranks, rule.kind)
        if rule.name.endswith("count") and SPECIAL_MAX <= _least(value) < 0:
            raise ExtrapolationError(f"a {rule.name} would be {_least(value)} on {self.grid} ranks")
        if rule.kind is Kind.PEER:
            return Peer(rule.encoding or Encoding.ABSOLUTE, value)
        return value

    def mask(self, condition: str) -> Mask:
        """The ranks of a condition."""
        if condition not in self._masks:
            found = np.asarray(evaluate(condition, self.env), dtype=bool)
            self._masks[condition] = np.broadcast_to(found, (self.grid.nprocs,))
        return self._masks[condition]

    def participants(self, field: Field, ranks: Mask) -> Mask:
        """Those of the ranks for which the field has something."""
        if len(field.parts) == 1:
            return ranks if field.parts[0].formulas is not None else np.zeros_like(ranks)
        found = np.zeros_like(ranks)
        for part, mine in self.divided(field, ranks):
            if part.formulas is not None:
                found |= mine
        return found

    def divided(self, field: Field, ranks: Mask) -> list[tuple[Part, Mask]]:
        """Each part with its ranks, those without any left out."""
        found, left = [], ranks
        for part in field.parts:
            mine = left & self.mask(part.condition)
            left = left & ~mine
            if mine.any():
                found.append((part, mine))
        return found

    def ranklist(self, mask: Mask) -> RankList:
        """A mask's ranks."""
        key = np.packbits(mask).tobytes()
        if key not in self._ranks:
            self._ranks[key] = ranks_of_mask(mask)
        return self._ranks[key]

    def elastic(self, field: Field, ranks: Mask, kind: Kind | None) -> Elastic:
        """The elastic value of a field over ranks; those it has nothing for are in no group."""
        divided = self.divided(field, ranks)
        pieces = [piece for part, mine in divided for piece in self.pieces(part, mine, kind)]
        everyone = sum(int(mine.sum()) for _, mine in pieces) == int(ranks.sum())
        if all(isinstance(value, Vec) for value, _ in pieces):
            by_vec: dict[Vec, Mask] = {}
            for value, mine in pieces:
                by_vec[value] = by_vec[value] | mine if value in by_vec else mine
            if len(by_vec) == 1 and everyone:
                return next(iter(by_vec))
            groups = [(self.ranklist(mine), vec) for vec, mine in by_vec.items()]
            if len(groups) > MOST_GROUPS:
                raise ExtrapolationError(
                    f"a value differs on {len(groups)} groups of ranks: too many to keep"
                )
            return Groups(sorted(groups, key=lambda group: group[0].first))
        values = np.zeros(self.grid.nprocs, dtype=np.int64)
        union = np.zeros(self.grid.nprocs, dtype=bool)
        for value, mine in pieces:
            constant = value.constant if isinstance(value, Vec) else None
            if isinstance(value, Vec) and constant is None:
                return self.by_rank(pieces)
            values[mine] = value[mine] if constant is None else constant
            union |= mine
        return Columns(self.ranklist(union), vec_of_array(values[union]))

    def by_rank(self, pieces: list[tuple[Any, Mask]]) -> Elastic:
        """Groups, for values of which some change from execution to execution and some from rank to rank."""
        by_vec: dict[Vec, list[int]] = {}
        for value, mine in pieces:
            for rank in np.flatnonzero(mine).tolist():
                vec = value if isinstance(value, Vec) else Vec(int(value[rank]))
                by_vec.setdefault(vec, []).append(rank)
        groups = [(RankList(ranks), vec) for vec, ranks in by_vec.items()]
        return Groups(sorted(groups, key=lambda group: group[0].first))

    def pieces(self, part: Part, mine: Mask, kind: Kind | None) -> list[tuple[Any, Mask]]:
        """A part as vecs with their ranks, or as an array over all ranks where each has one value."""
        if part.formulas is None:
            return []
        if part.shape == INDEXED:
            return self.indexed(part, mine)
        slots = [self.slot(text, mine) for text in part.formulas]
        if not any(isinstance(slot, np.ndarray) for slot in slots):
            return [(self.vec(part, slots, kind), mine)]
        if part.shape is None and kind not in TABLES:
            return [(slots[0], mine)]
        table = np.array([np.broadcast_to(slot, mine.shape)[mine] for slot in slots])
        return [(self.vec(part, column, kind), some) for column, some in alike(table, mine)]

    def indexed(self, part: Part, mine: Mask) -> list[tuple[Any, Mask]]:
        """A part whose values follow the number of the execution: a vec per set of coordinates."""
        assert part.formulas is not None
        length, value = part.formulas
        names = sorted((names_of(length) | names_of(value)) & RANKWISE)
        if not names:
            return [(self.counted(length, value, {}), mine)]
        table = np.array([self.env[name][mine] for name in names])
        by_vec: dict[Vec, Mask] = {}
        for column, some in alike(table, mine):
            vec = self.counted(length, value, dict(zip(names, column, strict=True)))
            by_vec[vec] = by_vec[vec] | some if vec in by_vec else some
        return list(by_vec.items())

    def counted(self, length: str, value: str, place: Mapping[str, int]) -> Vec:
        """The vec of one place."""
        env = {**self.env, **place}
        n = int(evaluate(length, env))
        if n > MOST_VALUES:
            raise ExtrapolationError(f"a value changes over {n} executions: too many to write down")
        values = np.broadcast_to(evaluate(value, {**env, "i": np.arange(n)}), (n,))
        return vec_of(values.tolist()) if n <= MOST_LISTED else vec_of_array(values)

    def slot(self, text: str, mine: Mask) -> Any:
        """A formula's value: an int where it is one for all of these ranks."""
        value = evaluate(text, self.env)
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            if not -LARGEST <= int(value) <= LARGEST:
                raise ExtrapolationError(f"{text} is {value} here: it does not fit into 64 bits")
            return int(value)
        here = value[mine]
        return int(here[0]) if (here == here[0]).all() else value

    def vec(self, part: Part, slots: list[int], kind: Kind | None) -> Vec:
        """The vec of a part's integers."""
        if part.shape == CYCLE:
            return cycle(slots)
        if kind in TABLES:
            assert kind is not None
            return self.tables.vec(kind, join(part.shape, iter(slots)))
        return vec_from(part.shape, iter(slots))


def alike(table: np.ndarray[Any, Any], mine: Mask) -> Iterator[tuple[list[int], Mask]]:
    """The different columns of a table with one for each of these ranks, and the ranks of each."""
    distinct, inverse = np.unique(table, axis=1, return_inverse=True)
    if distinct.shape[1] > MOST_GROUPS:
        raise too_many(distinct.shape[1])
    places = np.flatnonzero(mine)
    for n, column in enumerate(distinct.T.tolist()):
        some = np.zeros_like(mine)
        some[places[inverse.reshape(-1) == n]] = True
        yield column, some


def _least(value: Elastic) -> int:
    """The smallest integer of a value, as far as it is not endless."""
    if isinstance(value, Groups):
        return min((_least(vec) for _, vec in value.groups), default=0)
    vec = value.vec if isinstance(value, Columns) else value
    return (vec.smallest() or 0) if isinstance(vec, Vec) else 0


def too_many(groups: int) -> ExtrapolationError:
    """The error for a value that would make the trace as large as the number of ranks."""
    return ExtrapolationError(f"a value that changes from call to call differs on {groups} ranks: too many")
