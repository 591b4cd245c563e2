"""Lower the calls of each rank, one after the other, in memory that its live requests need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scalatrace.predict.lowering.actions import Action, Computation, LoweredStep, LoweringTarget
from scalatrace.predict.lowering.calls import RankLowering
from scalatrace.predict.lowering.channels import Tags
from scalatrace.predict.lowering.messages import LoweredMessages
from scalatrace.predict.lowering.report import Account
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE, MeanTimes

__all__ = ["Lowering"]


class Lowering:
    """A trace that is lowered for a target.

    Args:
        platform: algorithms of collectives that become messages, and factors on computation.
        ranks: the ranks of the result, which numbers them from 0; None: all. Messages to others are lost.

    Attributes:
        account: what became of the calls of the ranks that were lowered so far.
    """

    def __init__(
        self,
        trace: Trace,
        target: LoweringTarget | None = None,
        platform: Platform | None = None,
        ranks: Iterable[int] | None = None,
    ) -> None:
        self.trace = trace
        self.target, self.platform = target or LoweringTarget(), platform or Platform()
        chosen = None if ranks is None else sorted(set(ranks))
        for rank in chosen or ():
            trace.walk(rank)  # raises for a rank that is not in the trace
        if chosen is None and len(trace.ranks) != trace.nprocs:
            chosen = list(trace.ranks)
        self.ranks: list[int] | range = range(trace.nprocs) if chosen is None else chosen
        numbers = None if chosen is None else {rank: i for i, rank in enumerate(chosen)}
        self.account = Account()
        self._messages = LoweredMessages(Tags(), numbers)
        self._times = MeanTimes(self.trace, COMPUTE, self.platform.compute_scale)

    def steps(self, rank: int) -> Iterator[LoweredStep]:
        """Yield the calls of a world rank with their actions.

        Raises:
            UsageError: a receive names no source or tag, or sizes or peers were not recorded.
        """
        computed = self._times.of_rank(rank)
        lowered = RankLowering(self.target, self.platform, self._messages, self.account, len(self.ranks))
        for call in self.trace.walk(rank):
            yield LoweredStep(call, computed(call), lowered.actions(call))

    def actions(self, rank: int) -> Iterator[Action]:
        """Yield the actions of a world rank; computations that follow each other are one."""
        ns = 0.0
        for step in self.steps(rank):
            ns += step.compute_ns
            for action in step.actions:
                if isinstance(action, Computation):
                    ns += action.ns
                    continue
                if ns > 0:
                    yield Computation(ns)
                    ns = 0.0
                yield action
        if ns > 0:
            yield Computation(ns)
