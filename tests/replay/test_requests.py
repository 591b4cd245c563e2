"""Requests by age, against a plain list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.engine.requests import LiveList, LiveRequest


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=40))
def test_ages_are_positions_from_the_end(steps: list[int | None]) -> None:
    """None: a new request; a number: the one of that age ends."""
    lives, plain = LiveList(), []
    for n, step in enumerate(steps):
        if step is None:
            plain.append(lives.add(LiveRequest(n, buffers=[n])))
        elif step < len(plain):
            ended = lives.at(step)
            assert ended is plain.pop(-1 - step)
            assert lives.remove([ended]) == [ended]
        assert [lives.at(age) for age in range(len(lives))] == plain[::-1]
    assert list(lives.left()) == plain


def test_no_such_age() -> None:
    lives = LiveList("matched message")
    lives.add(LiveRequest("a"))
    for age in (1, -1):
        with pytest.raises(ReplayError, match=f"no live matched message of age {age}"):
            lives.at(age)


def test_swap_changes_ages() -> None:
    lives = LiveList()
    old, new = lives.add(LiveRequest("old", buffers=[1])), lives.add(LiveRequest("new", buffers=[2]))
    lives.swap(old, new)
    assert [(live.handle, live.buffers) for live in lives.left()] == [("new", [2]), ("old", [1])]
