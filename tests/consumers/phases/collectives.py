"""Collectives: blocking, nonblocking, persistent, with vectors, of neighbours, on new communicators."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import Text, kind, trips

COLLECTIVES = {
    "barrier": "MPI_{i}{B}arrier({comm}{r});",
    "bcast": "MPI_{i}{B}cast(out, {v}, MPI_INT, {root}, {comm}{r});",
    "reduce": "MPI_{i}{R}educe(out, in, {v}, MPI_INT, MPI_SUM, {root}, {comm}{r});",
    "allreduce": "MPI_{i}{A}llreduce(out, in, {v}, MPI_DOUBLE, MPI_MAX, {comm}{r});",
    "gather": "MPI_{i}{G}ather(out, {v}, MPI_INT, in, {v}, MPI_INT, {root}, {comm}{r});",
    "scatter": "MPI_{i}{S}catter(out, {v}, MPI_INT, in, {v}, MPI_INT, {root}, {comm}{r});",
    "allgather": "MPI_{i}{A}llgather(out, {v}, MPI_INT, in, {v}, MPI_INT, {comm}{r});",
    "alltoall": "MPI_{i}{A}lltoall(out, {v}, MPI_INT, in, {v}, MPI_INT, {comm}{r});",
    "scan": "MPI_{i}{S}can(out, in, {v}, MPI_INT, MPI_SUM, {comm}{r});",
    "exscan": "MPI_{i}{E}xscan(out, in, {v}, MPI_INT, MPI_SUM, {comm}{r});",
    "block": "MPI_{i}{R}educe_scatter_block(out, in, {v}, MPI_INT, MPI_SUM, {comm}{r});",
}
PLAIN = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
LETTERS = "BRAGSE"


def _written(name: str, comm: str, root: str, request: str = "") -> str:
    """Return a call; nonblocking with a request."""
    letters = {letter: letter.lower() if request else letter for letter in LETTERS}
    return COLLECTIVES[name].format(
        i="I" if request else "",
        comm=comm,
        root=root,
        v="${n}_v(0, i)",
        r=f", {request}" if request else "",
        **letters,
    )


BLOCKING = """
$open
for (int i = 0; i < $trips; i++) {
    $first
    if (i % $period == 0)
        $second
    $third
}
$close
"""
COMMS = (
    ("WORLD", "", ""),
    ("WORLD", "", ""),
    ("comm", "MPI_Comm comm;\nMPI_Comm_dup(WORLD, &comm);", "MPI_Comm_free(&comm);"),
    ("comm", "MPI_Comm comm;\nMPI_Comm_split(WORLD, rank % 2, -rank, &comm);", "MPI_Comm_free(&comm);"),
    ("comm", "MPI_Comm comm;\nMPI_Comm_split(WORLD, rank / 2, rank, &comm);", "MPI_Comm_free(&comm);"),
)


def _blocking(random: Random, names: tuple[str, ...], comms: tuple[tuple[str, str, str], ...]) -> Text:
    comm, opened, closed = random.choice(comms)
    roots = ("0", "1", "i % 2") if comm == "comm" else ("0", "2", "3", "i % N")
    places = ("first", "second", "third")
    calls = {place: _written(random.choice(names), comm, random.choice(roots)) for place in places}
    parts = {"open": opened, "close": closed, "trips": trips(random), "period": random.randint(1, 3)}
    return Text(BLOCKING, {"v": (1, 60)}, {**parts, **calls})


@kind
def plain_collectives(random: Random) -> Text:
    """Draw blocking collectives that most languages have."""
    return _blocking(random, PLAIN, COMMS)


@kind
def collectives(random: Random) -> Text:
    """Draw blocking collectives of all kinds."""
    return _blocking(random, tuple(COLLECTIVES), COMMS)


NONBLOCKING = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r[3];
    $first
    $second
    MPI_Irecv(in, PIECE, MPI_INT, (rank + 1) % N, 5, WORLD, &r[2]);
    MPI_Send(out, $count, MPI_INT, (rank + N - 1) % N, 5, WORLD);
    $wait
}
"""
NONBLOCKING_WAITS = (
    "MPI_Waitall(3, r, IGNORES);",
    "for (int j = 2; j >= 0; j--)\n        MPI_Wait(&r[j], IGNORE);",
    "MPI_Wait(&r[1], IGNORE);\n    MPI_Wait(&r[0], IGNORE);\n    MPI_Wait(&r[2], IGNORE);",
)


@kind
def nonblocking_collectives(random: Random) -> Text:
    """Draw two collectives and a message that overlap."""
    names, roots = tuple(COLLECTIVES), ("0", "3", "i % N")
    calls = {
        place: _written(random.choice(names), "WORLD", random.choice(roots), request)
        for place, request in (("first", "&r[0]"), ("second", "&r[1]"))
    }
    parts = {"trips": trips(random), "count": random.randint(1, 60), "wait": random.choice(NONBLOCKING_WAITS)}
    return Text(NONBLOCKING, {"v": (1, 60)}, {**parts, **calls})


PERSISTENT = """
MPI_Request r[2];
int i = 0;
MPI_Bcast_init(out, ${n}_v(0, i), MPI_INT, $root, WORLD, MPI_INFO_NULL, &r[0]);
MPI_Allreduce_init(out, in, ${n}_v(0, 1), MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &r[1]);
for (i = 0; i < $trips; i++) {
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], IGNORE);
    if (i % 2 == 0) {
        MPI_Start(&r[1]);
        MPI_Wait(&r[1], IGNORE);
    }
}
MPI_Request_free(&r[0]);
MPI_Request_free(&r[1]);
"""


@kind
def persistent_collectives(random: Random) -> Text:
    """Draw persistent collectives that are started several times."""
    return Text(PERSISTENT, {"v": (1, 60)}, {"root": random.randint(0, 3), "trips": trips(random)})


VECTORS = """
for (int i = 0; i < $trips; i++) {
    int sent[N], received[N], to[N], from[N], all = 0;
    for (int j = 0; j < N; j++) {
        sent[j] = ${n}_v((rank + j) % N, i);
        received[j] = ${n}_v((j + rank) % N, i);
        to[j] = from[j] = j * PIECE;
        all += sent[j];
    }
    (void)all;
    $call
}
"""
VECTOR_CALLS = (
    "MPI_Alltoallv(out, sent, to, MPI_INT, in, received, from, MPI_INT, WORLD);",
    "for (int j = 0; j < N; j++)\n        received[j] = ${n}_v(j, i);\n"
    "    MPI_Allgatherv(out, ${n}_v(rank, i), MPI_INT, in, received, from, MPI_INT, WORLD);",
    "for (int j = 0; j < N; j++)\n        received[j] = ${n}_v(j, i);\n"
    "    MPI_Gatherv(out, ${n}_v(rank, i), MPI_INT, in, received, from, MPI_INT, $root, WORLD);",
    "for (int j = 0; j < N; j++)\n        sent[j] = ${n}_v(j, i);\n"
    "    MPI_Scatterv(out, sent, to, MPI_INT, in, ${n}_v(rank, i), MPI_INT, $root, WORLD);",
    "for (int j = 0; j < N; j++)\n        received[j] = ${n}_v(j, i);\n"
    "    MPI_Reduce_scatter(out, in, received, MPI_INT, MPI_SUM, WORLD);",
    "MPI_Request r;\n    MPI_Ialltoallv(out, sent, to, MPI_INT, in, received, from, MPI_INT, WORLD, &r);\n"
    "    MPI_Wait(&r, IGNORE);",
    "MPI_Datatype types[N];\n"
    "    for (int j = 0; j < N; j++)\n        types[j] = j % 2 ? MPI_INT : MPI_FLOAT, "
    "to[j] *= 4, from[j] *= 4;\n"
    "    MPI_Alltoallw(out, sent, to, types, in, received, from, types, WORLD);",
)


@kind
def vectors(random: Random) -> Text:
    """Draw a collective with a count for each rank."""
    root = random.choice(("0", "2", "i % N"))
    parts = {"call": random.choice(VECTOR_CALLS), "trips": trips(random), "root": root}
    return Text(VECTORS, {"v": (0, 60)}, parts)


NEIGHBOURS = """
MPI_Comm grid;
int dims[] = {$dims}, periods[] = {$periods}, before, after;
MPI_Cart_create(WORLD, $ndims, dims, periods, 0, &grid);
MPI_Cart_shift(grid, $axis, 1, &before, &after);
for (int i = 0; i < $trips; i++) {
    MPI_Sendrecv(out, ${n}_v(rank, i), MPI_INT, after, 0, in, SIZE, MPI_INT, before, 0, grid, IGNORE);
    $call
}
MPI_Comm_free(&grid);
"""
NEIGHBOUR_CALLS = (
    "MPI_Neighbor_alltoall(out, $count, MPI_INT, in, $count, MPI_INT, grid);",
    "MPI_Neighbor_allgather(out, $count, MPI_INT, in, $count, MPI_INT, grid);",
    "MPI_Allreduce(out, in, $count, MPI_INT, MPI_SUM, grid);",
    "MPI_Request r;\n    MPI_Ineighbor_alltoall(out, $count, MPI_INT, in, $count, MPI_INT, grid, &r);\n"
    "    MPI_Wait(&r, IGNORE);",
)


@kind
def neighbours(random: Random) -> Text:
    """Draw shifts and neighbourhood collectives on a grid."""
    ndims = random.randint(1, 2)
    parts = {
        "ndims": ndims,
        "dims": "4" if ndims == 1 else "2, 2",
        "periods": ", ".join(str(random.randint(0, 1)) for _ in range(ndims)),
        "axis": random.randint(0, ndims - 1),
        "trips": trips(random),
        "count": random.randint(1, 30),
        "call": random.choice(NEIGHBOUR_CALLS),
    }
    return Text(NEIGHBOURS, {"v": (1, 60)}, parts)


BRIDGE = """
MPI_Comm half, bridge;
int low = rank < $cut;
MPI_Comm_split(WORLD, low, rank, &half);
MPI_Intercomm_create(half, 0, WORLD, low ? $cut : 0, 12, &bridge);
for (int i = 0; i < $trips; i++) {
    int own;
    MPI_Comm_rank(half, &own);
    if (own == 0)
        MPI_Sendrecv(out, ${n}_v(low, i), MPI_INT, 0, 1, in, SIZE, MPI_INT, 0, 1, bridge, IGNORE);
    MPI_Barrier(bridge);
}
MPI_Comm_free(&bridge);
MPI_Comm_free(&half);
"""


@kind
def bridge(random: Random) -> Text:
    """Draw messages between two groups over an intercommunicator."""
    return Text(BRIDGE, {"v": (1, 60)}, {"cut": random.randint(1, 3), "trips": trips(random)})
