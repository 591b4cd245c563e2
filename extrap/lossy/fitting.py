"""Fit the nodes that follow rules, drop the others, repair, and repeat until all remaining nodes follow
rules (§3.2.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scalatrace.extrap.alignment.align import Aligned, align
from scalatrace.extrap.alignment.rank_tree import Key, RankNode
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit import fit_field as fields
from scalatrace.extrap.fit.fit_trace import Fitted, Fitter, assemble_model
from scalatrace.extrap.fit.fit_types import Chains
from scalatrace.extrap.grid.communicators import fit_families
from scalatrace.extrap.grid.space import Run, Space
from scalatrace.extrap.lossy.calls import Reason, droppable
from scalatrace.extrap.lossy.lcs import Content, Forest, Seq, content_of
from scalatrace.extrap.lossy.means import COUNTS, MeanCounts
from scalatrace.extrap.lossy.repair import Saved
from scalatrace.extrap.lossy.report import Losses, losses_of
from scalatrace.extrap.lossy.snippets import Snippets
from scalatrace.extrap.lossy.snippets.filter import apply
from scalatrace.extrap.lossy.state import LossyState
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.shapes import Parts

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Lossy"]

Chosen = tuple[list[int], Reason]
"""Calls that are to be dropped, and why."""

Failure = tuple[Aligned, ExtrapolationError]
"""A node that follows no rule."""

MAX_TRIALS, MAX_TRIED_CALLS = 8, 400_000
"""Call sites that are dropped on trial before calls of all ranks are given up, and the calls of all traces
that are looked at in these trials (at least one is made)."""


class Lossy:
    """Lossy fits of the traces of one program; each further drop makes the model smaller."""

    def __init__(self, traces: Sequence[Trace], runs: Sequence[Run], snippets: Snippets | None) -> None:
        self.runs, self.space = runs, Space(runs)
        self.states = [LossyState.of(trace, run) for trace, run in zip(traces, runs, strict=True)]
        self.means = MeanCounts(self.states)
        if snippets is not None:
            for state, run in zip(self.states, runs, strict=True):
                apply(snippets, state, run)

    def model(self, check_losses: Callable[[], None]) -> SymbolicTrace:
        """Fit the symbolic trace of the remaining calls.

        Args:
            check_losses: called whenever calls were dropped; may raise ExtrapolationError.

        Raises:
            ExtrapolationError: what cannot be dropped follows no rule, or nothing is left.
        """
        traces = [state.trace for state in self.states]
        fit_families(traces, self.runs)  # no communicator can be dropped
        self._screen()
        check_losses()
        structure_only = True
        while True:
            fitter = self._fitter(structure_only)
            rules = fitter.rules()
            if not structure_only and self._take_means(fitter):
                structure_only = True
                continue
            failures = self._rarest(fitter) if structure_only else fitter.failures
            chosen: list[list[Chosen]] = [[] for _ in self.states]
            for node, error in failures:
                for chosen_of_trace, calls in zip(chosen, self._reduced(node, error, fitter), strict=True):
                    chosen_of_trace.append(calls)
            if not structure_only or not failures or not self._odd_instead(failures, chosen, check_losses):
                self._drop(chosen)
            check_losses()
            if not fitter.failures and not structure_only:
                break
            structure_only = bool(fitter.failures)
        if not rules:
            raise ExtrapolationError("nothing is left: no call follows a rule in all traces")
        return assemble_model(traces, self.runs, rules)

    def _take_means(self, fitter: _LossyFitter) -> bool:
        """Take means for counts without a rule; False: there are none that can have one."""
        sites = {node.key for node, _ in fitter.failures if fitter.unruled.get(id(node)) in COUNTS}
        taken = [self.means.replace(site) for site in sorted(sites, key=repr) if site is not None]
        return any(taken)

    def _fitter(self, structure_only: bool) -> _LossyFitter:
        """Return a fitter of the remaining calls."""
        anew = not all(state.whole for state in self.states)
        trees = [state.trees(anew) for state in self.states]
        traces = [state.trace for state in self.states]
        return _LossyFitter(traces, self.space, trees, structure_only, self.means.sites)

    def _drop(self, chosen: Sequence[Sequence[Chosen]]) -> int:
        """Drop some calls of each trace; how many went."""
        return sum(
            state.repair.drop_all(chosen_of_trace)
            for state, chosen_of_trace in zip(self.states, chosen, strict=True)
        )

    def _odd_instead(
        self,
        failures: Sequence[Failure],
        chosen: Sequence[Sequence[Chosen]],
        check_losses: Callable[[], None],
    ) -> bool:
        """Drop a call site that some ranks do not have, if with fewer calls than chosen all has a rule then.

        Such a site may keep loops apart that are one loop without it. Only where calls of all ranks are
        to go is it worth trying, and only sites that may go.
        """
        totals, everywhere = self._sites()
        if not all(local.keys <= everywhere for node, _ in failures for local in node.nodes.values()):
            return False
        before = [state.repair.saved() for state in self.states]
        price = self._drop(chosen)
        self._back_to(before)
        odd = [key for key in totals if key not in everywhere and droppable(key[0])]
        trials = min(MAX_TRIALS, max(1, MAX_TRIED_CALLS // totals.total()))
        for key in sorted(odd, key=lambda key: (totals[key], key))[:trials]:
            dropped = self._drop([[(state.of_keys({key}), Reason.UNCOMMON)] for state in self.states])
            if dropped < price and _may_go(check_losses):
                fitter = self._fitter(structure_only=True)
                fitter.rules()
                if not fitter.failures:
                    return True
            self._back_to(before)
        return False

    def _back_to(self, saved: Sequence[Saved]) -> None:
        for state, marks in zip(self.states, saved, strict=True):
            state.repair.back_to(marks)

    def _sites(self) -> tuple[Counter[Key], set[Key]]:
        """How many calls of each operation and stack are left, and which of these all ranks have."""
        counts = [state.counts(rank) for state in self.states for rank in range(state.trace.nprocs)]
        totals: Counter[Key] = Counter()
        for counts_of_rank in counts:
            totals.update(counts_of_rank)
        return totals, set.intersection(*map(set, counts))

    def _screen(self) -> None:
        """Drop, before trees are made, the call sites that only some ranks have, at places without a rule.

        Such calls are what keeps loops of one rank from being the loops of another.
        """
        run_of = [(k, rank) for k, state in enumerate(self.states) for rank in range(state.trace.nprocs)]
        counts = [self.states[k].counts(rank) for k, rank in run_of]
        odd = set()
        for key in {key for counts_of_rank in counts for key in counts_of_rank}:
            samples = {
                point: Parts(None, (counts_of_rank[key],)) if key in counts_of_rank else None
                for point, counts_of_rank in enumerate(counts)
            }
            is_uncommon = any(value is None for value in samples.values())
            if is_uncommon and droppable(key[0]) and fields.fit(self.space, samples) is None:
                odd.add(key)
        for state in self.states:
            state.repair.drop(state.of_keys(odd), Reason.UNCOMMON)

    def _rarest(self, fitter: _LossyFitter) -> list[Failure]:
        """Return the failures at the calls made least: without those, other nodes may well follow a rule."""
        totals, _ = self._sites()
        most = [
            max(totals[key] for local in node.nodes.values() for key in local.keys)
            for node, _ in fitter.failures
        ]
        return [failure for failure, n in zip(fitter.failures, most, strict=True) if n == min(most)]

    def losses(self) -> list[Losses]:
        """Return the dropped calls of each trace."""
        return [losses_of(state) for state in self.states]

    @property
    def alone(self) -> set[Key]:
        """Calls that have no partners in the input traces either: a receive that was cancelled."""
        return {
            Key(state.calls.calls[number].op, state.calls.calls[number].stack)
            for state in self.states
            for number in state.links.alone
        }

    def drop_sites(self, sites: set[Key]) -> bool:
        """Drop all calls of these operations and stacks, as repairs; False when none was left."""
        chosen = {key for key in sites if droppable(key[0])}
        return sum(state.repair.drop(state.of_keys(chosen), Reason.REPAIR) for state in self.states) > 0

    def _reduced(self, node: Aligned, error: ExtrapolationError, fitter: Fitter) -> list[Chosen]:
        """Per trace what not all ranks have of a node; all of it when they do not differ."""
        forest = Forest()
        contents = {point: self._content(point, local, forest, fitter) for point, local in node.nodes.items()}
        part = self._common(contents, forest, fitter)
        uncommon: list[list[int]] = [[] for _ in self.states]
        every: list[list[int]] = [[] for _ in self.states]
        known: dict[Seq, list[bool]] = {}
        for point, content in contents.items():
            k = fitter.run_of[point][0]
            if content.nodes not in known:
                known[content.nodes] = list(forest.flags(content.nodes, part))
            flagged = zip(content.calls, known[content.nodes], strict=True)
            uncommon[k] += [number for number, flag in flagged if not flag]
            every[k] += content.calls
        for numbers, reason in ((uncommon, Reason.UNCOMMON), (every, Reason.NO_RULE)):
            result = [
                ([n for n in numbers_of_trace if droppable(state.calls.calls[n].op)], reason)
                for state, numbers_of_trace in zip(self.states, numbers, strict=True)
            ]
            if any(numbers_of_trace for numbers_of_trace, _ in result):
                return result
        raise error

    def _content(self, point: int, local: RankNode, forest: Forest, fitter: Fitter) -> Content:
        k, rank = fitter.run_of[point]
        state = self.states[k]
        return content_of(
            local,
            lambda leaf: state.calls_of(rank, leaf),
            forest,
            lambda number: forest.event(state.symbols[number], state.weights.get(number, 1)),
        )

    def _common(self, contents: dict[int, Content], forest: Forest, fitter: Fitter) -> Seq:
        """What all ranks of all traces have: first among the ranks of each trace, then among traces."""
        by_trace: dict[int, list[Seq]] = {}
        for point, content in contents.items():
            by_trace.setdefault(fitter.run_of[point][0], []).append(content.nodes)
        return _fold_common([_fold_common(seqs, forest) for seqs in by_trace.values()], forest)


def _may_go(check_losses: Callable[[], None]) -> bool:
    """Return whether so much may be dropped as is."""
    try:
        check_losses()
    except ExtrapolationError:
        return False
    return True


def _fold_common(seqs: Sequence[Seq], forest: Forest) -> Seq:
    first, *following = dict.fromkeys(seqs)
    for seq in following:
        first = forest.common(first, seq)
    return first


class _LossyFitter(Fitter):
    """Fitter that continues after nodes without a rule, and keeps their errors.

    Who runs what how often is settled first, without parameters: what is dropped for that need not be fitted.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        space: Space,
        trees: Sequence[Sequence[tuple[RankNode, ...]]],
        structure_only: bool,
        mean_sites: Collection[Key],
    ) -> None:
        super().__init__(traces, space)
        self._trees, self._structure_only, self._mean_sites = trees, structure_only, mean_sites
        self.failures: list[Failure] = []
        self.unruled: dict[int, str] = {}  # event without rule -> its parameter

    def alignments(self) -> Iterator[tuple[Aligned, ...]]:
        """Yield the remaining tree of every rank, whose nodes have to stay the recorded ones."""
        trees = {point: self._trees[k][rank] for point, (k, rank) in enumerate(self.run_of)}
        yield align(trees, single_trips=False)

    def all_events(self, nodes: Sequence[Aligned], around: Chains) -> dict[int, Fitted]:
        """Return no events: each is fitted where its error is kept."""
        return {}

    def parameters(self, node: Aligned, inside: Chains) -> tuple[ParamRule, ...]:
        """Return the rules of an event's parameters, unless only the structure is looked at."""
        return () if self._structure_only else super().parameters(node, inside)

    def parameter(self, node: Aligned, at: int, name: str, kind: Kind, inside: Chains) -> ParamRule:
        """Return the rule of a parameter; its name is kept if there is none."""
        try:
            rule = super().parameter(node, at, name, kind, inside)
        except ExtrapolationError:
            self.unruled[id(node)] = name
            raise
        if node.key not in self._mean_sites or name not in COUNTS:
            return rule
        parts = tuple(replace(part, rivals=()) for part in rule.field.parts)  # a mean has no true formula
        return replace(rule, field=replace(rule.field, parts=parts))

    def nodes(self, nodes: Sequence[Aligned], around: Chains) -> tuple[Rule, ...]:
        """Return the rules of those nodes that follow one."""
        result = []
        for node in nodes:
            try:
                result.append(self.node(node, around))
            except ExtrapolationError as error:
                self.failures.append((node, error))
        return tuple(result)

    def decided(self, nodes: Sequence[Aligned], rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Return the rules as they are: some nodes have none."""
        return rules
