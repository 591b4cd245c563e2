"""Check that communicators have members of the run, and that arrays of a call fit its communicator.

The checks use ends and lengths of value vectors: a file that claims too much is refused before anything is
expanded.
"""

from __future__ import annotations

from math import prod

from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Family, IntArray
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import UNDEFINED, Vec

__all__ = ["check_array", "check_families"]

MAX_FOREIGN = 1 << 20
"""Members that are processes of other worlds, of all communicators of a trace."""

MAX_DIMS = 1 << 10
"""Dimensions of a process grid; MPI has no limit for those of one rank."""

MAX_EDGES = 1 << 16
"""Neighbours of a rank that a file may list, even where its communicator has fewer ranks."""

MAX_REQUESTS = 1 << 20
"""Requests of one call. Null requests are among them, so the calls that make requests set no limit."""

MAX_NAMED_SIDES = 4
"""Sides of a grid that an error names."""

_PER_DIMENSION = frozenset({"dims", "periods", "remain_dims"})
_PER_MEMBER = frozenset({"sendcounts", "recvcounts", "sdispls", "rdispls", "displs"})


def check_families(trace: Trace) -> None:
    """Check the members of all communicators. Raises ValueError, which names the family."""
    if trace.comms and trace.comms[0].members.terms != ():  # else no call defined the world
        _check_world(trace.comms[0], trace.nprocs)
    foreign = 0
    for number, family in enumerate(trace.comms):
        for sizes, members in _groups(family):
            try:
                foreign += _foreign(sizes, members, trace.nprocs)
            except ValueError as error:
                raise ValueError(f"communicator {number} ({family.kind!r:.60}) {error}") from None
    if foreign > MAX_FOREIGN:
        raise ValueError(f"communicators have {foreign} members of other worlds (limit {MAX_FOREIGN})")


def _check_world(world: Family, nprocs: int) -> None:
    everyone = world.members.bounded(nprocs)
    if (
        world.kind != "world" or world.sizes.constant != nprocs
        or (world.members.length or 1) != nprocs or everyone.ends() != (0, nprocs - 1)
    ):  # fmt: skip
        raise ValueError(f"communicator 0 is not the world of the {nprocs} ranks that the trace claims")


def _groups(family: Family) -> list[tuple[Vec, Vec]]:
    remote = (family.remote_sizes, family.remote_members)
    return [
        (sizes, members) for sizes, members in ((family.sizes, family.members), remote) if sizes and members
    ]


def _foreign(sizes: Vec, members: Vec, nprocs: int) -> int:
    """Check members and their number; return how many more there are than ranks."""
    total = 1 if members.constant is not None else members.length
    if total is None:
        raise ValueError("has members without end")
    low, high = (members.smallest(), members.largest()) if members.terms != () else (0, 0)
    if low is None or high is None or high >= nprocs or (low < 0 and low != UNDEFINED):
        raise ValueError(f"has a member that is none of the {nprocs} ranks")
    if low >= 0 and total > nprocs:
        raise ValueError(f"has {total} members, more than the {nprocs} ranks")
    size = sizes.constant
    fits = total % size == 0 if size else sizes.length is not None and sizes.total(sizes.length) == total
    if total and not fits:
        raise ValueError("has sizes that do not add up to its members")
    return max(0, total - nprocs)


def check_array(op: str, name: str, array: IntArray, size: int) -> None:
    """Check an array parameter of a call on a communicator of at most `size` members, or remote ones.

    Raises:
        ValueError: it has more values than the communicator allows, or its process grid has more ranks.
    """
    if (most := _max_length(op, name, size)) is not None and array.length > most:
        raise ValueError(
            f"has {array.length} values, on a communicator of {size} ranks: at most {most} are read"
        )
    if name == "dims" and (min(array.values, default=1) < 1 or prod(array.values) > size):
        sides = "x".join(map(str, array.first(MAX_NAMED_SIDES)))
        raise ValueError(f"is {sides:.60}, no grid within the {size} ranks of its communicator")


def _max_length(op: str, name: str, size: int) -> int | None:
    """Return the most values of an array; None: what limits them is no communicator."""
    category = operation(op).category
    if name in _PER_DIMENSION:
        return MAX_DIMS
    if category in (Category.COMPLETION, Category.START):
        return MAX_REQUESTS
    if category is Category.COLLECTIVE and name in _PER_MEMBER:
        return size
    if category is Category.COMMUNICATOR:
        return size if name == "index" else max(size * size, MAX_EDGES)
    return max(size, MAX_EDGES) if category is Category.NEIGHBOUR else None
