"""Prove that messages and collective calls of a model match, on all sizes related as those of the traces.

Trip counts and counts must not be negative. Each rank sends another as many messages with a tag as that
receives from it, none longer than its buffer. Peers are in their communicator. Its members make equally
many calls of each collective operation, with one root and equally many elements. The order of other calls
is not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

from scalatrace.errors import FormulaError
from scalatrace.extrap.matching import check_sizes
from scalatrace.extrap.proofs.endpoints import Endpoint, Path, endpoints, family_of_event, paths, site
from scalatrace.extrap.proofs.messages import FamilyMessages, MessageGroup
from scalatrace.extrap.proofs.prover import OUT_OF_TIME, Prover, Refuted
from scalatrace.extrap.proofs.scenario import OTHER, Scenario, scenarios
from scalatrace.extrap.proofs.values import Unprovable, loops_of, rename_variables, total
from scalatrace.formula import TRUE, Cond, Const, Expr, Var, all_of, compare, format_text, names_in
from scalatrace.formula.prove import Proved, available
from scalatrace.formula.rewrite import Substitution
from scalatrace.operations import MESSAGES, Category, operation
from scalatrace.trace.consistency.partners import is_counted
from scalatrace.trace.model.symbolic import FamilyRule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["CollectiveCalls", "Open", "Proofs", "available", "prove_model"]

MATCHED = (*MESSAGES, Category.PERSISTENT, Category.START)
"""Operations that send or receive, or will."""

ERRORS = (Unprovable, Refuted, FormulaError)
"""Why something is not proved; no formula computes with MPI's special values."""

MAX_CONFIRMED = 4_096
"""Events of a model, times ranks, up to which a possible counterexample is confirmed."""


@dataclass(frozen=True, slots=True)
class Open:
    """A call without a proof, or a counterexample.

    Attributes:
        site: the call, in words; "" of a counterexample.
        reason: what was not proved, or why; of a counterexample, which calls do not fit together.
        grid, inputs: of a counterexample, the size and the parameters.
    """

    site: str
    reason: str
    grid: Grid | None = None
    inputs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Proofs:
    """Proved and unproved claims about a model.

    Attributes:
        sizes: for which sizes, in words.
        calls: number of calls (events of the model) that send, receive or are collective.
        proved: how many of them are proved.
        open: the others.
        seconds: time taken.
    """

    sizes: str
    calls: int
    proved: int
    open: tuple[Open, ...]
    seconds: float

    def line(self) -> str:
        """Return the result in one line."""
        if self.complete:
            return f"proved for all sizes with {self.sizes}"
        if any(one.reason == OUT_OF_TIME for one in self.open):
            return f"proved for {self.proved} of {self.calls} calls in {self.seconds:.0f} s, then time was up"
        return f"proved for {self.proved} of {self.calls} calls, for all sizes with {self.sizes}"

    @property
    def counterexample(self) -> Open | None:
        """A size on which calls do not fit together, if one was found."""
        return next((one for one in self.open if one.grid is not None), None)

    @property
    def complete(self) -> bool:
        """Return whether all calls were proved to match."""
        return not self.open

    def plain(self) -> dict[str, Any]:
        """Return the proofs as plain data."""
        rows = [
            {
                "call": claim.site,
                "reason": claim.reason,
                "grid": str(claim.grid or ""),
                "ranks": claim.grid.nprocs if claim.grid else None,
                "params": dict(claim.inputs),
            }
            for claim in self.open
        ]
        return {
            "sizes": self.sizes,
            "calls": self.calls,
            "proved": self.proved,
            "open": rows,
            "seconds": round(self.seconds, 3),
        }


def prove_model(model: SymbolicTrace, seconds: float) -> Proofs:
    """Prove that the calls of a model fit together.

    Args:
        model: the symbolic trace.
        seconds: time after which what is left stays open.
    """
    start = monotonic()
    unproved: dict[tuple[str, str], Open] = {}
    calls = {id(path[-1]): site(path[-1]) for path in paths(model.nodes) if _is_matched(path)}
    wrong: set[int] = set()
    cases = scenarios(model)
    for scenario in cases:
        for rule, claim in _ScenarioProof(model, scenario, start + seconds).open():
            wrong.add(rule)
            unproved.setdefault((claim.site, claim.reason), claim)
    texts = dict.fromkeys(map(str, cases))
    proved = len(calls.keys() - wrong)
    return Proofs("; or ".join(texts), len(calls), proved, tuple(unproved.values()), monotonic() - start)


def _is_matched(path: Path) -> bool:
    row = operation(path[-1].op or "")
    return is_counted(row.name) or row.category in MATCHED or row.is_matched_probe


class _ScenarioProof:
    def __init__(self, model: SymbolicTrace, scenario: Scenario, deadline: float) -> None:
        self.model, self.scenario = model, scenario
        self.prover = Prover(scenario, deadline)
        self.paths = list(paths(model.nodes))
        self._conflicts: dict[tuple[Grid, tuple[tuple[str, int], ...]], Open | None] = {}

    def open(self) -> Iterator[tuple[int, Open]]:
        """Yield unproved calls, each with the identity of its event."""
        yield from self._numbers()
        yield from self._messages()
        yield from self._collectives()

    def _numbers(self) -> Iterator[tuple[int, Open]]:
        """Trip counts and counts that may be negative: such a size has no trace."""
        for path in filter(_is_matched, self.paths):
            try:
                loops = loops_of(self.prover.scenario, path)
                before: Cond = TRUE
                for row in loops.rows:
                    self._require_natural("it runs a number of times", before, row.trips)
                    before = all_of(before, row.runs())
                for param in path[-1].params:
                    if param.kind is Kind.INT and param.name.endswith("count"):
                        self._require_natural(
                            f"its {param.name} is a number", before, loops.number(param.field)[0]
                        )
            except Unprovable:
                continue  # those steps that need the number say so
            except (Refuted, FormulaError) as error:
                yield id(path[-1]), self._open(path, error)

    def _require_natural(self, what: str, given: Cond, value: Expr) -> None:
        if not isinstance(value, Const) or value.value < 0:
            self.prover.require(f"{what} that is not negative", given, compare(">=", value, Const(0)))

    def _messages(self) -> Iterator[tuple[int, Open]]:
        if any(op.name == "Cancel" for op in self.model.ops):
            yield from ((id(path[-1]), Open(site(path[-1]), "messages are cancelled")) for path in self.paths)
            return
        known: dict[int, list[tuple[Path, Endpoint]]] = defaultdict(list)
        unknown: list[tuple[int | None, str]] = []
        for path in self.paths:
            try:
                self.prover.require_time()
                for endpoint in endpoints(self.model, self.prover, path):
                    known[endpoint.family].append((path, endpoint))
            except ERRORS as error:
                claim = self._open(path, error)
                unknown.append((_family(path), f"{claim.site}: {claim.reason}"))
                yield id(path[-1]), claim
        for family, rows in known.items():
            because = next(
                (text for family_of_claim, text in unknown if family_of_claim in (family, None)), None
            )
            messages = FamilyMessages(self.prover, [endpoint for _, endpoint in rows])
            for require in (MessageGroup.require_partners, MessageGroup.require_room):
                for path, endpoint in rows:
                    try:
                        if because:
                            raise Unprovable(
                                f"a call that may send to it or receive from it is not followed ({because})"
                            )
                        self.prover.require_time()
                        require(messages.group_of(endpoint), endpoint)
                    except ERRORS as error:
                        yield id(path[-1]), self._open(path, error)

    def _collectives(self) -> Iterator[tuple[int, Open]]:
        groups: dict[tuple[str, int, str], list[Path]] = defaultdict(list)
        for path in self.paths:
            op = path[-1].op or ""
            if not is_counted(op):
                continue
            try:
                groups[op, family_of_event(path[-1]), _on(path)].append(path)
            except Unprovable as error:
                yield id(path[-1]), self._open(path, error)
        for (op, family, _), group in groups.items():
            flow = operation(op).equal_block
            agreed = ["root", *([flow.count] if flow else [])]
            try:
                if flow is None and any("count" in param.name for param in group[0][-1].params):
                    raise Unprovable("whether its members give fitting counts is not compared")
                self.prover.require_time()
                calls = CollectiveCalls(self.prover, self.model.families[family], group, agreed)
                calls.require_members()
            except ERRORS as error:
                yield from ((id(path[-1]), self._open(path, error)) for path in group)
                continue
            for path in group:
                try:
                    calls.require_agreement(path)
                except ERRORS as error:
                    yield id(path[-1]), self._open(path, error)

    def _open(self, path: Path, error: Exception) -> Open:
        if not isinstance(error, Refuted):
            return Open(site(path[-1]), str(error))
        values = error.found.values
        at = Substitution({name: Const(value) for name, value in values.items()})
        sides = (at.number(side) for side in self.scenario.sides)
        dims = tuple(side.value for side in sides if isinstance(side, Const))
        inputs = {name: values.get(name, default) for name, default in self.model.seen[-1][1].items()}
        is_made_so = not self.scenario.powers or all(side & (side - 1) == 0 for side in dims)
        conflict = self._conflict(Grid(dims, self.model.column_major), inputs) if is_made_so else None
        return conflict or Open(site(path[-1]), f"no proof was found that {error}")

    def _conflict(self, grid: Grid, inputs: Mapping[str, int]) -> Open | None:
        """Return a mismatch of calls at a size; None if there is none, or the size is too large to check."""
        key = grid, tuple(sorted(inputs.items()))
        if key not in self._conflicts:
            self._conflicts[key] = None
            if len(self.paths) * grid.nprocs <= MAX_CONFIRMED and not self.prover.is_over():
                (size,) = check_sizes(self.model, inputs, [grid])
                if size.conflict:
                    self._conflicts[key] = Open("", size.conflict, grid, key[1])
        return self._conflicts[key]


def _family(path: Path) -> int | None:
    try:
        return family_of_event(path[-1])
    except Unprovable:
        return None


def _on(path: Path) -> str:
    """Return the window or file of a call, as its formulas."""
    for param in path[-1].params:
        if param.name in ("win", "fh"):
            parts = param.field.parts
            return " ".join(
                format_text(f) for part in parts for f in (part.condition, *(part.formulas or ()))
            )
    return ""


class CollectiveCalls:
    """The calls of one collective operation on one communicator (and window or file)."""

    def __init__(
        self, prover: Prover, family: FamilyRule, paths: Sequence[Path], agreed: Sequence[str]
    ) -> None:
        if family.slices is None and any(not self._by_all(prover, path) for path in paths):
            raise Unprovable("its communicator is no slice of the grid")
        self.prover, self.paths, self.agreed = prover, paths, agreed
        names = [
            prover.scenario.grid.coords[axis] for axis in family.slices or range(len(prover.scenario.sides))
        ]
        self._other = Substitution({name: Var(name + OTHER) for name in names})
        self._names = set(names)

    @staticmethod
    def _by_all(prover: Prover, path: Path) -> bool:
        """Return whether all ranks make the calls of a node, equally often."""
        times = loops_of(prover.scenario, path).times()
        return not names_in(times) & set(prover.scenario.grid.coords)

    def require_members(self) -> None:
        """Prove that any two members make equally many calls. Raises Refuted or Unprovable."""
        if not self._is_in_step:
            times = total([(TRUE, loops_of(self.prover.scenario, path).times()) for path in self.paths])
            self._require_same("another member makes as many calls", TRUE, times, TRUE, times)

    def require_agreement(self, path: Path) -> None:
        """Prove that any two members of a call name one root, and equally many elements.

        Where all members make the same calls in the same order, they are compared with each other, else all
        with all.

        Raises:
            Refuted, Unprovable: they may not.
        """
        for partner_path in [path] if self._is_in_step else self.paths:
            for name in self.agreed:
                runs, value = self._value(path, name)
                there, partner_value = self._value(partner_path, name)
                if value is None or partner_value is None:
                    continue
                if not self._is_in_step:
                    by = rename_variables(names_in(there, partner_value))
                    there, partner_value = by.condition(there), by.number(partner_value)
                self._require_same(f"another member gives the same {name}", runs, value, there, partner_value)

    def _value(self, path: Path, name: str) -> tuple[Cond, Expr | None]:
        """When a call is made, and a parameter of it."""
        loops = loops_of(self.prover.scenario, path)
        param = next((param for param in path[-1].params if param.name == name), None)
        return loops.active(), None if param is None else loops.number(param.field)[0]

    @cached_property
    def _is_in_step(self) -> bool:
        """Whether all members make each of the calls, equally often in each iteration of the loops around."""
        trips = (row.trips for path in self.paths for row in loops_of(self.prover.scenario, path).rows)
        return all(
            isinstance(self.prover.holds(TRUE, compare("==", e, self._other.number(e))), Proved)
            for e in trips
            if names_in(e) & self._names
        )

    def _require_same(self, what: str, given: Cond, value: Expr, there: Cond, others: Expr) -> None:
        """Prove that a value is that of another member, wherever both have one."""
        others, there = self._other.number(others), self._other.condition(there)
        if value != others:
            self.prover.require(what, all_of(given, there), compare("==", value, others))
