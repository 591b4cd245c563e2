"""Calls in which the ranks of a merged trace were when their parts were saved, and the ranks they wait for.

The recorder writes them into the header: entry "in-call RANK" (scalatrace/pmpi/recording/current.h).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scalatrace.escapes import clean
from scalatrace.trace.model.trace_tables import TraceTables

__all__ = ["UNFINISHED", "UnfinishedCall", "awaited_ranks", "unfinished_calls"]

UNFINISHED = "in-call "
"""Beginning of the names of the header entries; the rank follows."""

_RUN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class UnfinishedCall:
    """A call in which a rank was.

    Attributes:
        op: operation without "MPI_"; "" outside MPI.
        seconds: time since its beginning.
        peers: world ranks of the messages that it sends or receives, in the order of its requests.
        from_any: whether it receives from MPI_ANY_SOURCE.
        members: world ranks of the communicator of a collective call; empty for other calls, or not known.
        comm: name of the communicator, "" for none.
        text: the call with its peers and tags.
    """

    op: str
    seconds: float
    peers: tuple[int, ...] = ()
    from_any: bool = False
    members: frozenset[int] = frozenset()
    comm: str = ""
    text: str = "outside MPI"

    @property
    def key(self) -> tuple[str, str, frozenset[int]]:
        """Equal for ranks that are in one collective call."""
        return self.op, self.comm, self.members


def unfinished_calls(trace: TraceTables) -> dict[int, list[UnfinishedCall]]:
    """Return the calls of each rank, one per thread; entries that are damaged are left out."""
    unfinished = {}
    for name, value in trace.meta.items():
        rank = name.removeprefix(UNFINISHED)
        if rank == name or not rank.isdecimal():
            continue
        try:
            unfinished[int(rank)] = [_call(entry, trace.nprocs) for entry in json.loads(value)]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return dict(sorted(unfinished.items()))


def awaited_ranks(calls: Mapping[int, Collection[UnfinishedCall]]) -> dict[int, list[int]]:
    """Return the ranks that each rank waits for; none for a rank outside MPI.

    A collective call waits for the members that are not in it, MPI_Finalize for ranks that are not in it.
    """
    return {
        rank: sorted({peer for call in calls_of_rank for peer in _awaited(rank, call, calls)})
        for rank, calls_of_rank in calls.items()
    }


def _awaited(
    rank: int, call: UnfinishedCall, calls: Mapping[int, Collection[UnfinishedCall]]
) -> Iterator[int]:
    yield from call.peers
    if call.from_any:
        yield from (peer for peer in calls if peer != rank)
    for peer in calls if call.op == "Finalize" else call.members:
        if not any(c.key == call.key for c in calls.get(peer, ())):
            yield peer


def _call(entry: Mapping[str, Any], nprocs: int) -> UnfinishedCall:
    op, requests = str(entry["op"]), entry.get("requests", [])
    ends = [entry, *requests]
    peers = [end[side] for end in ends for side in ("from", "to") if isinstance(end.get(side), int)]
    return UnfinishedCall(
        op,
        float(entry["seconds"]),
        tuple(dict.fromkeys(peers)),
        any(end.get("from") == "any" for end in ends),
        _ranks(str(entry.get("ranks", "")), nprocs),
        str(entry.get("comm", "")),
        clean(_text(op, entry, requests)),
    )


def _ranks(text: str, nprocs: int) -> frozenset[int]:
    ranks: set[int] = set()
    for run in _RUN.finditer(text):
        ranks.update(range(int(run[1]), min(int(run[2] or run[1]) + 1, nprocs)))
    return frozenset(ranks)


def _text(op: str, entry: Mapping[str, Any], requests: list[Mapping[str, Any]]) -> str:
    if not op:
        return "outside MPI"
    ends = " and ".join(f"{request['op']}{_ends(request)}" for request in requests[:3])
    more = f" and {len(requests) - 3} more" if len(requests) > 3 else ""
    members = f" of ranks {entry['ranks']}" if entry.get("ranks") else ""
    return f"MPI_{op}{_ends(entry)}{members}" + (f" for {ends}{more}" if ends else "")


def _ends(entry: Mapping[str, Any]) -> str:
    to = f" to rank {entry['to']}" if "to" in entry else ""
    source = entry.get("from")
    source = "" if source is None else " from any rank" if source == "any" else f" from rank {source}"
    return f"{to}{source}" + (f", tag {entry['tag']}" if "tag" in entry else "")
