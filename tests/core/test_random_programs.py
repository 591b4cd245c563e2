"""Random SPMD programs: what the trace says every rank did is what it did, event by event.

Nested loops with trip counts and branches that depend on rank, iteration and chance; call sites used once
or again and again; wildcards, sub-communicators, peers in every pattern.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.trace.query.verify import verify
from scalatrace.trace.values.vec import ANY_SOURCE, PROC_NULL
from support.spmd import Rank, record, walked

CALLS_AT_MOST = 400
"""Per rank: programs longer than that are cut off."""

PEERS = ("first", "next", "ring", "exclusive", "iteration", "chance", "wildcard", "null")
TRIPS = ("constant", "long", "rank", "iteration", "chance")
CONDITIONS = ("even rank", "edge", "even turn", "third turn", "last turn", "chance")

calls = st.tuples(
    st.just("call"),
    st.integers(1, 8),
    st.sampled_from(PEERS),
    st.sampled_from(("world", "sub")),
    st.integers(0, 2),
)
waits = st.tuples(st.just("wait"), st.integers(1, 3), st.integers(0, 4))


def _compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    body = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.tuples(st.just("loop"), st.sampled_from(TRIPS), st.integers(1, 5), body),
        st.tuples(st.just("if"), st.sampled_from(CONDITIONS), body, st.just([]) | body),
    )


statements = st.recursive(calls | waits, _compound, max_leaves=12)
programs = st.lists(statements, min_size=1, max_size=5)


class Interpreter:
    """Runs a random program on one rank."""

    def __init__(self, rank: Rank, seed: int) -> None:
        self.rank = rank
        self.random = random.Random(seed * 4096 + rank.rank)
        members = [r for r in range(rank.nprocs) if r % 2 == rank.rank % 2]
        rank.communicator("sub", 0, members)

    def run(self, body: list[Any], turn: int, turns: int) -> None:
        for kind, *rest in body:
            if len(self.rank.told) >= CALLS_AT_MOST:
                return
            getattr(self, "do_" + kind)(*rest, turn, turns)

    def do_call(self, site: int, peer: str, comm: str, variation: int, turn: int, turns: int) -> None:
        _, own, size = self.rank.families[comm]
        rank = {
            "first": 0,
            "next": own + 1 if own + 1 < size else PROC_NULL,
            "ring": (own - 1) % size,
            "exclusive": own ^ 1 if own ^ 1 < size else PROC_NULL,
            "iteration": turn % size,
            "chance": self.random.randrange(size),
            "wildcard": ANY_SOURCE,
            "null": PROC_NULL,
        }[peer]
        count = (8, 8 + turn, self.random.randrange(1, 4))[variation]
        self.rank.call("Send" if site % 3 else "Recv", f"app.py:{site}:step", rank, count, turn, comm)

    def do_wait(self, site: int, n: int, turn: int, turns: int) -> None:
        self.rank.wait(f"app.py:{site}:wait", list(range(n, -1, -1)))

    def do_loop(self, trips: str, n: int, body: list[Any], turn: int, turns: int) -> None:
        count = {
            "constant": n,
            "long": 10 * n,
            "rank": n + self.rank.rank % 3,
            "iteration": 1 + turn * n % 4,
            "chance": self.random.randrange(4),
        }[trips]
        for i in range(count):
            self.run(body, i, count)

    def do_if(self, condition: str, yes: list[Any], no: list[Any], turn: int, turns: int) -> None:
        holds = {
            "even rank": self.rank.rank % 2 == 0,
            "edge": self.rank.rank in (0, self.rank.nprocs - 1),
            "even turn": turn % 2 == 0,
            "third turn": turn % 3 == 0,
            "last turn": turn == turns - 1,
            "chance": self.random.random() < 0.5,
        }[condition]
        self.run(yes if holds else no, turn, turns)


def check(program: list[Any], nprocs: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace, told = record(lambda rank: Interpreter(rank, seed).run(program, 0, 1), nprocs, Path(folder))
        for r in range(nprocs):
            assert walked(trace, r) == told[r]
        assert trace.nevents() == sum(map(len, told))
        assert not verify(trace, Path(folder) / "logs").problems


@given(programs, st.sampled_from([1, 2, 3, 4, 5, 8]), st.integers(0, 1 << 20))
@settings(max_examples=150, deadline=None)
def test_walk_equals_what_was_called(program: list[Any], nprocs: int, seed: int) -> None:
    check(program, nprocs, seed)


@pytest.mark.slow
@given(programs, st.sampled_from([1, 2, 3, 4, 5, 8, 16, 32]), st.integers(0, 1 << 20))
@settings(max_examples=10000, deadline=None)
def test_walk_equals_what_was_called_thousands_of_times(program: list[Any], nprocs: int, seed: int) -> None:
    check(program, nprocs, seed)
