"""A canonical order in which MPI_Waitany and MPI_Testany complete requests.

Which of several requests is complete first differs from run to run. Where a program does nothing but wait
until all of them are complete, their order does not matter: here it is that of the array.

    recorded     Waitany [3 2 1 0] -> 2     Waitany [2 1 - 0] -> 0     Waitall [- 1 - 0]
    canonical    Waitany [3 2 1 0] -> 0     Waitany [- 2 1 0] -> 1     Waitall [- - 1 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.operations import operation
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.requests import ENDING
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["CHOOSING", "Completion", "canonical_completions"]

_OF_ALL = ("Wait", "Waitall")
"""Operations that complete all requests that they are given."""

CHOOSING = ("Waitany", "Testany")
"""Operations that complete one of several requests; polls in vain are no calls of a trace."""


@dataclass(frozen=True, slots=True)
class Completion:
    """New parameters of a call: the ages of its requests, and the one that it completes (None: all)."""

    requests: tuple[int, ...]
    index: int | None


class _NoChoice(Exception):  # noqa: N818 - it is no error
    """Internal signal: the program may depend on the order in which requests are completed."""


def canonical_completions(calls: Sequence[Call]) -> dict[int, Completion] | None:
    """Return the parameters of the calls of one rank in canonical order, by call number.

    Returns:
        None: the order may matter, since the program makes other calls before all requests are complete, or
        it tests requests, or completes some of them, or they are persistent.
    """
    state = _Requests()
    try:
        for number, call in enumerate(calls):
            state.add(number, call)
        state.check_equal()
    except _NoChoice:
        return None
    return state.found


class _Requests:
    """The live requests of a rank, in order of their creation: as recorded, and in the canonical order."""

    def __init__(self) -> None:
        self.found: dict[int, Completion] = {}
        self._count = 0
        self._recorded: list[int] = []
        self._canonical: list[int] = []
        self._array: tuple[int | None, ...] = ()

    def add(self, number: int, call: Call) -> None:
        """Follow the next call. Raises _NoChoice."""
        row = operation(call.op)
        if "requests" in call and call.op in ENDING:
            self._complete(number, call)
            return
        self.check_equal()
        if row.makes_request:
            if row.flow_later:
                raise _NoChoice
            self._count += 1
            self._recorded.append(self._count)
            self._canonical.append(self._count)
        elif call.op == "Wait":
            self._end(self._ids((call["request"],)), self._ids((call["request"],)))
        elif "request" in call or "requests" in call:
            raise _NoChoice

    def check_equal(self) -> None:
        """Raise _NoChoice when other requests are complete than in the recorded order."""
        if len(self._recorded) != len(self._canonical) or self._recorded != self._canonical:
            raise _NoChoice

    def _complete(self, number: int, call: Call) -> None:
        given = self._ids(call["requests"])
        if self._recorded == self._canonical:
            self._array = given
        elif not self._continues(given):
            raise _NoChoice
        active = [at for at, one in enumerate(self._array) if one in self._canonical]
        requests = tuple(self._age(one) for one in self._array)
        if call.op in _OF_ALL:
            self.found[number] = Completion(requests, None)
            self._end(given, tuple(self._array[at] for at in active))
        elif call.op in CHOOSING and call["index"] >= 0:
            self.found[number] = Completion(requests, active[0])
            self._end((given[call["index"]],), (self._array[active[0]],))
        elif call.op not in CHOOSING or active:
            raise _NoChoice

    def _continues(self, given: Sequence[int | None]) -> bool:
        """Return whether these are requests of the same array as before, some of them complete by now."""
        return len(given) == len(self._array) and all(
            one in (None, before) for one, before in zip(given, self._array, strict=True)
        )

    def _ids(self, ages: Sequence[int]) -> tuple[int | None, ...]:
        count = len(self._recorded)
        return tuple(self._recorded[count - 1 - age] if 0 <= age < count else None for age in ages)

    def _age(self, one: int | None) -> int:
        if one not in self._canonical:
            return UNDEFINED
        return len(self._canonical) - 1 - self._canonical.index(one)

    def _end(self, recorded: Sequence[int | None], canonical: Sequence[int | None]) -> None:
        self._recorded = [one for one in self._recorded if one not in recorded]
        self._canonical = [one for one in self._canonical if one not in canonical]
