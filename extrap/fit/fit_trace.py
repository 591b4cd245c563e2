"""Fit a symbolic trace: a field per repeat and parameter of aligned nodes (§3.2.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.escapes import clean
from scalatrace.extrap.alignment.align import Aligned, align, aligned_nodes, with_repeated_events
from scalatrace.extrap.alignment.canonical_folding import Foldings, foldings_of
from scalatrace.extrap.alignment.rank_tree import RankNode, normalize_vec
from scalatrace.extrap.alignment.unrolling import short_loops, unroll_loops
from scalatrace.extrap.errors import ExtrapolationError, NoFormulaError, PollingError, UnconfirmedError
from scalatrace.extrap.fit import fit_field as fields
from scalatrace.extrap.fit import searched
from scalatrace.extrap.fit.fit_types import (
    BY_INDEX,
    BY_LOOPS,
    EFFORTS,
    PER_PART,
    PLAIN,
    Chains,
    Samples,
)
from scalatrace.extrap.fit.held_out import (
    Mismatch,
    first_mismatch,
    is_ambiguous,
    is_predictable,
    misprediction_error,
)
from scalatrace.extrap.fit.lists.array_forms import ArrayForm, array_form
from scalatrace.extrap.fit.lists.neighbour_counts import fit_neighbour_count
from scalatrace.extrap.fit.lists.neighbour_lists import fit_neighbour_arrays
from scalatrace.extrap.fit.lists.open_requests import Path, fit_open_requests, open_requests
from scalatrace.extrap.fit.partners import RankPeers, encode_peers, vec_of_rank
from scalatrace.extrap.fit.pickled import short_forms
from scalatrace.extrap.fit.symmetry import formulas_of_sides, mirror_space
from scalatrace.extrap.fit.table_values import MAX_SHORT_VALUES, TABLES, as_sums, table_content
from scalatrace.extrap.fit.undetermined.coincidences import without_coincidences, without_logarithms
from scalatrace.extrap.fit.undetermined.partial_trips import decided_by_partial_trips
from scalatrace.extrap.fit.undetermined.rivals import (
    apart,
    shares_of_numbers,
    with_rivals,
    with_rivals_that,
    without_refuted,
)
from scalatrace.extrap.fit.undetermined.siblings import decided_by_siblings
from scalatrace.extrap.fit.undetermined.stage_counts import stages_among, with_logarithms
from scalatrace.extrap.grid.communicators import fit_families
from scalatrace.extrap.grid.space import Run, Space
from scalatrace.extrap.search.costs import bits_of_literals, formula_bits
from scalatrace.extrap.search.judge import MARGIN, MIN_TRACES
from scalatrace.extrap.search.shared_parts import shared_parts
from scalatrace.extrap.solve.features import torus
from scalatrace.extrap.solve.numbered_names import Widths, widths_of
from scalatrace.extrap.workers import SHARES, MpiRanks, each
from scalatrace.formula import Const, Expr, Var, names_in
from scalatrace.formula import Value as Formula
from scalatrace.predefined import DATATYPES
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import Field, ParamRule, Rule, Shape, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.symbolic.counters import Chain
from scalatrace.trace.symbolic.field import EVERYWHERE, Part, runs_once
from scalatrace.trace.symbolic.shapes import Parts, vec_parts
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Explain", "Fitted", "Fitter", "assemble_model", "fit", "where"]

Explain = Callable[[NoFormulaError], SymbolicTrace | None]
"""From the error of values without rule to a model that explains them."""


def fit(
    traces: Sequence[Trace],
    runs: Sequence[Run],
    workers: int = 1,
    accept_unconfirmed: bool = False,
    foldings: Foldings | None = None,
    explain: Explain | None = None,
    alignment: str = "",
) -> SymbolicTrace:
    """Fit the symbolic trace of traces of one program on several numbers of ranks.

    Args:
        traces, runs: what is known.
        workers: processes that share the events among them.
        accept_unconfirmed: whether formulas count that the traces do not confirm, where there are no others.
        foldings: of the traces, if they exist already.
        explain: gives a model with a parameter that explains the values without rule of an error, before
            alternatives to the recorded nodes are sought, which takes much longer.
        alignment: the only one to try, with those that it needs; "": all.

    Raises:
        ExtrapolationError: they do not align, or something follows no rule; says what and where.
    """
    space, foldings = Space(runs), foldings or foldings_of(traces)
    fitter = Fitter(traces, space, workers, foldings)
    try:
        if explain is not None and (model := _explained(fitter, explain)) is not None:
            return model
        nodes = fitter.rules(alignment)
    except ExtrapolationError:
        if not accept_unconfirmed:
            raise
        fitter = Fitter(traces, space, workers, foldings, accept_unconfirmed)
        nodes = fitter.rules(alignment)
    return replace(assemble_model(traces, runs, nodes), alignment=fitter.alignment)


def _explained(fitter: Fitter, explain: Explain) -> SymbolicTrace | None:
    """Return the model of `explain` where the recorded nodes have values without rule.

    If calls of a tree have no formula, `explain` is called before loops over stages are tried: where the size
    of the problem is unknown, counts have no formula in any alignment.
    """
    unruled = fitter.unruled_trees
    if unruled is not None and (model := explain(unruled)) is not None:
        return model
    try:
        fitter.aligned_rules()
    except NoFormulaError as error:
        return None if unruled is not None or isinstance(error, PollingError) else explain(error)
    except ExtrapolationError:
        pass
    return None


def assemble_model(traces: Sequence[Trace], runs: Sequence[Run], nodes: tuple[Rule, ...]) -> SymbolicTrace:
    """Return the symbolic trace of these nodes. Raises ExtrapolationError for communicators without rule."""
    last = traces[-1]
    return SymbolicTrace(
        sizes=runs[0].grid.sizes,
        column_major=runs[0].grid.column_major,
        inputs=tuple(sorted(runs[0].inputs)),
        seen=tuple((run.grid.dims, dict(run.inputs)) for run in runs),
        nodes=nodes,
        families=fit_families(traces, runs),
        ops=list({op.name: op for trace in traces for op in trace.ops}.values()),
        stats=list(last.stats),
        meta=dict(last.meta),
    )


TOLERANCE = 1e-9
"""Weights that differ by less are equal."""

PREFERRED = (Encoding.RELATIVE, Encoding.MODULO, Encoding.ABSOLUTE, Encoding.XOR)
"""The order in which encodings of a peer are tried, after those that the traces have."""


REQUESTS = frozenset({"request", "requests", "index", "indices"})
"""Parameters that follow from the calls which make requests."""

GRID = "dims"
"""The parameter that makes a grid, which that of the ranks is found from."""

MAX_NEIGHBOUR_LENGTHS = 3
"""Lengths of neighbour lists. With more, there are three dimensions: other rules would be sought long."""

MAX_LISTED = 1 << 10
"""Partners of a rank that are looked at for stages of a tree."""

NO_TRIP = Parts(None, (0,))
"""The repeat of a loop that runs 0 times: it is not in the trace."""

Found = TypeVar("Found")

Fitted = tuple[Field, tuple[ParamRule, ...]]
"""Of an event: how often it runs, and its parameters."""


_Failed = tuple[Sequence[Aligned], list[tuple[Aligned, Chains]], list[Fitted | NoFormulaError]]
"""Nodes of which some events have no rules: the events with the loops around them, and their results."""

NOT_SOUGHT = NoFormulaError("no rules were sought, since another event has none")
"""The result of events that do not matter then."""

Sites = frozenset[tuple[str, tuple[str, ...]]]
"""Operations and call sites."""


class _Spaces:
    """The ranks of all traces, and of all but the largest if these have to predict it."""

    def __init__(self, whole: Space) -> None:
        self.whole = whole
        held_out = is_predictable(whole.runs) and not whole.accept_unconfirmed
        self.smaller = whole.variant(whole.runs[:-1]) if held_out else None


class TreeAlignment(StrEnum):
    """How the nodes of traces are aligned, in the order in which that is tried.

    RECORDED: as recorded and in canonical form. MARKED: different calls of one site apart. STAGED: with loops
    over the stages of trees; tried second if the first value without a formula belongs to such calls.
    SHARED_PARTS: as RECORDED, with formulas that consist of parts of others.
    """

    RECORDED = "recorded"
    MARKED = "marked"
    STAGED = "staged"
    SHARED_PARTS = "shared parts"


class Fitter:
    """Fitter of nodes: events in parallel or one after the other.

    Attributes:
        alignment: that of the rules which were found; "" before.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        space: Space,
        workers: int = 1,
        foldings: Foldings | None = None,
        accept_unconfirmed: bool = False,
        unruled: Sites | None = None,
    ) -> None:
        """Prepare a fit.

        Args:
            foldings: of the traces, if they exist already.
            unruled: events without rules in another alignment, which are fitted first; None: the alignments
                are those of this fitter.
        """
        self.traces, self.space, self._workers, self._accept = traces, space, workers, accept_unconfirmed
        self._has_shared_parts = unruled is None and len(space.runs) >= MIN_TRACES  # fewer confirm no search
        self._unruled = unruled or Sites()
        self._given_foldings = foldings
        self._of_partners = _Spaces(space)
        self._of_others = _Spaces(space.variant(partners=False))
        self._fitted: dict[int, Fitted] = {}
        self._by_symmetry: Space | None = None
        self._makers: dict[int, tuple[Path, ...]] = {}
        self._failed: list[_Failed] = []
        self._untried = self.alignments()
        self.alignment = ""
        self._around: dict[int, Chains] = {}
        self._chains: dict[tuple[Chain | None, Vec, int], Chain] = {}
        self._outside: Chains = dict.fromkeys(range(int(space.starts[-1])))
        self.run_of = [(int(k), int(p - space.starts[k])) for p, k in enumerate(space.all_runs())]

    @cached_property
    def _accepting(self) -> Fitter:
        """The fitter whose formulas need not be confirmed."""
        return Fitter(self.traces, self.space.variant(accept_unconfirmed=True))

    def _confirmed_first(self, find: Callable[[Fitter], Found]) -> Found:
        """Return the fit by confirmed formulas, or else, if they are accepted, by others."""
        try:
            return find(self)
        except ExtrapolationError:
            if not self._accept:
                raise
        return find(self._accepting)

    @cached_property
    def _of_torus(self) -> _Spaces:
        return _Spaces(self.space.variant(given=torus(self.space.names)))

    @cached_property
    def _widths(self) -> Widths:
        """The widths of the numbers in names, such as those of files."""
        return widths_of(text for trace in self.traces for text in trace.strings)

    @cached_property
    def _foldings(self) -> Foldings:
        """Every rank's tree."""
        return self._given_foldings or foldings_of(self.traces)

    def alignments(self) -> Iterator[tuple[Aligned, ...]]:
        """Yield the trees as recorded and in canonical form, aligned; the more similar ones first.

        If these follow no rules, events that are repeated are loops of one call, and loops may end within
        their body.
        """
        canonical = self._foldings.canonical
        aligned = [align(trees) for trees in (self._foldings.trees, canonical) if trees is not None]
        yield from sorted(aligned, key=aligned_nodes)
        if canonical is not None and (looped := with_repeated_events(canonical)) is not None:
            yield align(looped)
        if (partial := self._foldings.with_partial_trips) is not None:
            yield align(with_repeated_events(partial) or partial)

    def rules(self, only: str = "") -> tuple[Rule, ...]:
        """Return the rules of all nodes of all trees.

        Args:
            only: the alignment to try, with those that it needs or that come before it; "": all.

        Raises:
            ExtrapolationError: there are none; that of the recorded nodes.
        """
        alternatives = {
            TreeAlignment.MARKED: self._by_marks,
            TreeAlignment.STAGED: lambda: self._staged_rules,
            TreeAlignment.SHARED_PARTS: self._with_shared_parts,
        }
        unruled: ExtrapolationError = NoFormulaError(f"no formulas were found for nodes aligned as {only}")
        if only not in (TreeAlignment.MARKED, TreeAlignment.STAGED):
            try:
                return self.aligned_rules()
            except PollingError:
                raise
            except ExtrapolationError as error:
                unruled = error
        for alignment, alternative in alternatives.items():
            if only in ("", alignment) and (found := alternative()) is not None:
                self.alignment = alignment
                return found
        raise unruled

    def aligned_rules(self) -> tuple[Rule, ...]:
        """Return the rules of the nodes of `alignments`.

        If the first value without a formula belongs to a call of a tree, loops over stages are tried second.
        Raises the first ExtrapolationError.
        """
        if isinstance(self._aligned, ExtrapolationError):
            raise self._aligned
        return self._aligned

    @cached_property
    def _aligned(self) -> tuple[Rule, ...] | ExtrapolationError:
        """The rules of `aligned_rules`, or why there are none."""
        if self.unruled_trees is not None and self._staged_rules is not None:
            self.alignment = TreeAlignment.STAGED
            return self._staged_rules
        self.alignment = TreeAlignment.RECORDED
        if not isinstance(self._recorded, ExtrapolationError):
            return self._recorded
        others = (self._rules_or_error(nodes) for nodes in self._untried)
        return next((rules for rules in others if not isinstance(rules, ExtrapolationError)), self._recorded)

    @cached_property
    def _recorded(self) -> tuple[Rule, ...] | ExtrapolationError:
        """The rules of the first of `alignments`, or why there are none."""
        result = self._rules_or_error(next(self._untried))
        self._unruled = frozenset(
            _site(node)
            for _, events, results in self._failed
            for (node, _), found in zip(events, results, strict=True)
            if isinstance(found, NoFormulaError) and found is not NOT_SOUGHT
        )
        return result

    @cached_property
    def unruled_trees(self) -> NoFormulaError | None:
        """The error of the first quantity without rule, if it belongs to calls that are stages of trees."""
        error = self._recorded
        if not isinstance(error, NoFormulaError) or isinstance(error, PollingError) or not error.sites:
            return None
        return None if error.sites.isdisjoint(self._foldings.staged_sites) else error

    def _rules_or_error(self, nodes: tuple[Aligned, ...]) -> tuple[Rule, ...] | ExtrapolationError:
        try:
            return self._rules(nodes)
        except ExtrapolationError as error:
            return error

    def marked(self) -> tuple[Aligned, ...] | None:
        """Align the trees with different calls of one call site apart; None if there are none."""
        trees = self._foldings.by_marks
        return None if trees is None else align(trees)

    def _by_marks(self) -> tuple[Rule, ...] | None:
        """Return the rules of `marked` trees; None: there are none."""
        marked = self.marked()
        try:
            return None if marked is None else self._rules(marked)
        except ExtrapolationError:
            return None

    @cached_property
    def _staged_rules(self) -> tuple[Rule, ...] | None:
        """Return the rules of the trees with loops over stages; None when there are none, or no rules."""
        fitter: Fitter | None = None
        for by_site, with_marks in product((False, True), repeat=2):
            staged = self._foldings.by_stages(with_marks, by_site)
            if staged is None:
                continue
            space = self.space.variant(stages=True)
            fitter = fitter or Fitter(
                self.traces, space, self._workers, self._foldings, self._accept, self._unruled
            )
            try:
                return fitter._rules(align(staged))
            except ExtrapolationError:
                continue
        return None

    def _rules(self, nodes: tuple[Aligned, ...]) -> tuple[Rule, ...]:
        """Return the rules of nodes; short loops around calls without rules are unrolled."""
        try:
            self._fitted = self.all_events(nodes, self._outside)
        except NoFormulaError:
            unrolled = unroll_loops(nodes, self._without_rules(nodes), lambda point: self.run_of[point][1])
            if unrolled is None:
                raise
            return self._rules(unrolled)
        return self._ruled(nodes)

    def _without_rules(self, nodes: Sequence[Aligned]) -> set[int]:
        """Return the events without rules, by identity."""
        return {
            id(event)
            for failed, events, results in self._failed
            if failed is nodes
            for (event, _), result in zip(events, results, strict=True)
            if isinstance(result, NoFormulaError)
        }

    def _ruled(self, nodes: Sequence[Aligned]) -> tuple[Rule, ...]:
        """Return the rules of all nodes, of which the events are fitted."""
        rules = self.nodes(nodes, self._outside)
        self._fitted.clear()
        return self.decided(nodes, rules)

    def decided(self, nodes: Sequence[Aligned], rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Return the rules with formulas that hold for all nodes of each call site."""
        return decided_by_siblings(self.space, nodes, rules)

    def all_events(self, nodes: Sequence[Aligned], around: Chains) -> dict[int, Fitted]:
        """Fit all events, by identity; retry unconfirmed ones with the formulas of the others."""
        self.space.shared_parts.clear()
        events = list(self._leaves(nodes, around))
        self._makers |= {id(node): makers for node, makers in open_requests(nodes) if makers}
        results = self._attempt_needed(nodes, events)
        if any(isinstance(result, NoFormulaError) for result in results):
            self._failed.append((nodes, events, results))
        elif len(self.space.runs) >= MIN_TRACES:
            self._retry(events, results)
        if any(isinstance(result, UnconfirmedError) for result in results):
            known = formulas_of_sides(self.space, (result for result in results if isinstance(result, tuple)))
            self._by_symmetry = mirror_space(self.space, known)
        fitted: dict[int, Fitted] = {}
        for (node, inside), result in zip(events, results, strict=True):
            if result is NOT_SOUGHT:
                continue  # another one has no rules: it is raised
            if isinstance(result, NoFormulaError):
                if self._by_symmetry is None or not isinstance(result, UnconfirmedError):
                    raise result
                result = self._event(node, inside)
            fitted[id(node)] = result
        return fitted

    def _with_shared_parts(self) -> tuple[Rule, ...] | None:
        """Return the rules with formulas that consist of parts of others; None if there are none."""
        if not self._has_shared_parts:
            return None
        for nodes, events, results in self._failed:
            self._retry(events, results)
            fitted = {
                id(node): result
                for (node, _), result in zip(events, results, strict=True)
                if isinstance(result, tuple)
            }
            if len(fitted) < len(results):
                continue
            self._fitted = fitted
            try:
                return self._ruled(nodes)
            except ExtrapolationError:
                continue
        return None

    def _retry(
        self, events: Sequence[tuple[Aligned, Chains]], results: list[Fitted | NoFormulaError]
    ) -> None:
        """Replace results without rules, or with rivals, by those of parts of the formulas of others."""
        before = len(results)
        while 0 < len(unsure := [k for k, result in enumerate(results) if _is_unsure(result)]) < before:
            before = len(unsure)
            # Unsure formulas would confirm themselves.
            fields = (field for result in results if isinstance(result, tuple) for field in _fields(result))
            sure = (field for field in fields if not _has_long_rivals(field))
            self.space.shared_parts[:] = shared_parts(self.space, _formulas(sure))
            again = self._attempt_all([events[k] for k in unsure])
            for k, result in zip(unsure, again, strict=True):
                results[k] = result if _is_better_known(self.space, results[k], result) else results[k]

    def _attempt_needed(
        self, nodes: Sequence[Aligned], events: Sequence[tuple[Aligned, Chains]]
    ) -> list[Fitted | NoFormulaError]:
        """Return the results of events up to one without rules, and of those that decide on unrolled loops.

        Events that had no rules in the first alignment come first. All results matter where formulas may
        consist of parts of others, or follow from those of another dimension.
        """
        if self._has_shared_parts or fields.has_few_sides(self.space):
            return self._attempt_all(events)
        order = sorted(range(len(events)), key=lambda k: _site(events[k][0]) not in self._unruled)
        at_once = SHARES * self._workers if self._workers > 1 else 1
        results: list[Fitted | NoFormulaError] = [NOT_SOUGHT] * len(events)

        def attempt(numbers: Sequence[int]) -> bool:
            """Fill in these results; return whether all have rules."""
            found = self._attempt_all([events[k] for k in numbers])
            for k, result in zip(numbers, found, strict=True):
                results[k] = result
            return not any(isinstance(result, NoFormulaError) for result in found)

        if all(attempt(order[start : start + at_once]) for start in range(0, len(order), at_once)):
            return results
        for k, result in enumerate(results):
            if result is NOT_SOUGHT:
                self._check_parameters(events[k][0])
        number = {id(event): k for k, (event, _) in enumerate(events)}
        for loop in short_loops(nodes):
            inside = [number[id(event)] for event in loop]
            left = [k for k in inside if results[k] is NOT_SOUGHT]
            if self._of_others.smaller is not None:  # a misprediction decides before loops are unrolled
                attempt(left)
            elif all(k in left or isinstance(results[k], tuple) for k in inside):
                for k in left:
                    if not attempt([k]):
                        break  # one is enough to unroll the loop
        return results

    def _check_parameters(self, node: Aligned) -> None:
        """Raise the ExtrapolationError of an event whose parameters cannot be compared."""
        for at, (_, kind) in enumerate(self._params(node)):
            if kind is Kind.PEER:
                self._peers(node, at)

    def _attempt_all(self, events: Sequence[tuple[Aligned, Chains]]) -> list[Fitted | NoFormulaError]:
        """Return the result of each event; workers leave those that need a new search to this process."""
        if isinstance(self._workers, MpiRanks) or self._workers < 2:
            return each(lambda event: self._attempt(*event), events, self._workers)
        results = each(
            lambda event: searched.with_known_searches(lambda: self._attempt(*event)), events, self._workers
        )
        return [
            self._attempt(*event) if result is None else result
            for event, result in zip(events, results, strict=True)
        ]

    def _attempt(self, node: Aligned, around: Chains) -> Fitted | NoFormulaError:
        try:
            return self._event(node, around)
        except NoFormulaError as error:
            return error

    def _leaves(self, nodes: Sequence[Aligned], around: Chains) -> Iterator[tuple[Aligned, Chains]]:
        """Yield the events of nodes, with the loops around them."""
        for node in nodes:
            self._around[id(node)] = around
            if node.key is not None:
                yield node, around
            else:
                repeat = self._repeat(node, around)  # which is wrong before what is in it
                yield from self._leaves(node.children, self._inside(node, repeat, around))

    def nodes(self, nodes: Sequence[Aligned], around: Chains) -> tuple[Rule, ...]:
        """Return the rules of nodes within these loops."""
        return tuple(self.node(node, around) for node in nodes)

    def node(self, node: Aligned, around: Chains) -> Rule:
        """Return the rule of a node within these loops, for points that reach or may reach it."""
        if node.key is None:
            repeat = self._repeat(node, around)
            children = self.nodes(node.children, self._inside(node, repeat, around))
            decided = decided_by_partial_trips(self.space, repeat, node.nodes, children)
            repeat = decided or self._found("repeat", node, self._repeats(node, around), around, None)
            return Rule(self._unsure_of_stages(node, repeat), children=children)
        repeat, params = self._fitted.get(id(node)) or self._event(node, around)
        repeat = self._unsure_of_stages(node, repeat)
        return Rule(repeat, node.key.op, node.key.stack, params, tuple(self._stats(node)))

    def _unsure_of_stages(self, node: Aligned, repeat: Field) -> Field:
        """A repeat that may be the number of stages of a tree, which is the same in all traces, as such."""
        if not any(
            isinstance(one, Const) and one.value > 1 for part in repeat.parts for one in part.formulas or ()
        ):
            return repeat
        for event in _events_in(node):
            repeat = with_logarithms(self.space, repeat, min(self._stages(event, node)))
        return repeat

    def _stages(self, event: Aligned, node: Aligned) -> list[int]:
        """How many stages the partners of an event show in each trace, of which a turn of a loop has one."""
        counts = [0] * len(self.space.runs)
        for at, (_, kind) in enumerate(self._params(event)):
            try:
                peers = self._peers(event, at) if kind is Kind.PEER else {}
            except ExtrapolationError:
                continue  # its communicator changes from call to call
            for k, run in enumerate(self.space.runs):
                here = [
                    (peer.ranks(MAX_LISTED), peer.own, peer.size)
                    for point, peer in peers.items()
                    if self.run_of[point][0] == k
                    and (event is node or (point in node.nodes and peer.times <= node.nodes[point].runs))
                ]
                strides = tuple({prod(run.grid.dims[d:]) for d in range(1, len(run.grid.dims) + 1)})
                counts[k] = max(counts[k], stages_among(here, strides, event is node))
        return counts

    def _event(self, node: Aligned, around: Chains) -> Fitted:
        repeat = self._repeat(node, around)
        return repeat, self.parameters(node, self._inside(node, repeat, around))

    def _inside(self, node: Aligned, repeat: Field, around: Chains) -> Chains:
        """Return the loops of what is in a node: without the node itself where it always runs once."""
        return around if runs_once(repeat) else self._within(node, around)

    def _repeat(self, node: Aligned, around: Chains) -> Field:
        return self._confirmed_first(lambda fitter: fitter._repeat_found(node, around))

    def _repeat_found(self, node: Aligned, around: Chains) -> Field:
        samples = self._repeats(node, around)
        field = self._fit(samples, around, self._of_partners, repeats=True)
        if field is None and None in samples.values():
            zeros = {point: NO_TRIP if value is None else value for point, value in samples.items()}
            field = self._fit(zeros, around, self._of_partners)
            samples = samples if field is None else zeros
        if field is None or not _is_determined(field) or _may_count_neighbours(field):
            field = fit_neighbour_count(self.space, samples) or field
        return self._found("repeat", node, samples, around, field)

    def parameters(self, node: Aligned, inside: Chains) -> tuple[ParamRule, ...]:
        """Return the rules of an event's parameters."""
        return tuple(
            self.parameter(node, at, name, kind, inside) for at, (name, kind) in enumerate(self._params(node))
        )

    def parameter(self, node: Aligned, at: int, name: str, kind: Kind, inside: Chains) -> ParamRule:
        """Return the rule of a parameter."""
        return self._confirmed_first(lambda fitter: fitter._param(node, at, name, kind, inside))

    def _within(self, node: Aligned, around: Chains) -> Chains:
        """Return the loops of what is in this one."""
        result: dict[int, Chain | None] = {}
        for point, local in node.nodes.items():
            key = around[point], local.repeat, local.entry_count
            if key not in self._chains:
                self._chains[key] = Chain(*key)
            result[point] = self._chains[key]
        return result

    def _params(self, node: Aligned) -> tuple[tuple[str, Kind], ...]:
        nprocs = {trace.ops[event.op].params: trace.nprocs for _, trace, _, event in self._events(node)}
        if len(nprocs) != 1:
            lists = (
                f"({', '.join(name for name, _ in params)}) with {n} ranks" for params, n in nprocs.items()
            )
            raise ExtrapolationError(f"{where(node)} has parameters {', '.join(lists)}")
        return next(iter(nprocs))

    def divided_values(self, nodes: Sequence[Aligned]) -> Iterator[tuple[Ints, Ints]]:
        """Yield points and values of every count and repeat in these nodes, to find block sizes."""
        for node in nodes:
            yield from _columns(self._repeats(node, node.nodes))
            for at, (name, kind) in enumerate(self._params(node) if node.key is not None else ()):
                if kind is Kind.INT and "count" in name:
                    yield from _columns(self._samples(node, at, kind))
            yield from self.divided_values(node.children)

    def _events(self, node: Aligned) -> Iterator[tuple[int, Trace, RankNode, Event]]:
        for point, local in node.nodes.items():
            assert local.event is not None
            yield point, self.traces[self.run_of[point][0]], local, local.event

    def _repeats(self, node: Aligned, points: Iterable[int]) -> Samples:
        """Return the repeat of every rank; None where the node does not run."""
        samples: dict[int, Parts | None] = dict.fromkeys(points)
        for point, local in node.nodes.items():
            samples[point] = vec_parts(local.repeat, local.entry_count)
        return samples

    def _fit(
        self,
        samples: Samples,
        chains: Chains,
        spaces: _Spaces | None = None,
        repeats: bool = False,
        efforts: Sequence[int] = EFFORTS,
    ) -> Field | _Mispredicted | None:
        """Return the field through all samples.

        The simplest one of the smaller traces has to predict the largest. A field of all traces that is as
        simple is that one, though the smaller traces alone may not confirm it. Where these do not show how a
        parameter is divided, they predict nothing.
        """
        space, smaller = (spaces or self._of_others).whole, (spaces or self._of_others).smaller
        whole = fields.fit(space, samples, chains, repeats, efforts)
        if whole is None and efforts is EFFORTS:
            found = searched.fit(space, samples, chains)
            if found is not None:
                return found[0]
        if whole is not None and whole.weight and efforts is EFFORTS:
            whole = searched.judged(space, whole, samples)
        if smaller is None or whole is None or not whole.weight:
            return whole
        start = int(smaller.starts[-1])
        smaller_samples = {point: value for point, value in samples.items() if point < start}
        field = (
            fields.fit(smaller, smaller_samples, chains, repeats, efforts, whole.step)
            if smaller_samples
            else None
        )
        if field is None or whole.weight <= field.weight + TOLERANCE or field.parts == whole.parts:
            return whole
        mismatch = first_mismatch(space, field, samples, chains, start)
        if mismatch is None or is_ambiguous(space, with_rivals(smaller, field, smaller_samples), start):
            return whole
        return _Mispredicted(field.cost, mismatch)

    def _without_formula(
        self, what: str, samples: Samples, node: Aligned, name: str, kind: Kind | None
    ) -> NoFormulaError:
        """Return the error for a quantity of a node without a rule."""
        error = fields.no_formula_error(what, samples, self.space, _op(node), name, kind)
        if kind is Kind.PEER or name == "repeat":
            error.sites = frozenset(event.key for event in _events_in(node))
        return error

    def _found(
        self,
        name: str,
        node: Aligned,
        samples: Samples,
        chains: Chains,
        field: Field | _Mispredicted | None,
        kind: Kind | None = None,
    ) -> Field:
        """Return the field, or that of another dimension. Raises ExtrapolationError."""
        if field is None and self._by_symmetry is not None:
            field = fields.fit(self._by_symmetry, samples, chains, name == "repeat")
        what = f"{name} of {where(node)}"
        if field is None:
            raise self._without_formula(what, samples, node, name, kind)
        if isinstance(field, _Mispredicted):
            raise misprediction_error(what, self.space, field.mismatch, kind)
        if "count" not in name:
            field = _without_shares(self.space, field)
        elif self.space.inputs:
            field = without_logarithms(self.space, field)
        if name in REQUESTS:
            field = _without_constants(field)
        if name == GRID:
            field = _as_the_grid(self.space, field)
        field = _without_numbers_for_parameters(self.space, field)
        return without_refuted(self.space, with_rivals(self.space, field, samples), samples)

    def _param(self, node: Aligned, at: int, name: str, kind: Kind, inside: Chains) -> ParamRule:
        if kind is not Kind.PEER:
            return ParamRule(name, kind, self._plain(node, at, name, kind, inside))
        candidates: list[tuple[float, Encoding, Field | _Mispredicted]] = []
        decoded = self._peers(node, at)
        if len({peer.times for peer in decoded.values()}) > MAX_NEIGHBOUR_LENGTHS:
            relative = encode_peers(decoded, Encoding.RELATIVE)
            if (by_neighbours := fields.fit_neighbours(self.space, relative, inside)) is not None:
                return ParamRule(name, kind, by_neighbours, Encoding.RELATIVE)
        stored = Counter(peer.encoding for peer in decoded.values())
        order = sorted(Encoding, key=lambda e: (-stored[e], PREFERRED.index(e)))
        samples: dict[Encoding, Samples] = {}
        # In trees, formulas over the stages are sought even where formulas over ranks have all values.
        enough = fields.PER_RANK if self.space.names.stages else inf
        for effort in (PLAIN, BY_INDEX, BY_LOOPS):
            tried = effort > BY_INDEX and not self.space.names.butterflies
            if candidates and (tried or min(candidates, key=_cost)[0] < fields.PER_RANK):
                break
            for encoding in order:
                if any(encoding is known and cost < enough for cost, known, _ in candidates):
                    continue
                if encoding not in samples:
                    samples[encoding] = encode_peers(decoded, encoding)
                fitted = self._fit(samples[encoding], inside, self._of_partners, efforts=(effort,))
                if fitted is not None:
                    candidates.append((fitted.cost, encoding, fitted))
                if fitted is not None and fitted.cost < PER_PART and _is_determined(fitted):
                    break
        if not candidates or not _is_determined(min(candidates, key=_cost)[2]):
            relative = encode_peers(decoded, Encoding.RELATIVE)
            if (by_neighbours := fields.fit_neighbours(self.space, relative, inside)) is not None:
                return ParamRule(name, kind, by_neighbours, Encoding.RELATIVE)
        least = min(candidates, key=_cost, default=None)
        unsure = least is None or least[0] >= fields.PER_RANK or not _is_determined(least[2])
        if unsure and not self.space.one_sided(np.array(list(decoded), dtype=np.int64)):
            absolute = encode_peers(decoded, Encoding.ABSOLUTE)
            fitted = self._fit(absolute, inside, self._of_torus, efforts=(PLAIN,))
            if isinstance(fitted, Field) and len(fitted.parts) == 1:
                samples[Encoding.ABSOLUTE] = absolute
                candidates = [(fitted.cost, Encoding.ABSOLUTE, fitted)]
        if not candidates and (by_search := self._searched_peers(decoded, inside)) is not None:
            return ParamRule(name, kind, *by_search)
        if not candidates:
            what = f"{name} of {where(node)}"
            peers = encode_peers(decoded, Encoding.ABSOLUTE)
            raise self._without_formula(what, peers, node, name, kind)
        _, encoding, best = min(candidates, key=_cost)
        field = self._found(name, node, samples[encoding], inside, best)
        field = without_coincidences(self.space, _without_blocks(field))
        if encoding in (Encoding.RELATIVE, Encoding.MODULO):
            field = _confirmed_by_grid(self.space, field)
        rivals = tuple(
            (rival_encoding, rival)
            for _, rival_encoding, rival in candidates
            if rival_encoding is not encoding
            and isinstance(rival, Field)
            and rival.weight <= field.weight + TOLERANCE
        )
        return ParamRule(name, kind, field, encoding, rivals)

    def _searched_peers(
        self, decoded: Mapping[int, RankPeers], inside: Chains
    ) -> tuple[Field, Encoding] | None:
        """Return the shortest believed formulas of peers, and their encoding."""
        found: list[tuple[float, Field, Encoding]] = []
        for encoding in (Encoding.ABSOLUTE, Encoding.RELATIVE, Encoding.XOR):
            fitted = searched.fit(self.space, encode_peers(decoded, encoding), inside)
            if fitted is not None:
                found.append((fitted[1], fitted[0], encoding))
        if not found:
            return None
        _, field, encoding = min(found, key=lambda candidate: candidate[0])
        return field, encoding

    def _plain(self, node: Aligned, at: int, name: str, kind: Kind, inside: Chains) -> Field:
        """Fit a parameter that is not a peer; try short arrays as lists of sizes first."""
        if kind is Kind.ARRAY:
            samples = self._samples(node, at, kind, MAX_SHORT_VALUES)
            if name in REQUESTS and (opened := self._open_requests(node, at, samples, inside)) is not None:
                return opened
            by_value = self._fit(samples, inside) or self._of_pickles(node, samples, inside)
            if by_value is not None:
                return self._found(name, node, samples, inside, by_value, kind)
        samples = self._samples(node, at, kind)
        by_direction = self._by_direction(node, samples, inside) if kind is Kind.INT else None
        field = by_direction or self._fit(samples, inside)
        if field is None and kind is Kind.ARRAY and (form := self._array_form(node, at)) is not None:
            in_form = self._samples(node, at, kind, form=form)
            if (fitted := self._fit(in_form, inside)) is not None:
                return self._found(name, node, in_form, inside, fitted, kind)
        if field is None and kind is Kind.ARRAY and (arrays := self._arrays(node, at)) is not None:
            if (neighbours := fit_neighbour_arrays(self.space, arrays)) is not None:
                return neighbours
            by_element = searched.fit_arrays(self.space, arrays)
            if by_element is not None:
                return by_element[0]
        if field is None and kind in (Kind.INT, Kind.ARRAY):
            field = self._of_pickles(node, samples, inside)
        if kind is Kind.TYPE and isinstance(field, Field) and self._are_predefined(node, at):
            field = replace(field, parts=tuple(map(_with_known_sizes, field.parts)))
        return self._found(name, node, samples, inside, field, kind)

    def _open_requests(self, node: Aligned, at: int, samples: Samples, inside: Chains) -> Field | None:
        """Return the field of arrays of various lengths that name all open requests, if they do."""
        makers = self._makers.get(id(node))
        if makers is None or len(set(samples.values())) < 2:
            return None
        arrays = {point: list(found) for point, found in self._arrays_of_executions(node, at)}
        if not all(arrays.values()):
            return None
        own_loop = inside is not self._around[id(node)]
        return fit_open_requests(
            self.space,
            arrays,
            makers,
            lambda maker: self._repeat(maker, self._around[id(maker)]),
            inside,
            own_loop,
        )

    def _of_pickles(self, node: Aligned, samples: Samples, inside: Chains) -> Field | None:
        """Return the field of lengths of pickled objects, whose form changes; None if they are none."""
        for short in short_forms(samples) if self._sends_bytes(node) else ():
            field = self._fit(short.samples, inside)
            if isinstance(field, Field) and (lengthened := short.lengthened(field)) is not None:
                return lengthened
        return None

    def _sends_bytes(self, node: Aligned) -> bool:
        """Return whether all datatypes of a call are MPI_BYTE, as those of pickled objects."""
        types = [at for at, (_, kind) in enumerate(self._params(node)) if kind is Kind.TYPE]
        return bool(types) and all(
            number >= 0 and trace.datatype(number).description == "MPI_BYTE"
            for point, trace, _, event in self._events(node)
            for at in types
            if (number := vec_of_rank(event.params[at], self.run_of[point][1]).constant) is not None
        )

    def _are_predefined(self, node: Aligned, at: int) -> bool:
        """Whether a parameter names predefined datatypes only, whose sizes do not depend on anything."""
        for point, trace, _, event in self._events(node):
            used = vec_of_rank(event.params[at], self.run_of[point][1])
            numbers = used.first(node.nodes[point].runs) if used.constant is None else (used.constant,)
            if any(n >= 0 and trace.datatype(n).description not in DATATYPES for n in set(numbers)):
                return False
        return True

    def _array_form(self, node: Aligned, at: int) -> ArrayForm | None:
        """Return the pattern that the arrays of a parameter follow, if they do."""
        found: list[set[IntArray]] = [set() for _ in self.traces]
        for point, trace, _, event in self._events(node):
            run, rank = self.run_of[point]
            vec = vec_of_rank(event.params[at], rank)
            if vec.constant is None or vec.constant < 0:
                return None
            found[run].add(trace.arrays[vec.constant])
        return array_form(found)

    def _arrays(self, node: Aligned, at: int) -> dict[int, IntArray] | None:
        """Return each rank's array; None where it changes from execution to execution, or is none."""
        result: dict[int, IntArray] = {}
        for point, arrays in self._arrays_of_executions(node, at):
            if len(set(arrays)) != 1:
                return None
            result[point] = arrays[0]
        if any(array.summed for array in result.values()):
            result = {point: as_sums(array) for point, array in result.items()}
        return result

    def _arrays_of_executions(self, node: Aligned, at: int) -> Iterator[tuple[int, Sequence[IntArray]]]:
        """Yield the arrays of the executions of each rank: one if it is always the same; none if unknown."""
        for point, trace, local, event in self._events(node):
            vec = vec_of_rank(event.params[at], self.run_of[point][1])
            if vec.constant is not None:
                indices: Sequence[int] = (vec.constant,)
            else:
                indices = vec.first(local.runs) if local.runs <= MAX_LISTED else ()
            yield point, [trace.arrays[index] for index in indices] if min(indices, default=-1) >= 0 else []

    def _has_sums(self, node: Aligned, at: int) -> bool:
        """Return whether some rank's array is one of sums."""
        for point, trace, local, event in self._events(node):
            used = vec_of_rank(event.params[at], self.run_of[point][1])
            some = [used.constant] if used.constant is not None else used.first(min(local.runs, MAX_LISTED))
            if any(index >= 0 and trace.arrays[index].summed for index in set(some)):
                return True
        return False

    def _by_direction(self, node: Aligned, samples: Samples, inside: Chains) -> Field | None:
        """Return the field of a parameter of calls whose peers are lists of neighbours of many lengths."""
        if len(set(samples.values())) <= MAX_NEIGHBOUR_LENGTHS:
            return None
        for at, (_, kind) in enumerate(self._params(node)):
            if kind is Kind.PEER:
                peers = encode_peers(self._peers(node, at), Encoding.RELATIVE)
                return fields.fit_neighbours(self.space, peers, inside, samples, self._of_others.whole)
        return None

    def _samples(
        self, node: Aligned, at: int, kind: Kind, short: int = 0, form: ArrayForm | None = None
    ) -> Samples:
        samples: dict[int, Parts | None] = {}
        known: dict[tuple[int, Vec, int, int], Parts] = {}
        sums = kind is Kind.ARRAY and self._has_sums(node, at)
        for point, trace, local, event in self._events(node):
            vec, n = vec_of_rank(event.params[at], self.run_of[point][1]), local.runs
            key = id(trace), vec, n, local.width
            if key not in known:
                known[key] = (
                    table_content(trace, kind, vec, n, short, form, self._widths, sums)
                    if kind in TABLES
                    else vec_parts(normalize_vec(vec, n), n, local.width)
                )
            samples[point] = known[key]
        return samples

    def _peers(self, node: Aligned, at: int) -> dict[int, RankPeers]:
        """Every rank's peers as ranks of the communicator."""
        result = {}
        for point, trace, local, event in self._events(node):
            rank = self.run_of[point][1]
            param = event.params[at]
            assert isinstance(param, Peer)
            comm_at = trace.ops[event.op].position(Kind.COMM)
            family = 0 if comm_at is None else vec_of_rank(event.params[comm_at], rank).constant
            if family is None:
                raise ExtrapolationError(f"{where(node)}: its communicator changes from call to call")
            comm = trace.communicator(family, rank)
            size = max(len(comm.peers), 1)
            result[point] = RankPeers(
                vec_of_rank(param.value, rank), local.runs, local.width, param.encoding, comm.rank, size
            )
        return result

    def _stats(self, node: Aligned) -> Iterator[StatRule]:
        """Histograms per predecessor, which is found again by operation and stack."""
        by_pred: dict[tuple[str, tuple[str, ...]] | None, list[tuple[Any, ...]]] = {}
        seen: set[int] = set()
        for point, trace, _, event in self._events(node):
            k = self.run_of[point][0]
            for stats in event.stats:
                if id(stats) in seen:
                    continue
                seen.add(id(stats))
                op, signature = trace.preds[stats.pred]
                pred = None if op < 0 else (trace.ops[op].name, trace.stack(signature))
                rows = by_pred.setdefault(pred, [()] * len(self.traces))
                if _samples_in(stats.histograms) > _samples_in(rows[k]):
                    rows[k] = stats.histograms
        for pred, rows in by_pred.items():
            yield StatRule(pred, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Mispredicted:
    """Internal signal: a field follows from the smaller traces, but mispredicts the largest."""

    cost: float
    mismatch: Mismatch


def _without_numbers_for_parameters(space: Space, field: Field) -> Field:
    """Return the field without rivals that have long literals where its formulas have parameters."""
    inputs = set(space.inputs)

    def keep(formula: Expr, rival: Expr) -> bool:
        if not names_in(formula) & inputs or names_in(rival) & inputs:
            return True
        literals = bits_of_literals(rival) - bits_of_literals(formula)
        return min(literals, formula_bits(rival, {}) - formula_bits(formula, {})) < MARGIN

    return field if len(space.runs) < MIN_TRACES else with_rivals_that(field, keep)


def _is_unsure(result: Fitted | NoFormulaError) -> bool:
    """Return whether parts of other formulas may help: nothing was found, or long formulas with rivals."""
    return isinstance(result, NoFormulaError) or any(map(_has_long_rivals, _fields(result)))


def _has_long_rivals(field: Field) -> bool:
    formulas = (formula for part in field.parts for formula, _ in part.rivals)
    return any(formula_bits(formula, {}) > searched.TRUSTED for formula in formulas)


def _fields(event: Fitted) -> tuple[Field, ...]:
    repeat, params = event
    return (repeat, *(param.field for param in params))


def _formulas(fields: Iterable[Field]) -> Iterator[Formula]:
    for field in fields:
        for part in field.parts:
            yield from part.formulas or ()


def _is_better_known(space: Space, first: Fitted | NoFormulaError, second: Fitted | NoFormulaError) -> bool:
    """Return whether the second result has the rules of the first one, if any, with fewer rivals."""
    if isinstance(first, NoFormulaError) or isinstance(second, NoFormulaError):
        return isinstance(first, NoFormulaError)
    before, after = (list(_formulas(_fields(result))) for result in (first, second))
    if len(before) != len(after) or not _rivals(second) <= _rivals(first):
        return False
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    numbers = [(one, other) for one, other in changed if isinstance(one, Expr) and isinstance(other, Expr)]
    return len(numbers) == len(changed) and not apart(space, numbers, EVERYWHERE)


def _rivals(event: Fitted) -> set[Expr]:
    return {rival for field in _fields(event) for part in field.parts for _, rival in part.rivals}


def _columns(samples: Samples) -> Iterator[tuple[Ints, Ints]]:
    """Yield the points whose values have one shape, with each of its integers."""
    by_shape: dict[Shape, list[int]] = {}
    for point, value in samples.items():
        if value is not None:
            by_shape.setdefault(value.shape, []).append(point)
    for points in by_shape.values():
        table = np.array([value.slots for p in points if (value := samples[p]) is not None], dtype=np.int64)
        yield from ((np.array(points), np.ascontiguousarray(column)) for column in table.T)


def _cost(found: tuple[float, Encoding, Field | _Mispredicted]) -> float:
    return found[0]


def _with_known_sizes(part: Part) -> Part:
    """Return a part without what its constants may be instead."""
    return replace(part, rivals=tuple(pair for pair in part.rivals if not isinstance(pair[0], Const)))


def _is_determined(field: Field | _Mispredicted) -> bool:
    return not isinstance(field, _Mispredicted) and not any(part.rivals for part in field.parts)


def _may_count_neighbours(field: Field | _Mispredicted) -> bool:
    """Whether the field has formulas of classes, not only constants, which one of neighbours may replace."""
    if isinstance(field, _Mispredicted) or len(field.parts) < 2:
        return False
    return any(not isinstance(one, Const) for part in field.parts for one in part.formulas or ())


def _without_blocks(field: Field) -> Field:
    """Return the field of peers: these are no blocks of a problem."""
    return with_rivals_that(field, lambda formula, rival: not any(shares_of_numbers(rival)))


def _confirmed_by_grid(space: Space, field: Field) -> Field:
    """The field with distances to neighbours in the grid, which these have shown, instead of their rivals.

    A constant that one side of the grid shows is such a distance if the field has that elsewhere.
    """
    steps = space.steps()
    known = {formula for part in field.parts for formula in part.formulas or ()}

    def is_step(formula: Expr) -> bool:
        return any(not apart(space, [(formula, step)], EVERYWHERE) for step in steps)

    def confirmed(part: Part) -> Part:
        steps_of: dict[Expr, set[Expr]] = {}
        for formula, rival in part.rivals:
            if isinstance(formula, Const) and rival in steps and rival in known:
                steps_of.setdefault(formula, set()).add(rival)
        chosen: dict[Formula, Expr] = {
            formula: candidates.pop() for formula, candidates in steps_of.items() if len(candidates) == 1
        }
        formulas = (
            None
            if part.formulas is None
            else tuple(chosen.get(formula, formula) for formula in part.formulas)
        )
        rivals = tuple(pair for pair in part.rivals if pair[0] not in chosen and not is_step(pair[0]))
        return replace(part, formulas=formulas, rivals=rivals)

    return replace(field, parts=tuple(map(confirmed, field.parts)))


def _without_constants(field: Field) -> Field:
    """Return the field of requests, whose numbers follow from the calls that make them."""
    return with_rivals_that(field, lambda formula, rival: not isinstance(formula, Const))


def _as_the_grid(space: Space, field: Field) -> Field:
    """Return the sides of a Cartesian communicator as those of the grid, where they are: by nothing else.

    Sides that are equal in all traces are each its own: 2x2x2, 3x3x2 and 3x3x3 ranks have no grid X x X x Z.
    """
    sides = {Var(size) for size in space.names.sizes}
    formulas = [formula for part in field.parts for formula in part.formulas or ()]
    if not all(formula in sides or isinstance(formula, Const) for formula in formulas):
        return field
    field = with_rivals_that(field, lambda formula, _: formula not in sides)
    return replace(field, parts=tuple(_with_own_sides(space, part) for part in field.parts))


def _with_own_sides(space: Space, part: Part) -> Part:
    """A part with the side of each dimension in its place, where there is one for each with its values."""
    given = [formula for formula in part.formulas or () if isinstance(formula, Var)]
    pairs = list(zip(given, space.names.sizes, strict=False))
    equal = all(np.array_equal(space.columns[one.name], space.columns[size]) for one, size in pairs)
    if len(given) != len(space.names.sizes) or not equal:
        return part
    own = iter(space.names.sizes)
    formulas = tuple(Var(next(own)) if isinstance(one, Var) else one for one in part.formulas or ())
    return replace(part, formulas=formulas)


def _without_shares(space: Space, field: Field) -> Field:
    """Return the field of what is no count: its constants are no shares of a problem."""
    inputs = set(space.inputs)
    return with_rivals_that(
        field, lambda formula, rival: not (isinstance(formula, Const) and names_in(rival) & inputs)
    )


def _samples_in(row: Sequence[Any]) -> int:
    return max((h.count for h in row if h is not None), default=0)


def _events_in(node: Aligned) -> Iterator[Aligned]:
    """Yield the events of a node, itself if it is one."""
    if node.key is not None:
        yield node
    for child in node.children:
        yield from _events_in(child)


def _site(node: Aligned) -> tuple[str, tuple[str, ...]]:
    """Return the operation and the call site of an event."""
    assert node.key is not None
    return node.key.op, node.key.stack


def _op(node: Aligned) -> str:
    """Return the operation of an event; "" for a loop."""
    return "" if node.key is None else node.key.op


def where(node: Aligned) -> str:
    """Return a node's name for messages."""
    if node.key is None:
        return "a loop around " + ", ".join(sorted({where(child) for child in node.children})[:3])
    stack = node.key.stack
    return f"{node.key.op} at {clean(stack[0]) if stack else '(no call site)'}"
