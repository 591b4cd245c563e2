"""Matching of counted messages with receives, against all ways to match them one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.trace.consistency.message_counts import Counts, Envelope, matched
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG


def _of(*rows: tuple[int, int, int]) -> Counts:
    """Messages to rank 9 by source, tag and number."""
    return Counts({Envelope(0, source, 9, tag): n for source, tag, n in rows})


def test_receives_with_different_wildcards_share_the_messages() -> None:
    sent = _of((0, 1, 1), (3, 1, 1))
    result = matched(sent, _of((ANY_SOURCE, 1, 1), (0, ANY_TAG, 1)))
    assert result.missing is None
    assert result.left is None


def test_missing_and_left_messages() -> None:
    missing = matched(_of((0, 1, 2)), _of((ANY_SOURCE, 1, 5))).missing
    assert missing == (Envelope(0, ANY_SOURCE, 9, 1), 3)
    assert matched(_of((0, 1, 2)), _of((0, 1, 3))).missing == (Envelope(0, 0, 9, 1), 1)
    assert matched(_of((0, 1, 7)), _of((ANY_SOURCE, ANY_TAG, 5))).left == (Envelope(0, 0, 9, 1), 2)


def test_ranks_and_communicators_are_kept_apart() -> None:
    sent = Counts({Envelope(0, 1, 2, 0): 1})
    assert matched(sent, Counts({Envelope(1, ANY_SOURCE, 2, ANY_TAG): 1})).missing is not None
    assert matched(sent, Counts({Envelope(0, ANY_SOURCE, 3, ANY_TAG): 1})).missing is not None


def _can_match(sent: Counts, awaited: Counts) -> bool:
    """Whether each receive has a message of its own, found by trying one after the other."""
    receives = [key for key, n in awaited.items() for _ in range(n)]
    messages = [key for key, n in sent.items() for _ in range(n)]
    partner: dict[int, int] = {}

    def place(receive: int, seen: set[int]) -> bool:
        for k, message in enumerate(messages):
            if k not in seen and receives[receive].fits(message):
                seen.add(k)
                if k not in partner or place(partner[k], seen):
                    partner[k] = receive
                    return True
        return False

    return all(place(k, set()) for k in range(len(receives)))


@settings(deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(1, 3), max_size=6),
    st.dictionaries(
        st.tuples(st.sampled_from([ANY_SOURCE, 0, 1, 2]), st.sampled_from([ANY_TAG, 0, 1, 2])),
        st.integers(1, 3),
        max_size=6,
    ),
)
def test_random_counts(messages: dict[tuple[int, int], int], receives: dict[tuple[int, int], int]) -> None:
    sent = _of(*((*key, n) for key, n in messages.items()))
    awaited = _of(*((*key, n) for key, n in receives.items()))
    result = matched(sent, awaited)
    assert (result.missing is None) == _can_match(sent, awaited)
    if result.missing is None:
        assert (result.left is None) == (sum(sent.values()) == sum(awaited.values()))
