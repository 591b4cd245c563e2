"""Choices at measured sizes extended to all sizes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.replay.tune.size_rules import REACH, SizeRule, size_rules


def choice_at(rules: tuple[SizeRule[str], ...], nbytes: int) -> str | None:
    """What a library takes: the last rule that does not start above the size."""
    return [rule for rule in rules if rule.start <= nbytes][-1].choice


def test_a_choice_ends_at_the_geometric_middle_and_within_its_reach() -> None:
    rules = size_rules({8: "ring", 1024: None, 4096: "tree"})
    assert rules == (
        SizeRule(0, None),
        SizeRule(2, "ring"),
        SizeRule(33, None),
        SizeRule(2049, "tree"),
        SizeRule(16385, None),
    )


def test_equal_neighbours_are_one_rule() -> None:
    assert size_rules({8: "ring", 16: "ring"}) == (SizeRule(0, None), SizeRule(2, "ring"), SizeRule(65, None))


def test_nothing_chosen_is_one_rule() -> None:
    assert size_rules({8: None, 512: None}) == (SizeRule(0, None),)


def test_empty_messages() -> None:
    assert size_rules({0: "ring", 8: None}) == (SizeRule(0, "ring"), SizeRule(1, None))


@given(st.dictionaries(st.integers(0, 1 << 40), st.sampled_from([None, "a", "b"]), max_size=8))
def test_measured_sizes_keep_their_choice_and_far_ones_the_default(chosen: dict[int, str | None]) -> None:
    rules = size_rules(chosen)
    assert rules[0].start == 0
    assert [rule.start for rule in rules] == sorted({rule.start for rule in rules})
    assert all(a.choice != b.choice for a, b in pairwise(rules))
    for size, choice in chosen.items():
        assert choice_at(rules, size) == choice
    far = REACH * max(chosen, default=0) + REACH + 1
    assert choice_at(rules, far) is None
