"""The longest common subsequence of trees: against a naive one, weighted, with loops as a whole."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.extrap.lossy.lcs import Forest, Seq

WORDS = st.text("abc", max_size=12)


def naive(left: str, right: str) -> int:
    @cache
    def best(i: int, j: int) -> int:
        if i == len(left) or j == len(right):
            return 0
        if left[i] == right[j]:
            return 1 + best(i + 1, j + 1)
        return max(best(i + 1, j), best(i, j + 1))

    return best(0, 0)


def flat(forest: Forest, word: str) -> Seq:
    return tuple(forest.event(letter) for letter in word)


def marked(word: str, flags: list[bool]) -> str:
    return "".join(letter for letter, flag in zip(word, flags, strict=True) if flag)


@given(WORDS, WORDS)
def test_events_as_the_naive_way(left: str, right: str) -> None:
    forest = Forest()
    a, b = flat(forest, left), flat(forest, right)
    part = forest.common(a, b)
    assert forest.weight(a, b) == len(part) == naive(left, right)
    kept = marked(left, list(forest.flags(a, part)))
    assert kept == marked(right, list(forest.flags(b, part)))
    assert len(kept) == len(part)


def test_weights_decide() -> None:
    forest = Forest()
    heavy, a, b = forest.event("h", 5), forest.event("a"), forest.event("b")
    left, right = (a, b, heavy), (heavy, a, b)
    assert forest.common(left, right) == (heavy,)
    assert list(forest.flags(left, (heavy,))) == [False, False, True]


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=5))
def test_loops_weigh_what_is_in_them(left: list[str], right: list[str]) -> None:
    forest = Forest()
    a, b = ((forest.loop([flat(forest, one) for one in words]),) for words in (left, right))
    part = forest.common(a, b)
    assert forest.weight(a, b) == forest.total(part) <= min(map(forest.total, (a, b)))
    kept = [
        marked("".join(words), list(forest.flags(nodes, part))) for words, nodes in ((left, a), (right, b))
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == forest.total(part)


def test_a_loop_of_more_iterations_gives_up_the_odd_ones() -> None:
    forest = Forest()
    near, far = (flat(forest, word) for word in ("ab", "cd"))
    short, long = (forest.loop([near] * 3),), (forest.loop([near, near, near, far, near]),)
    part = forest.common(short, long)
    assert part == short
    flags = list(forest.flags(long, part))
    assert flags.count(False) == 4
    assert flags[6:8] == [False, False]


def test_the_heavier_of_two_loops_is_kept() -> None:
    """The pair of the long loops is worth more than two pairs of single events."""
    forest = Forest()
    x, y = forest.event("x"), forest.event("y")
    loop = forest.loop([flat(forest, "abc")] * 4)
    assert forest.common((x, y, loop), (loop, x, y)) == (loop,)


def test_long_sequences_are_paired_by_position_between_equal_ends() -> None:
    forest = Forest()
    left = tuple(forest.event(i % 7) for i in range(3000))
    right = tuple(forest.event(i % 5) for i in range(3000))
    part = forest.common(left, right)
    assert 0 < len(part) == sum(forest.flags(left, part))
