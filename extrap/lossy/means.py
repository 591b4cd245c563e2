"""Counts without a rule become means, so that their calls stay: as many messages, and as many bytes in all.

Both ends of a message, and all members of a collective call, get the same count. It is the mean of the
largest trace in all traces, or a number over the ranks or their square. So the result follows a rule, as
exact counts do.

    sendcounts [12 9 11 8], [10 10 12 8], ...    ->  [10 10 10 10] on all ranks
    sdispls    [0 12 21 32], ...                 ->  [0 10 20 30]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import lcm

from scalatrace.extrap.alignment.rank_tree import Key
from scalatrace.extrap.choices import ArrayTable
from scalatrace.extrap.lossy.state import LossyState
from scalatrace.operations import COLLECTIVES, MESSAGES, Category, operation
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import PROC_NULL

__all__ = ["COUNTS", "MeanCounts"]

COUNTS = frozenset(
    {"count", "sendcount", "recvcount", "sendcounts", "recvcounts", "sdispls", "rdispls", "displs"}
)
"""Parameters that become means: counts of elements, and where the elements for each rank begin."""

AVERAGED = MESSAGES | COLLECTIVES | {Category.PERSISTENT}
"""Kinds of calls whose counts may become means."""

POWERS = (0, 1, 2)
"""Counts of all traces are taken as one number over a power of the number of ranks, which divides it."""

MIN_GAIN = 2.0
"""Ratio of the deviations from which on a power is better than a smaller one."""

MIN_STEPS = 8
"""Steps of a number that is divisible by all sizes up to it: with fewer, it would be far from the mean."""


@dataclass
class MeanCounts:
    """Call sites whose counts are means.

    Attributes:
        sites: of these calls.
    """

    states: Sequence[LossyState]
    sites: set[Key] = field(default_factory=set)

    def replace(self, site: Key) -> bool:
        """Give the calls of a site, and their partners, the same count.

        Returns:
            False: they have means already; or cannot have one, since datatypes differ, or most counts are 0.
        """
        if site in self.sites or operation(site.op).category not in AVERAGED:
            return False
        sites = self._linked(site)
        calls = [state.of_keys(sites) for state in self.states]
        every = [
            [state.calls.calls[number] for number in numbers]
            for state, numbers in zip(self.states, calls, strict=True)
        ]
        sizes = {size for of_trace in every for call in of_trace for size in _sizes(call)}
        if not all(every) or len(sizes) != 1:
            return False
        means = [_mean(of_trace) for of_trace in every]
        if any(mean is None or 0 < mean < 0.5 for mean in means):
            return False
        counts = _over_ranks([mean or 0.0 for mean in means], [state.trace.nprocs for state in self.states])
        for state, numbers, count in zip(self.states, calls, counts, strict=True):
            arrays = ArrayTable(state.trace.arrays)
            for number in numbers:
                if values := dict(_new_values(state.calls.calls[number], count, arrays)):
                    state.means[number] = values
        self.sites |= sites
        return True

    def _linked(self, site: Key) -> set[Key]:
        """Return the sites of all calls that exchange data with those of a site."""
        found, open_sites = {site}, [site]
        while open_sites:
            one = open_sites.pop()
            for state in self.states:
                for number in state.of_keys({one}):
                    for partner in _partners(state, number):
                        call = state.calls.calls[partner]
                        if (key := Key(call.op, call.stack)) not in found:
                            found.add(key)
                            open_sites.append(key)
        return found


def _partners(state: LossyState, number: int) -> Iterator[int]:
    for partner, _ in state.links.messages.get(number, ()):
        yield partner
    if operation(state.calls.calls[number].op).category in COLLECTIVES:
        for group in state.links.group_of.get(number, ()):
            yield from state.links.groups[group]


def _sizes(call: Call) -> Iterator[int]:
    """Yield the sizes of a call's datatypes; special values name none."""
    for flow in operation(call.op).flows:
        if flow.datatype in call and call.raw(flow.datatype) >= 0:
            yield call[flow.datatype].size


def _numbers(call: Call, name: str) -> list[int]:
    """Return the counts of a parameter; none where it means nothing."""
    if name not in call:
        return []
    value = call[name]
    return [n for n in (value if isinstance(value, tuple) else (value,)) if isinstance(n, int) and n >= 0]


def _mean(calls: Sequence[Call]) -> float | None:
    """Return the mean of what calls send, or receive where none sends; MPI_PROC_NULL does not count."""
    for take in ("sends", "recvs"):
        numbers: list[int] = []
        for call in calls:
            flow = getattr(operation(call.op), take)
            if flow is not None and not _has_no_partner(call, flow.count):
                numbers += _numbers(call, flow.count)
        if numbers:
            return sum(numbers) / len(numbers)
    return None


def _over_ranks(means: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """Return the count of each trace: the mean of the largest one, or a number over a power of the ranks."""
    best, least = [round(means[-1])] * len(means), _deviation(means, [means[-1]] * len(means))
    for power in POWERS[1:]:
        step = lcm(*(n**power for n in sizes))
        number = round(means[-1] * sizes[-1] ** power / step) * step
        if number < MIN_STEPS * step:
            continue
        counts = [number // n**power for n in sizes]
        if MIN_GAIN * (deviation := _deviation(means, counts)) < least:
            best, least = counts, deviation
    return best


def _deviation(means: Sequence[float], counts: Sequence[float]) -> float:
    """Return the largest relative deviation."""
    return max(abs(count - mean) / max(mean, 1.0) for mean, count in zip(means, counts, strict=True))


def _new_values(call: Call, count: int, arrays: ArrayTable) -> Iterator[tuple[str, int]]:
    """Yield the new values of a call's counts and displacements, as stored."""
    for name, _ in call.place.op.params:
        if name not in COUNTS or (old := call[name]) is None:
            continue
        if isinstance(old, tuple):
            is_offset = name.endswith("displs")
            yield name, arrays.index(tuple(i * count if is_offset else count for i in range(len(old))))
        elif isinstance(old, int) and old >= 0 and not _has_no_partner(call, name):
            yield name, count


def _has_no_partner(call: Call, name: str) -> bool:
    """Return whether a count is that of a message to or from MPI_PROC_NULL."""
    flows = [flow for flow in operation(call.op).flows if flow.count == name]
    return bool(flows) and all(flow.peer in call and call.raw(flow.peer) == PROC_NULL for flow in flows)
