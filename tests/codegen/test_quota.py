"""Whether all receives still get a message: as a plain search for a matching says, after every step."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.matching.execution.quota import Kind, Quota
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

messages = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 3), max_size=6)
receives = st.dictionaries(
    st.tuples(st.sampled_from([0, 1, 2, ANY_SOURCE]), st.sampled_from([0, 1, ANY_TAG])),
    st.integers(1, 2),
    max_size=6,
)


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


def test_taking_many_at_once() -> None:
    quota = Quota({(0, 5): 10, (1, 5): 10}, {(ANY_SOURCE, 5): 10, (1, 5): 10})
    assert quota.later({((ANY_SOURCE, 5), (0, 5)): 1}, 10).whole
    assert not quota.later({((ANY_SOURCE, 5), (1, 5)): 1}, 10).whole
    assert not quota.allows((ANY_SOURCE, 5), (1, 5))
