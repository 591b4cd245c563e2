"""Folded recursion in stack signatures: the native folding against a naive one, and what stays distinct."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace.core.binding import Core
from scalatrace.trace.model.tables import Kind

FRAMES = st.lists(st.sampled_from(["a.py:1:a", "a.py:2:a", "b.py:1:b"]), min_size=1, max_size=40)


def recorded(folder: Path, stacks: list[list[str]], fold: bool = True) -> scalatrace.Trace:
    """Return a trace with a call for each stack."""
    with Core(0, 1) as core:
        core.set_option("fold_recursion", int(fold))
        op = core.define_op("Send", [("count", Kind.INT)])
        for stack in stacks:
            core.append(op, [1], core.define_signature(stack))
        core.finish()
        core.write(folder / "a.st")
    return scalatrace.load(folder / "a.st")


def naive(frames: list[str]) -> list[str]:
    """Remove the outer copy of the innermost, then shortest, repetition until none is left."""
    for end in range(2, len(frames) + 1):
        for n in range(1, end // 2 + 1):
            if frames[end - n : end] == frames[end - 2 * n : end - n]:
                return naive(frames[: end - n] + frames[end:])
    return frames


@settings(max_examples=200, deadline=None)
@given(FRAMES)
def test_as_the_naive_folding(tmp_path_factory, frames: list[str]) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.getbasetemp()
    (call,) = recorded(folder, [frames]).walk(0)
    assert list(call.stack) == naive(frames)
    assert call.stack[0] == frames[0]
    assert set(call.stack) == set(frames)


def test_depths_of_a_recursion_are_one_call_site(tmp_path: Path) -> None:
    stacks = [["w.py:5:walk", *["w.py:7:walk"] * depth, "w.py:9:main"] for depth in range(1, 31)]
    assert recorded(tmp_path, stacks).nnodes < 5 < 30 <= recorded(tmp_path, stacks, fold=False).nnodes


def test_mutual_recursion(tmp_path: Path) -> None:
    stacks = [["w.py:5:a", *["w.py:7:b", "w.py:6:a"] * depth, "w.py:9:main"] for depth in range(1, 31)]
    trace = recorded(tmp_path, stacks)
    assert {call.stack for call in trace.walk(0)} == {("w.py:5:a", "w.py:7:b", "w.py:6:a", "w.py:9:main")}


def test_other_call_sites_stay_distinct(tmp_path: Path) -> None:
    inner, outer = ["w.py:7:walk"] * 9, ["w.py:9:main"]
    stacks = [["w.py:5:walk", *inner, *outer], ["w.py:6:walk", *inner, *outer], ["w.py:5:walk", *inner]]
    assert len({call.stack for call in recorded(tmp_path, stacks).walk(0)}) == 3


def test_off(tmp_path: Path) -> None:
    (call,) = recorded(tmp_path, [["w.py:7:walk"] * 4], fold=False).walk(0)
    assert call.stack == ("w.py:7:walk",) * 4
