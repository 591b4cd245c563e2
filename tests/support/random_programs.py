"""Random SPMD programs that a run can end: made of messages and collectives in one order that is possible."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG
from support.calls import Groups, IssuedCall, call

Program = tuple[list[list[IssuedCall]], Groups]


@st.composite
def programs(draw: Any, wild: bool = True, closed: bool = False, turns: int = 5) -> Program:
    """Calls of two to five ranks.

    Args:
        wild: receives may leave source or tag open.
        closed: each iteration ends with all requests completed, and all ranks together.
        turns: iterations of a loop at most.
    """
    n = draw(st.integers(2, 5))
    cut = draw(st.integers(1, n - 1))
    groups = {"halves": [list(range(cut)), list(range(cut, n))]}
    ranks = [_Rank() for _ in range(n)]
    for phase in range(draw(st.integers(1, 3))):
        steps = draw(st.lists(_steps(n, wild), min_size=1, max_size=6))
        for _ in range(draw(st.integers(1, turns))):
            for i, step in enumerate(steps):
                _perform(ranks, groups, step, 100 * phase + 10 * i + 10)
            if closed:
                _perform(ranks, groups, ("meeting", "world", False), 100 * phase + 95)
                for rank in ranks:
                    rank.finish(100 * phase + 99)
    for rank in ranks:
        rank.finish()
    return [rank.calls for rank in ranks], groups


def _steps(n: int, wild: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    peers = st.permutations(range(n))
    opened = st.sampled_from(["", "source", "tag", "both"] if wild else [""])
    message = st.tuples(
        st.just("message"),
        peers,
        st.integers(0, 1),
        opened,
        st.booleans(),
        st.booleans(),
    )
    meeting = st.tuples(st.just("meeting"), st.sampled_from(["world", "halves"]), st.booleans())
    return message | message | message | meeting | st.tuples(st.just("wait"), st.integers(0, n - 1))


class _Rank:
    def __init__(self) -> None:
        self.calls: list[IssuedCall] = []
        self.live = 0

    def make(self, op: str, site: int, **params: Any) -> None:
        self.calls.append(call(op, site, **params))
        self.live += op[0] == "I"

    def finish(self, site: int = 900) -> None:
        if self.live:
            self.make("Waitall", site, requests=tuple(range(self.live)))
            self.live = 0


def _perform(ranks: list[_Rank], groups: Groups, step: tuple[Any, ...], site: int) -> None:
    if step[0] == "message":
        _, (source, dest, *_), tag, wild, nonblocking_send, nonblocking = step
        ranks[source].make("Isend" if nonblocking_send else "Send", site, dest=dest, tag=tag, comm="world")
        ranks[dest].make(
            "Irecv" if nonblocking else "Recv",
            site + 1,
            source=ANY_SOURCE if wild in ("source", "both") else source,
            tag=ANY_TAG if wild in ("tag", "both") else tag,
            comm="world",
        )
    elif step[0] == "wait":
        ranks[step[1]].finish(site)
    else:
        _, comm, split = step
        for members in groups[comm] if comm in groups else [list(range(len(ranks)))]:
            for rank in members:
                ranks[rank].make("Barrier", site + (rank % 2 if split else 0), comm=comm)
