"""Many ranks with unlike rules for their peers: an encoding that was given up comes back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import ANY_SOURCE
from support.spmd import Rank, record, walked

RULES = ("first", "next", "ring", "exclusive", "scattered", "turn", "wildcard")


def peer_of(rule: str, own: int, size: int, turn: int) -> int:
    """A rank of a communicator of `size`, by a rule."""
    if rule == "wildcard":
        return ANY_SOURCE
    exclusive = own ^ 1 if own ^ 1 < size else own
    scattered = (own * 7919 + 13) % size
    return {
        "first": 0,
        "next": min(own + 1, size - 1),
        "ring": (own + 1 + turn % 2) % size,
        "exclusive": exclusive,
        "scattered": scattered,
        "turn": (own + turn) % size,
    }[rule]


def check(nprocs: int, cuts: list[int], rules: list[tuple[str, str]], comms: list[str], turns: int) -> Trace:
    """Ranks between two cuts follow one pair of rules, in even and odd turns."""

    def program(rank: Rank) -> None:
        third = [r for r in range(nprocs) if r % 3 == rank.rank % 3]
        rank.communicator("sub", 0, third)
        region = sum(rank.rank >= cut for cut in cuts)
        for turn in range(turns):
            comm = comms[turn % len(comms)]
            _, own, size = rank.families[comm]
            rank.call("Send", "here", peer_of(rules[region][turn % 2], own, size, turn), 8, 0, comm)

    with tempfile.TemporaryDirectory() as folder:
        trace, told = record(program, nprocs, Path(folder))
        for r in range(nprocs):
            assert walked(trace, r) == told[r]
    return trace


@settings(max_examples=40, deadline=None)
@given(
    nprocs=st.integers(12, 48),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    rules=st.lists(st.tuples(st.sampled_from(RULES), st.sampled_from(RULES)), min_size=4, max_size=4),
    comms=st.lists(st.sampled_from(("world", "sub")), min_size=1, max_size=3),
    turns=st.integers(1, 20),
)
def test_random_rules(
    nprocs: int, cuts: list[int], rules: list[tuple[str, str]], comms: list[str], turns: int
) -> None:
    check(nprocs, cuts, rules, comms, turns)


@pytest.mark.parametrize("comms", [["world"], ["sub"], ["world", "sub", "sub"]])
def test_halves_that_have_no_encoding_in_common(comms: list[str]) -> None:
    """The lower half sends to rank 0 (absolute), the upper half to the next (relative)."""
    trace = check(64, [32], [("first", "first"), ("next", "next")], comms, 6)
    (peer,) = (p for leaf in trace.leaves() for p in leaf.params if isinstance(p, Peer))
    assert peer.encoding in (Encoding.ABSOLUTE, Encoding.RELATIVE, Encoding.MODULO)
