"""Cartesian and graph topologies, and neighbourhood collectives on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scalatrace.replay.calls.collectives import exchange_blocks, variants
from scalatrace.replay.calls.communicators import make
from scalatrace.replay.calls.sides import each_its_type, plain, vector
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.transport.args import Constant, Ints


@handles("Cart_create")
def cart_create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Cart_create(comm_old, ndims, dims, periods, reorder, comm_cart)."""
    dims, periods = event["dims"], event["periods"]
    make(rank, event, rank.comm(event.comm.family), len(dims), Ints(dims), Ints(periods), event["reorder"])
    _keep(rank, event, 2 * len(dims), 2 * len(dims))


@handles("Cart_sub")
def cart_sub(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Cart_sub(comm, remain_dims, newcomm)."""
    kept = 2 * sum(map(bool, event["remain_dims"]))
    make(rank, event, rank.comm(event.comm.family), Ints(event["remain_dims"]))
    _keep(rank, event, kept, kept)


@handles("Graph_create")
def graph_create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Graph_create(comm_old, nnodes, index, edges, reorder, comm_graph)."""
    index, edges = event["index"], event["edges"]
    args = [len(index), Ints(index), Ints(edges), event["reorder"]]
    make(rank, event, rank.comm(event.comm.family), *args)
    newcomm = event["newcomm"]
    if 0 <= newcomm.rank < len(index):
        degree = index[newcomm.rank] - (index[newcomm.rank - 1] if newcomm.rank else 0)
        _keep(rank, event, degree, degree)


@handles("Dist_graph_create_adjacent")
def dist_graph_create_adjacent(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, ...)."""
    sources, destinations = event["sources"], event["destinations"]
    incoming, outgoing = event["sourceweights"], event["destweights"]
    weighted = bool(incoming or outgoing)
    args = [
        *(len(sources), Ints(sources), _weights(incoming, weighted)),
        *(len(destinations), Ints(destinations), _weights(outgoing, weighted)),
        *(Constant.INFO_NULL, event["reorder"]),
    ]
    make(rank, event, rank.comm(event.comm.family), *args)
    _keep(rank, event, len(destinations), len(sources))


@handles("Dist_graph_create")
def dist_graph_create(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info, reorder, ...)."""
    sources, degrees, destinations = event["sources"], event["degrees"], event["destinations"]
    args = [
        *(len(sources), Ints(sources), Ints(degrees), Ints(destinations)),
        *(_weights(event["weights"], bool(event["weights"])), Constant.INFO_NULL, event["reorder"]),
    ]
    make(rank, event, rank.comm(event.comm.family), *args)
    newcomm = event["newcomm"]
    if newcomm.family in rank.comms:
        _keep(rank, event, *rank.mpi.degrees(rank.comms[newcomm.family]))


def _weights(weights: Sequence[int], weighted: bool) -> Any:
    """Return the weights of edges, of which a graph has some or MPI_UNWEIGHTED.

    Recorded weights of no edges are [UNDEFINED]; traces of earlier versions have [], as for MPI_UNWEIGHTED.
    """
    return Ints(weights) if weighted else Constant.UNWEIGHTED


def _keep(rank: RankReplay, event: AnyCall, destinations: int, sources: int) -> None:
    rank.topologies[event["newcomm"].family] = destinations, sources


def _to_destinations(rank: RankReplay, event: AnyCall, side: str, out: bool) -> list[Any]:
    return plain(rank, event, side, out, rank.degrees(event)[0])


def _from_sources(rank: RankReplay, event: AnyCall, side: str, out: bool) -> list[Any]:
    return plain(rank, event, side, out, rank.degrees(event)[1])


exchange_blocks("Neighbor_allgather", plain, _from_sources)
exchange_blocks("Neighbor_allgatherv", plain, vector)
exchange_blocks("Neighbor_alltoall", _to_destinations, _from_sources)
exchange_blocks("Neighbor_alltoallv", vector, vector)


@handles(*variants("Neighbor_alltoallw"))
def neighbor_alltoallw(rank: RankReplay, event: AnyCall) -> None:
    """MPI_Neighbor_alltoallw: as Alltoallw, with MPI_Aint displacements."""
    send = each_its_type(rank, event, "send", True, wide=True)
    recv = each_its_type(rank, event, "recv", False, wide=True)
    rank.start(event, *send, *recv, rank.comm(event.comm.family))
