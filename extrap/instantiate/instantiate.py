"""Instantiate a symbolic trace: evaluate every formula for one grid.

The cost depends on the number of nodes. Only masks and columns have one element per rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from scalatrace.errors import FormatError, FormulaError
from scalatrace.extrap.errors import (
    CorruptModelError,
    ExtrapolationError,
    InputError,
    NegativeError,
    UndeterminedError,
    UndeterminedPeerError,
)
from scalatrace.extrap.grid.communicators import expanded, families_of
from scalatrace.extrap.grid.target import check_dimensions, check_sides
from scalatrace.extrap.instantiate.ambiguity import Decode, check_encodings
from scalatrace.extrap.instantiate.peers import Places
from scalatrace.extrap.instantiate.pieces import Around
from scalatrace.extrap.instantiate.ranks import Ints, Mask, Ranks
from scalatrace.extrap.instantiate.unvaried import check_parameters
from scalatrace.extrap.instantiate.values import OnRival, Values, refuse
from scalatrace.extrap.timing.assemble import with_a_sample_per_call
from scalatrace.extrap.timing.rules import Timing, no_times
from scalatrace.formula import Const
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups, at
from scalatrace.trace.model.nodes import Event, Node, Peer, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.symbolic.evaluate import Ends
from scalatrace.trace.symbolic.field import Field, Part, runs_once
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import SPECIAL_MAX

Idle = frozenset[int] | None
"""Under a repeat by formulas: those of some ranks that do not run it; None: masks tell who does."""

__all__ = ["Made", "instantiate", "made_with_rivals"]


def instantiate(
    model: SymbolicTrace,
    grid: Grid,
    inputs: Mapping[str, int],
    timing: Timing,
    accept_unconfirmed: bool = False,
) -> Trace:
    """Instantiate the trace on a grid.

    Args:
        accept_unconfirmed: whether formulas count that the traces do not determine there.

    Raises:
        InputError: the grid has another number of dimensions, a parameter is missing, or no trace shows what
            follows from its value.
        UndeterminedError: the traces do not determine what happens there.
        ExtrapolationError: a formula has no value there.
    """
    check_dimensions(grid, len(model.sizes))
    missing = [name for name in model.inputs if name not in inputs]
    if missing:
        raise InputError(f"the traces have a parameter {missing[0]}: say which it is to be (--param)")
    if not accept_unconfirmed:
        check_sides(grid, [dims for dims, _ in model.seen])
        check_parameters(model, inputs)
    return _Maker(model, grid, inputs, timing, None if accept_unconfirmed else refuse).trace()


@dataclass(frozen=True, slots=True)
class Made:
    """A trace without times, and its origin.

    Attributes:
        events: each event's rule and node.
        rivals: formulas with a rival that gives another value; the trace has the values of the formulas.
        encodings: rules of peers that formulas in another encoding contradict.
    """

    trace: Trace
    ranks: Ranks
    events: list[tuple[Rule, Event]]
    rivals: list[tuple[Field, Part, UndeterminedError]]
    encodings: list[ParamRule]


def made_with_rivals(model: SymbolicTrace, grid: Grid, inputs: Mapping[str, int]) -> Made:
    """Instantiate as `instantiate`, but list formulas that the traces do not determine."""
    rivals: list[tuple[Field, Part, UndeterminedError]] = []
    maker = _Maker(model, grid, inputs, no_times, lambda *rival: rivals.append(rival), lists_encodings=True)
    return Made(maker.trace(), maker.values.ranks, maker.events, rivals, maker.encodings)


class _Maker:
    def __init__(
        self,
        model: SymbolicTrace,
        grid: Grid,
        inputs: Mapping[str, int],
        timing: Timing,
        on_rival: OnRival | None,
        lists_encodings: bool = False,
    ) -> None:
        self.model, self.grid, self.timing, self.check = model, grid, timing, on_rival is not None
        self.encodings: list[ParamRule] = []
        self._lists_encodings = lists_encodings
        self.values = Values(grid, inputs, on_rival)
        self.events: list[tuple[Rule, Event]] = []
        self.ops = {op.name: i for i, op in enumerate(model.ops)}
        self.frames: dict[str, int] = {}
        self.signatures: dict[tuple[int, ...], int] = {(): 0}
        self.preds: dict[tuple[int, int], int] = {START: 0}
        families = [family for family, _ in expanded(model.families, self.values.ranks.env)]
        self._places = Places(families, grid)

    def trace(self) -> Trace:
        try:
            return self._trace()
        except ExtrapolationError:
            raise
        except FormatError as error:
            raise CorruptModelError(str(error)) from None
        except FormulaError as error:
            raise ExtrapolationError(str(error)) from None

    def _trace(self) -> Trace:
        everyone = np.ones(self.grid.nprocs, dtype=bool)
        nodes = [self.node(rule, everyone, (), None) for rule in self.model.nodes]
        trace = Trace(
            nprocs=self.grid.nprocs,
            meta=dict(self.model.meta),
            ops=list(self.model.ops),
            stats=list(self.model.stats),
            frames=list(self.frames),
            signatures=list(self.signatures),
            comms=families_of(self.model.families, self.grid, self.values.ranks.env, self.check),
            types=list(self.values.pieces.tables.types),
            strings=list(self.values.pieces.tables.strings),
            arrays=list(self.values.pieces.tables.arrays),
            preds=list(self.preds),
            load=[None] * len(self.model.stats),
            nodes=[node for node in nodes if node is not None],
        )
        if self.timing is not no_times:
            with_a_sample_per_call(trace)
        return trace

    def node(self, rule: Rule, ranks: Mask, around: Around, idle: Idle) -> Node | None:
        """Return the node for those of these ranks that take part; None when nobody does."""
        with located(f"repeat of {_name(rule)}"):
            found = self.values.repeat(rule.repeat, ranks, around)
        if found is None:
            return None
        repeat, part = found
        if (least := self.least(repeat, idle)) < 0:
            raise NegativeError(f"{_name(rule)} would run {least} times on {self.grid} ranks")
        if isinstance(repeat, Formulas) or idle is not None:
            idle = (idle or frozenset()) | self.never(repeat)
        inside = around if runs_once(rule.repeat) else (*around, repeat)
        if rule.op is None:
            nodes = (self.node(child, part, inside, idle) for child in rule.children)
            children = tuple(child for child in nodes if child is not None)
            return Sequence(repeat, children) if children else None
        signature = self.signature(rule.stack)
        params = tuple(self.param(rule, param, part, inside, idle) for param in rule.params)
        event = Event(repeat, self.ops[rule.op], signature, params, self.stats(rule))
        self.events.append((rule, event))
        return event

    def signature(self, stack: tuple[str, ...]) -> int:
        frames = tuple(self.frames.setdefault(frame, len(self.frames)) for frame in stack)
        return self.signatures.setdefault(frames, len(self.signatures))

    def stats(self, rule: Rule) -> tuple[PredStats, ...]:
        """Return the histograms at this size, by predecessor."""
        result = []
        for stat in rule.stats:
            if stat.pred is None:
                pred = self.preds[START]
            elif stat.pred[0] in self.ops:
                key = self.ops[stat.pred[0]], self.signature(stat.pred[1])
                pred = self.preds.setdefault(key, len(self.preds))
            else:
                continue  # the largest trace has no such call
            histograms = self.timing(rule.op or "", stat.histograms)
            if any(h is not None for h in histograms):
                result.append(PredStats(pred, histograms))
        return tuple(result)

    def param(self, event: Rule, rule: ParamRule, ranks: Mask, inside: Around, idle: Idle) -> Elastic | Peer:
        """Return a parameter of the ranks that take part."""
        with located(f"{rule.name} of {_name(event)}"):
            value, pieces = self.values.param(rule.field, ranks, rule.kind, inside)
        if rule.name.endswith("count") and SPECIAL_MAX <= (least := self.least(value, idle)) < 0:
            raise NegativeError(f"a {rule.name} would be {least} on {self.grid} ranks")
        if rule.kind is not Kind.PEER:
            return value
        encoding = rule.encoding or Encoding.ABSOLUTE
        what = f"{rule.name} of {_name(event)}"
        family = _family(event)
        with located(what):
            decoder = partial(self._places.decoder, family)
            if self.check:
                self.check_encodings(rule, ranks, inside, decoder)
        for one, mine in self.corners(value, idle) if pieces is None or idle is not None else pieces:
            self._places.check(what, family, encoding, one, mine)
        return Peer(encoding, value)

    def check_encodings(
        self, rule: ParamRule, ranks: Mask, inside: Around, decoder: Callable[[int], Decode | None]
    ) -> None:
        """Raise UndeterminedPeerError where formulas in two encodings give other peers, or list the rule."""
        try:
            check_encodings(self.values.ranks, rule, ranks, inside, self.values.sample.corners, decoder)
        except UndeterminedPeerError:
            if not self._lists_encodings:
                raise
            self.encodings.append(rule)

    def corners(self, value: Elastic, idle: Idle) -> list[tuple[Ends, Ints]]:
        """Return the least and the greatest value of some ranks, which stand for all."""
        looked_at = (rank for rank in self.values.sample.corners if rank not in (idle or ()))
        return [(ends, np.array([rank])) for rank in looked_at if (ends := _ends(value, rank)) is not None]

    def never(self, repeat: Elastic) -> frozenset[int]:
        """Return the corner ranks that never execute a node."""
        found = ((rank, _ends(repeat, rank)) for rank in self.values.sample.corners)
        return frozenset(rank for rank, ends in found if ends is None or ends == (0, 0))

    def least(self, value: Elastic, idle: Idle) -> int:
        """Return the smallest integer of a value that is not endless; of formulas, at the corners."""
        if idle is not None or isinstance(value, Formulas):
            lows = [low for (low, _), _ in self.corners(value, idle)]
        elif isinstance(value, Groups):
            lows = [vec.smallest() for _, vec in value.groups]
        else:
            lows = [(value.vec if isinstance(value, Columns) else value).smallest()]
        return min((low or 0 for low in lows), default=0)


def _name(rule: Rule) -> str:
    """Return a node's name for messages."""
    return " at ".join([rule.op or "a loop", *rule.stack[:1]])


@contextmanager
def located(what: str) -> Iterator[None]:
    """Say in errors what could not be evaluated."""
    try:
        yield
    except (UndeterminedError, UndeterminedPeerError) as error:
        raise error.of(what) from None
    except ExtrapolationError as error:
        raise ExtrapolationError(f"{what}: {error}") from None


def _ends(value: Elastic, rank: int) -> Ends | None:
    """Return the least and the greatest value of a rank; None when it has none."""
    if isinstance(value, Formulas):
        return value.ends(rank)
    vec = at(value, rank)
    return None if vec is None else (vec.smallest(), vec.largest())


def _family(event: Rule) -> int:
    """Return the communicator of an event, the world where it has none; -1 unless it is one and the same."""
    comm = next((param for param in event.params if param.kind is Kind.COMM), None)
    if comm is None:
        return 0
    first = comm.field.parts[0]
    if len(comm.field.parts) > 1 or first.shape is not None or not first.formulas:
        return -1
    family = first.formulas[0]
    return family.value if isinstance(family, Const) else -1
