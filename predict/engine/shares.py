"""Factors on the transfer of messages whose nodes share a network interface.

An event node stands for one call of all ranks that run it, mostly at about the same time. Where k ranks of a
node send to other nodes in it, each gets 1/k of the bandwidth. For calls at different times (wavefronts) the
time is an upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.predict.engine.fields import Quantity
from scalatrace.predict.engine.operations import EngineOp
from scalatrace.predict.engine.program import LoweredProgram, LoweredTrace
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.peer_encoding import Encoding

__all__ = ["interface_shares"]

_SENDS = (EngineOp.SEND, EngineOp.SENDRECV, EngineOp.PUT)


def interface_shares(program: LoweredProgram, platform: Platform) -> list[NDArray[np.float32] | None]:
    """Return for each node [nranks] factors on the transfer of its messages; None where all are 1.

    Calls whose destination varies have the factor 1.
    """
    nranks, size = program.trace.nprocs, platform.ranks_per_node
    if platform.interface != "node" or size < 2:
        return [None] * len(program.nodes)
    ranks = np.arange(nranks, dtype=np.int64)
    return [_shares(node, ranks, size) for node in program.nodes]


def _shares(node: LoweredTrace, ranks: Ints, size: int) -> NDArray[np.float32] | None:
    dest = node.fields.get("peer")
    repeat = node.fields["repeat"]
    if node.op not in _SENDS or dest is None or dest.varies:
        return None
    runs: Any = True
    if repeat.values is not None:
        runs = repeat.values > 0
    elif repeat.class_of is not None:
        runs = repeat.class_of >= 0
    world = _world(dest, ranks)
    leaves = runs & (world >= 0) & (world // size != ranks // size)
    counts = np.bincount(ranks // size, weights=leaves)
    shares = np.where(leaves, counts[ranks // size], 1.0)
    return shares.astype(np.float32) if (shares > 1).any() else None


def _world(peer: Quantity, ranks: Ints) -> Ints:
    """Return the destination of each rank; negative where there is none."""
    stored = np.full(len(ranks), peer.value) if peer.values is None else peer.values
    if peer.encoding is Encoding.RELATIVE:
        world = stored + ranks
    elif peer.encoding is Encoding.MODULO:
        world = (stored + ranks) % len(ranks)
    elif peer.encoding is Encoding.XOR:
        world = stored ^ ranks
    else:
        return stored
    return np.where(stored <= -(10**9), -1, world)
