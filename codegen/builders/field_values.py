"""The fields of a symbolic trace as expressions: of a rank's place, and of how often a node ran before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from scalatrace.codegen.builders.formula import FormulaReader, divided_evenly
from scalatrace.codegen.builders.pieces import FieldPiece, join_pieces
from scalatrace.codegen.builders.places import RankPlaces, atoms_of, opposite
from scalatrace.codegen.builders.position import BuilderPosition
from scalatrace.codegen.builders.sample import Mask, RankSample
from scalatrace.codegen.builders.sums import no_rule, sum_of_formula, sum_of_turns
from scalatrace.codegen.builders.tables import ELEMENT, TABLES, ProgramTables
from scalatrace.codegen.builders.vectors import at, prefix, row
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.communicators import own_rank, peer_count
from scalatrace.codegen.program.grid_shape import Array, GridShape, Requirement
from scalatrace.codegen.program.peers import SELF, WORLD, decoder
from scalatrace.formula import (
    FALSE,
    TRUE,
    Cond,
    Const,
    Expr,
    Function,
    Symbolic,
    Value,
    Var,
    add,
    all_of,
    compare,
    either,
    format_text,
    map_leaves,
    mul,
    names_in,
    number,
    sub,
)
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import nonnegative, remainder
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import (
    CYCLE,
    INDEXED,
    LOOPED,
    Field,
    ParamRule,
    Part,
    SymbolicTrace,
    events,
)
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.counters import NAMED, is_counter
from scalatrace.trace.symbolic.field import ELEMENTS, SUMMED_ELEMENTS, levels_of
from scalatrace.trace.symbolic.shapes import join

__all__ = ["FieldValues"]


@dataclass(frozen=True, eq=False)
class _Share:
    """A part of a field with the ranks that have it."""

    ranks: Mask
    cond: Cond
    part: Part


@dataclass
class FieldValues:
    """Makes expressions, and notes what they ask of sides and parameters."""

    model: SymbolicTrace
    shape: GridShape
    functions: Mapping[str, Function]
    tables: ProgramTables = field(default_factory=ProgramTables)
    requirements: dict[Requirement, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reader = FormulaReader(self.shape.variables(), self.functions)
        self.facts = _facts(self.shape)
        self.sample = RankSample(self.shape)
        atoms = [atom for cond in _conditions(self.model) for atom in atoms_of(self.condition(cond))]
        self.places = RankPlaces(self.sample, list(dict.fromkeys(atoms)))

    def condition(self, cond: Cond) -> Cond:
        """A condition of the trace, in variables of the program."""
        return self.reader.condition(cond, self.facts)

    def shares(self, value: Field, ranks: Mask) -> list[_Share]:
        """The parts of a field that some of these ranks have, `nothing` left out."""
        shares, remaining = [], ranks
        before: Cond = FALSE
        for part in value.parts:
            condition = self.condition(part.condition)
            mine = remaining & self.sample.mask(condition)
            if mine.any() and part.formulas is not None:
                exact = not ((self.sample.mask(condition) ^ mine) & ranks).any()
                share = _Share(mine, condition if exact else all_of(condition, opposite(before)), part)
                shares.append(share)
                self._require_shown(share)
            remaining = remaining & ~mine
            before = either(before, condition)
        return shares

    def value(self, value: Field, position: BuilderPosition, name: str = "") -> Expr:
        """Return a number for the ranks at a position."""
        pieces = [self._piece(s, position, name) for s in self.shares(value, position.ranks)]
        return number(self._join(pieces, position))

    def entry_count(self, position: BuilderPosition, depth: int = 0) -> Expr:
        """Return how often a position was entered in this iteration of the loop at a depth (0: in all)."""
        if len(position.loops) <= depth:
            return Const(0)
        if depth not in position.known:
            turn = position.loops[-1]
            position.known[depth] = add(self.before(turn.repeat, turn.outer, depth), turn.index)
        return position.known[depth]

    def before(self, value: Field, position: BuilderPosition, depth: int = 0) -> Expr:
        """Return the sum of a field over earlier entries in this iteration of the loop at a depth."""
        if len(position.loops) <= depth or self.entry_count(position, depth) == Const(0):
            return Const(0)
        pieces = [self._prefix(s, position, depth) for s in self.shares(value, position.ranks)]
        return number(self._join(pieces, position))

    def parameter(self, rule: ParamRule, position: BuilderPosition, family: Expr) -> Value:
        """A parameter of a call on a communicator."""
        pieces = []
        for share in self.shares(rule.field, position.ranks):
            piece = self._piece(share, position, rule.name if rule.name.endswith("count") else "", rule.kind)
            if rule.kind is Kind.PEER and rule.encoding not in (None, Encoding.ABSOLUTE):
                assert rule.encoding is not None
                decoded = self._decoder(rule.encoding, family, position.facts)
                piece = FieldPiece(piece.ranks, map_leaves(piece.e, decoded), piece.cond)
            pieces.append(piece)
        return self._join(pieces, position)

    def _join(self, pieces: list[FieldPiece], position: BuilderPosition) -> Value:
        return join_pieces(self.places, pieces, position.ranks)

    def _piece(
        self, share: _Share, position: BuilderPosition, name: str, kind: Kind | None = None
    ) -> FieldPiece:
        part, facts = share.part, position.facts
        assert part.formulas is not None
        if part.shape == LOOPED:
            e = self.reader.value(part.formulas[1], facts, self._counters(part, position))
        elif part.shape == INDEXED:
            e = self.reader.value(part.formulas[1], facts, {"i": self.entry_count(position)})
        elif part.shape == CYCLE:
            turn = remainder(self.entry_count(position), Const(len(part.formulas)), facts)
            e = row(list(self._slots(share, facts)), turn)
        elif part.shape in (ELEMENTS, SUMMED_ELEMENTS):
            e = self._array(part, facts)
        elif kind in TABLES:
            assert kind is not None
            e = self.tables.index(
                kind, part.shape, self._slots(share, facts), lambda: self.entry_count(position), facts
            )
        elif part.shape is None:
            e = next(self._slots(share, facts, name))
        else:
            e = at(join(part.shape, self._slots(share, facts)), self.entry_count(position), facts)
        return FieldPiece(share.ranks, e, share.cond)

    def _array(self, part: Part, facts: Domain) -> Const:
        """Which entry an array is whose elements follow a formula."""
        assert part.formulas is not None
        if levels_of(part):
            raise GenerateError("an array changes from one iteration of a loop to the next by a formula")
        length = self.reader.number(number(part.formulas[1]), facts)
        with_element = facts.within(ELEMENT, Const(0), length)
        if part.shape == SUMMED_ELEMENTS:
            element: Value = sum_of_formula(number(part.formulas[2]), ELEMENT, self.reader, with_element)
        else:
            element = self.reader.value(part.formulas[2], with_element, {"i": ELEMENT})
        return self.tables.array(Array(length, ELEMENT, element))

    def _prefix(self, share: _Share, position: BuilderPosition, depth: int) -> FieldPiece:
        part, facts = share.part, position.facts
        assert part.formulas is not None
        if part.shape is None:
            e: Value = mul(self.entry_count(position, depth), number(next(self._slots(share, facts))))
        elif part.shape == LOOPED:
            e = self._prefix_of_turns(part, position, depth)
        else:
            end = self.entry_count(position)
            e = self._prefix_to(share, end, facts)
            if depth:
                start = sub(end, self.entry_count(position, depth))
                e = sub(number(e), self._prefix_to(share, start, facts))
        return FieldPiece(share.ranks, e, share.cond)

    def _prefix_to(self, share: _Share, n: Expr, facts: Domain) -> Expr:
        """The sum of the first n values."""
        part = share.part
        assert part.formulas is not None
        if part.shape == INDEXED:
            return sum_of_formula(number(part.formulas[1]), n, self.reader, facts)
        if part.shape == CYCLE:
            return prefix([(Const(0), Const(0), *self._slots(share, facts))], n, facts)
        return prefix(join(part.shape, self._slots(share, facts)), n, facts)

    def _prefix_of_turns(self, part: Part, position: BuilderPosition, depth: int) -> Expr:
        """The sum of what follows the innermost loop's counters; that loop runs equally often each time."""
        assert part.formulas is not None
        formula, turn = number(part.formulas[1]), position.loops[-1]
        counters = self._counters(part, position)
        if not names_in(formula) & counters.keys():
            return mul(self.entry_count(position, depth), self.reader.number(formula, position.facts))
        sums = partial(sum_of_turns, formula, times=turn.times, reader=self.reader, facts=position.facts)
        outer = {name: e for name, e in counters.items() if name not in ("i1", "l1")}
        begun = sums(n=turn.index, names=outer)
        if len(position.loops) - 1 == depth and "i" not in names_in(formula):
            return begun
        if names_in(formula) & outer.keys() or any(p.shape is not None for p in turn.repeat.parts):
            raise no_rule(formula)
        return add(mul(self.entry_count(turn.outer, depth), sums(n=turn.times, names={})), begun)

    def _counters(self, part: Part, position: BuilderPosition) -> dict[str, Expr]:
        """What the counters in a part's formula stand for."""
        assert part.formulas is not None
        levels, formula = levels_of(part), part.formulas[1]
        inner = position.loops[::-1][: min(levels, NAMED)]
        counters = {}
        for n, turn in enumerate(inner, 1):
            counters[f"i{n}"] = turn.index
            counters[f"l{n}"] = sub(sub(turn.times, Const(1)), turn.index)
        if "i" in names_in(formula):
            counters["i"] = self.entry_count(position, len(position.loops) - levels)
        return counters

    def _slots(self, share: _Share, facts: Domain, name: str = "") -> Iterator[Value]:
        """The integers of a part; what has to hold for them to be integers is noted."""
        for formula in share.part.formulas or ():
            e = self.reader.value(formula, facts)
            if (fraction := divided_evenly(formula)) is not None:
                text = format_text(formula)
                dividend, by = (self.reader.number(part, self.facts) for part in fraction)
                remaining = remainder(dividend, by, self.facts)
                self._require(compare("==", remaining, Const(0)), self._where(share), f"{text} is a fraction")
            if name and not isinstance(e, Const | Symbolic) and not nonnegative(e, self.facts):
                complaint = f"{name} = {format_text(formula)} is negative"
                self._require(compare(">=", e, Const(0)), self._where(share), complaint)
            yield e

    def _require_shown(self, share: _Share) -> None:
        """Note at which sizes the traces show how a parameter is divided."""
        for division, rival in share.part.rivals:
            names = names_in(division)
            if any(is_counter(name) for name in names):  # on every rank in some iteration
                pairs = [(n, s) for n in self.shape.inputs for s in self.shape.sizes if {n, s} <= names]
                for n, s in pairs:
                    remaining = remainder(
                        self.reader.number(Var(n), self.facts),
                        self.reader.number(Var(s), self.facts),
                        self.facts,
                    )
                    self._require(
                        compare("==", remaining, Const(0)),
                        TRUE,
                        f"no trace shows {n} that {s} does not divide",
                    )
                continue
            first, rival_number = (self.reader.number(formula, self.facts) for formula in (division, rival))
            texts = f"{format_text(division)} and {format_text(rival)}"
            complaint = f"{texts} are equal in all traces, but not here"
            self._require(compare("==", first, rival_number), self._where(share), complaint)

    def _where(self, share: _Share) -> Cond:
        """Return the condition that holds on the ranks with this part; if none is found, the part's own."""
        if not (self.sample.mask(share.cond) ^ share.ranks).any():
            return share.cond
        try:
            return self.places.cond(share.ranks, np.ones_like(share.ranks), share.cond)
        except GenerateError:
            return share.cond

    def _require(self, cond: Cond, where: Cond, complaint: str) -> None:
        self.requirements[Requirement(either(opposite(where), cond), complaint)] = None

    def _decoder(self, encoding: Encoding, family: Expr, facts: Domain) -> Callable[[Expr], Expr]:
        rank_expr = self._own(family)

        def modulo(distance: Expr) -> Expr:
            size = self.shape.variables()["P"] if family == WORLD else peer_count(family)
            forward = distance if nonnegative(distance, facts) else add(distance, size)
            return remainder(add(rank_expr, forward), size, facts)

        return decoder(encoding, rank_expr, modulo)

    def _own(self, family: Expr) -> Expr:
        if family == WORLD:
            return self.shape.variables()["r"]
        return Const(0) if family == SELF else own_rank(family)


def _facts(shape: GridShape) -> Domain:
    """Coordinates are below the sides."""
    names = shape.variables()
    lower: dict[Var, Expr] = {}
    upper: dict[Var, Expr] = {}
    for size, coord in zip(shape.sizes, shape.coords, strict=True):
        lower[names[coord]], upper[names[coord]] = Const(0), sub(names[size], Const(1))
    lower[names["r"]], upper[names["r"]] = Const(0), sub(names["P"], Const(1))
    return Domain(lower, upper)


def _conditions(model: SymbolicTrace) -> Iterator[Cond]:
    for rule in events(model.nodes):
        for value in (rule.repeat, *(p.field for p in rule.params)):
            yield from (part.condition for part in value.parts)
