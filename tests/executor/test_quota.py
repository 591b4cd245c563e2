"""Whether all receives still get a message: as a plain search for a matching says, after every step."""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.executor import binding
from scalatrace.executor.fields import pointer
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

messages = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 3), max_size=6)
receives = st.dictionaries(
    st.tuples(st.sampled_from([0, 1, 2, ANY_SOURCE]), st.sampled_from([0, 1, ANY_TAG])),
    st.integers(1, 2),
    max_size=6,
)


Kind = tuple[int, int]


class Quota:
    """The executor's."""

    def __init__(self, messages: dict[Kind, int], receives: dict[Kind, int]) -> None:
        self._library = binding.library()
        rows = [[(*kind, n) for kind, n in kinds.items()] for kinds in (messages, receives)]
        arrays = [np.array(kinds, dtype=np.int64).reshape(-1, 3) for kinds in rows]
        sizes = [pointer(kinds, ctypes.c_int64) for kinds in arrays]
        self._quota = self._library.st_sim_quota_new(sizes[0], len(arrays[0]), sizes[1], len(arrays[1]))

    def __del__(self) -> None:
        self._library.st_sim_quota_free(self._quota)

    @property
    def whole(self) -> bool:
        return bool(self._library.st_sim_quota_whole(self._quota))

    def allows(self, receive: Kind, message: Kind) -> bool:
        return bool(self._library.st_sim_quota_allows(self._quota, (ctypes.c_int32 * 4)(*receive, *message)))

    def take(self, receive: Kind, message: Kind) -> None:
        self._library.st_sim_quota_take(self._quota, (ctypes.c_int32 * 4)(*receive, *message))


def fits(receive: Kind, message: Kind) -> bool:
    return receive[0] in (ANY_SOURCE, message[0]) and receive[1] in (ANY_TAG, message[1])


def is_enough(messages: Counter[Kind], receives: Counter[Kind]) -> bool:
    """By augmenting paths over single messages and receives."""
    sent, asked = list(messages.elements()), list(receives.elements())
    owner: dict[int, int] = {}

    def place(receive: int, seen: set[int]) -> bool:
        for i, message in enumerate(sent):
            if i not in seen and fits(asked[receive], message):
                seen.add(i)
                if i not in owner or place(owner[i], seen):
                    owner[i] = receive
                    return True
        return False

    return all(place(i, set()) for i in range(len(asked)))


@given(messages, receives, st.data())
def test_it_allows_what_leaves_enough(sent: dict[Kind, int], asked: dict[Kind, int], data: Any) -> None:
    left, wanted, quota = Counter(sent), Counter(asked), Quota(sent, asked)
    assert quota.whole == is_enough(left, wanted)
    while quota.whole and +wanted:
        receive = data.draw(st.sampled_from(sorted(+wanted)))
        message = data.draw(st.sampled_from(sorted(kind for kind in +left if fits(receive, kind))))
        left[message] -= 1
        wanted[receive] -= 1
        allowed = is_enough(left, wanted)
        assert quota.allows(receive, message) == allowed
        quota.take(receive, message)
        assert quota.whole == allowed
