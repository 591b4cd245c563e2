"""From the symbolic trace to a trace: every formula evaluated for one grid.

What it costs depends on the number of nodes; masks over all ranks, one per condition, are the only thing as
long as there are ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, cast

import numpy as np

from extrap.communicators import family_of
from extrap.compressing import ranks_of_mask, vec_of_array
from extrap.contents import TABLES, Tables
from extrap.counters import MOST_RUNS, chain_of
from extrap.errors import ExtrapolationError, InputError
from extrap.expression import LARGEST, evaluate, names_of
from extrap.fields import RANKWISE, runs_once
from extrap.grid import Grid
from extrap.model import Model, ParamRule, Rule
from extrap.peers import Places
from extrap.shapes import cycle, join, vec_from
from extrap.timing_rules import Timing
from scalatrace.trace.compress import vec_of
from scalatrace.trace.elastic import Columns, Elastic, Groups, at
from scalatrace.trace.nodes import Encoding, Event, Node, Peer, PredStats, Sequence
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.symbolic import CYCLE, INDEXED, LOOPED, Field, Part
from scalatrace.trace.tables import Kind, Op, Stat
from scalatrace.trace.trace import START, Trace
from scalatrace.trace.values import SPECIAL_MAX, Vec

Mask = np.ndarray[Any, np.dtype[np.bool_]]

Piece = tuple[Any, Mask]
"""A vec and its ranks, or an array over all ranks of which these count."""

Around = tuple[Elastic, ...]
"""The repeats of the loops around something, the outermost first."""

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
        if len(set(seen)) == 1 and side != seen[0]:
            raise InputError(
                f"all traces have {name} = {seen[0]}, a grid of {grid} has {side}: none shows what follows "
                f"from {name}; add a trace with another"
            )
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
        self._places = Places(model.families, grid)
        self._masks: dict[str, Mask] = {}
        self._ranks: dict[bytes, RankList] = {}

    def trace(self) -> Trace:
        everyone = np.ones(self.grid.nprocs, dtype=bool)
        nodes = [made for rule in self.model.nodes if (made := self.node(rule, everyone, ())) is not None]
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

    def node(self, rule: Rule, ranks: Mask, around: Around) -> Node | None:
        """The node for those of these ranks that take part; None when nobody does."""
        pieces = [running(*piece) for piece in self.pieces(rule.repeat, ranks, None, around)]
        pieces = [(value, mine) for value, mine in pieces if mine.any()]
        part = np.zeros_like(ranks)
        for _, mine in pieces:
            part |= mine
        if not part.any():
            return None
        repeat = self.gathered(pieces, ranks)
        if _least(repeat) < 0:
            what = " at ".join([rule.op or "a loop", *rule.stack[:1]])
            raise ExtrapolationError(f"{what} would run {_least(repeat)} times on {self.grid} ranks")
        inside = around if runs_once(rule.repeat) else (*around, repeat)
        if rule.op is None:
            made = (self.node(child, part, inside) for child in rule.children)
            children = tuple(child for child in made if child is not None)
            return Sequence(repeat, children) if children else None
        signature = self.signature(rule.stack)
        params = tuple(self.param(rule, param, part, inside) for param in rule.params)
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

    def param(self, event: Rule, rule: ParamRule, ranks: Mask, inside: Around) -> Elastic | Peer:
        """A parameter of the ranks that take part."""
        pieces = self.pieces(rule.field, ranks, rule.kind, inside)
        value = self.gathered(pieces, ranks)
        if rule.name.endswith("count") and SPECIAL_MAX <= _least(value) < 0:
            raise ExtrapolationError(f"a {rule.name} would be {_least(value)} on {self.grid} ranks")
        if rule.kind is not Kind.PEER:
            return value
        encoding = rule.encoding or Encoding.ABSOLUTE
        what = f"{rule.name} of {event.op} at {''.join(event.stack[:1])}"
        for one, mine in pieces:
            self._places.check(what, _family(event), encoding, one, mine)
        return Peer(encoding, value)

    def mask(self, condition: str) -> Mask:
        """The ranks of a condition."""
        if condition not in self._masks:
            found = np.asarray(evaluate(condition, self.env), dtype=bool)
            self._masks[condition] = np.broadcast_to(found, (self.grid.nprocs,))
        return self._masks[condition]

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

    def gathered(self, pieces: list[Piece], ranks: Mask) -> Elastic:
        """The elastic value of pieces over ranks; those that are in none of them are in no group."""
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

    def by_rank(self, pieces: list[Piece]) -> Elastic:
        """Groups, for values of which some change from execution to execution and some from rank to rank."""
        by_vec: dict[Vec, list[int]] = {}
        for value, mine in pieces:
            for rank in np.flatnonzero(mine).tolist():
                vec = value if isinstance(value, Vec) else Vec(int(value[rank]))
                by_vec.setdefault(vec, []).append(rank)
        groups = [(RankList(ranks), vec) for vec, ranks in by_vec.items()]
        return Groups(sorted(groups, key=lambda group: group[0].first))

    def pieces(self, field: Field, ranks: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """A field's values over ranks: a vec with its ranks, or an array where each has one value."""
        divided = self.divided(field, ranks)
        return [piece for part, mine in divided for piece in self.of_part(part, mine, kind, around)]

    def of_part(self, part: Part, mine: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """A part's values."""
        if part.formulas is None:
            return []
        if part.shape == INDEXED:
            return self.indexed(part, mine)
        if part.shape == LOOPED:
            return self.looped(part, mine, around)
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
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            vec = self.counted(length, value, dict(zip(names, column, strict=True)))
            by_vec[vec] = by_vec[vec] | some if vec in by_vec else some
        return list(by_vec.items())

    def looped(self, part: Part, mine: Mask, around: Around) -> list[Piece]:
        """A part whose values follow the loops around it: a vec per set of coordinates and loops."""
        assert part.formulas is not None
        levels, text = int(part.formulas[0]), part.formulas[1]
        if not levels:
            value = self.slot(text, mine)
            return [(value if isinstance(value, np.ndarray) else Vec(value), mine)]
        inner, endless = around[-levels:], len(around) > levels
        names = sorted(names_of(text) & RANKWISE)
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            place = {**self.env, **dict(zip(names, column, strict=True))}
            for loops, these in alike_loops(inner, some):
                vec = self.along(text, place, loops, endless)
                by_vec[vec] = by_vec[vec] | these if vec in by_vec else these
        if len(by_vec) > MOST_GROUPS:
            raise too_many(len(by_vec))
        return list(by_vec.items())

    def places(self, names: list[str], mine: Mask) -> Iterator[tuple[list[int], Mask]]:
        """The different values of some names, and the ranks of each."""
        if not names:
            return iter([([], mine)])
        return alike(np.array([self.env[name][mine] for name in names]), mine)

    def along(self, text: str, place: Mapping[str, Any], loops: tuple[Vec, ...], endless: bool) -> Vec:
        """The vec along loops."""
        chain = chain_of(loops)
        assert chain is not None
        if not chain.small:
            raise ExtrapolationError(f"a value changes over more than {MOST_RUNS} executions: too many")
        columns = chain.columns(0)
        values = np.broadcast_to(evaluate(text, {**place, **columns}), (chain.runs,))
        return vec_along(values, endless)

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
    low = table.min(axis=1)
    spans = [int(top) + 1 for top in table.max(axis=1) - low]
    if prod(spans) > LARGEST:
        distinct, inverse = np.unique(table, axis=1, return_inverse=True)
    else:  # one number per column: far quicker to sort
        keys = np.ravel_multi_index(tuple(table - low[:, None]), spans)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        distinct = table[:, first]
    if distinct.shape[1] > MOST_GROUPS:
        raise too_many(distinct.shape[1])
    places = np.flatnonzero(mine)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1), minlength=distinct.shape[1]))
    for column, members in zip(distinct.T.tolist(), np.split(places[order], ends[:-1]), strict=True):
        some = np.zeros_like(mine)
        some[members] = True
        yield column, some


def alike_loops(around: Around, ranks: Mask) -> Iterator[tuple[tuple[Vec, ...], Mask]]:
    """The different loops around something that these ranks run, and the ranks of each."""
    if all(isinstance(repeat, Vec) for repeat in around):
        yield tuple(repeat for repeat in around if isinstance(repeat, Vec)), ranks
        return
    places = np.flatnonzero(ranks)
    if len(places) > MOST_GROUPS:
        raise too_many(len(places))
    found: dict[tuple[Vec, ...], list[int]] = {}
    for rank in places.tolist():
        loops = tuple(vec for repeat in around if (vec := at(repeat, rank)) is not None)
        found.setdefault(loops, []).append(rank)
    for loops, members in found.items():
        some = np.zeros_like(ranks)
        some[members] = True
        yield loops, some


def _family(event: Rule) -> int:
    """The communicator of an event, the world where it has none; -1 unless it is one and the same."""
    comm = next((param for param in event.params if param.kind is Kind.COMM), None)
    if comm is None:
        return 0
    first = comm.field.parts[0]
    plain = len(comm.field.parts) == 1 and first.shape is None and first.formulas
    return int(first.formulas[0]) if plain and first.formulas and first.formulas[0].isdigit() else -1


def running(repeat: Any, ranks: Mask) -> Piece:
    """A repeat and those of its ranks that run something."""
    if isinstance(repeat, Vec):
        return repeat, ranks & (repeat.constant != 0)
    return repeat, ranks & (repeat != 0)


def vec_along(values: np.ndarray[Any, Any], endless: bool) -> Vec:
    """Values as a vec, that begins again where loops further out do."""
    if (values == values[0]).all():
        return Vec(int(values[0]))
    if len(values) <= MOST_LISTED:
        row = values.tolist()
        return cycle(row) if endless else vec_of(row)
    vec = vec_of_array(values)
    return Vec(((0, 0, *cast("tuple[Any, ...]", vec.terms)),)) if endless else vec


def _least(value: Elastic) -> int:
    """The smallest integer of a value, as far as it is not endless."""
    if isinstance(value, Groups):
        return min((_least(vec) for _, vec in value.groups), default=0)
    vec = value.vec if isinstance(value, Columns) else value
    return (vec.smallest() or 0) if isinstance(vec, Vec) else 0


def too_many(groups: int) -> ExtrapolationError:
    """The error for a value that would make the trace as large as the number of ranks."""
    return ExtrapolationError(f"a value that changes from call to call differs on {groups} ranks: too many")
