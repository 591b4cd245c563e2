"""Messages between known ranks: blocking, nonblocking, persistent, partitioned, of derived types."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import Text, kind, tag, trips

COUNTS = (1, 60)

RING = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r[2];
    int from = $from, to = $to;
    MPI_Irecv(in, SIZE, MPI_INT, from, $tag, WORLD, &r[0]);
    MPI_Isend(out, $scale * ${n}_v(rank, i), MPI_INT, to, $tag, WORLD, &r[1]);
    MPI_Waitall(2, r, IGNORES);
}
"""


def _shift(random: Random) -> dict[str, object]:
    """Draw the peers of a shift, open or periodic."""
    s = random.randint(1, 3)
    if random.random() < 0.5:
        return {"from": f"(rank + N - {s}) % N", "to": f"(rank + {s}) % N"}
    return {
        "from": f"rank >= {s} ? rank - {s} : MPI_PROC_NULL",
        "to": f"rank + {s} < N ? rank + {s} : MPI_PROC_NULL",
    }


@kind
def ring(random: Random) -> Text:
    """Draw Irecv, Isend and Waitall along a shift; some with messages beyond the eager limit."""
    parts = {"trips": trips(random), "tag": tag(random), "scale": random.choice((1, 1, 1, 200))}
    return Text(RING, {"v": COUNTS}, {**parts, **_shift(random)})


PAIRS = """
int peer = rank ^ $distance, first = rank < peer ? rank : peer;
for (int i = 0; i < ${n}_t(first, 0); i++) {
    if (rank == first) {
        MPI_$send(out, ${n}_v(rank, i), MPI_INT, peer, $tag, WORLD);
        MPI_Recv(in, SIZE, MPI_INT, peer, MPI_ANY_TAG, WORLD, IGNORE);
    } else {
        MPI_Recv(in, ${n}_v(peer, i), MPI_INT, peer, $tag, WORLD, IGNORE);
        MPI_$answer(out, ${n}_v(rank, i), MPI_INT, peer, 3, WORLD);
    }
}
"""


@kind
def pairs(random: Random) -> Text:
    """Draw an exchange of pairs, some of which end early."""
    parts = {"distance": random.randint(1, 3), "tag": tag(random)}
    modes = {"send": random.choice(("Send", "Ssend")), "answer": random.choice(("Send", "Ssend"))}
    return Text(PAIRS, {"v": COUNTS, "t": (0, 8)}, {**parts, **modes})


SENDRECV = """
for (int i = 0; i < $trips; i++) {
    int from = $from, to = $to;
    if (i % $period)
        MPI_Sendrecv_replace(out, ${n}_v(0, i), MPI_INT, to, 1, from, 1, WORLD, IGNORE);
    else
        MPI_Sendrecv(out, ${n}_v(rank, i), MPI_INT, to, $tag, in, SIZE, MPI_INT, from, $tag, WORLD, IGNORE);
}
"""


@kind
def sendrecv(random: Random) -> Text:
    """Draw Sendrecv along a shift, in some iterations in place."""
    parts = {"trips": trips(random), "tag": tag(random), "period": random.randint(1, 3)}
    return Text(SENDRECV, {"v": COUNTS}, {**parts, **_shift(random)})


PIPELINE = """
for (int i = 0; i < $trips; i++) {
    for (int j = 0; j < $inner; j++) {
        if (rank > 0)
            MPI_Recv(in, ${n}_v(rank - 1, j), MPI_INT, rank - 1, i, WORLD, IGNORE);
        if (rank < N - 1)
            MPI_Send(out, ${n}_v(rank, j), MPI_INT, rank + 1, i, WORLD);
    }
    if (i % $period == 0)
        MPI_Barrier(WORLD);
}
"""


@kind
def pipeline(random: Random) -> Text:
    """Draw a pipeline along all ranks."""
    parts = {"trips": trips(random, 5), "inner": random.randint(1, 5), "period": random.randint(1, 3)}
    return Text(PIPELINE, {"v": COUNTS}, parts)


PERSISTENT = """
MPI_Request r[2];
int from = $from, to = $to;
for (int k = 0; k < $rounds; k++) {
    MPI_Recv_init(in, SIZE, MPI_INT, from, $t, WORLD, &r[$first]);
    MPI_Send_init(out, ${n}_v(rank, k), MPI_INT, to, $t, WORLD, &r[1 - $first]);
    for (int i = 0; i < ${n}_t(k, 0); i++) {
        $start
        $wait
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}
"""


@kind
def persistent(random: Random) -> Text:
    """Draw persistent requests along a shift that are started again and again."""
    starts = (
        "MPI_Startall(2, r);",
        "for (int j = 0; j < 2; j++) MPI_Start(&r[j]);",
        "MPI_Start(&r[1]); MPI_Start(&r[0]);",
    )
    waits = ("MPI_Waitall(2, r, IGNORES);", "MPI_Wait(&r[1], IGNORE); MPI_Wait(&r[0], IGNORE);")
    parts = {"rounds": random.randint(1, 3), "t": random.randint(0, 9), "first": random.randint(0, 1)}
    chosen = {"start": random.choice(starts), "wait": random.choice(waits)}
    return Text(PERSISTENT, {"v": COUNTS, "t": (0, 5)}, {**parts, **chosen, **_shift(random)})


PARTITIONED = """
MPI_Request r[2];
MPI_Psend_init(out, $parts, $count, MPI_INT, (rank + 1) % N, 4, WORLD, MPI_INFO_NULL, &r[0]);
MPI_Precv_init(in, $parts, $count, MPI_INT, (rank + N - 1) % N, 4, WORLD, MPI_INFO_NULL, &r[1]);
for (int i = 0; i < $trips; i++) {
    MPI_Startall(2, r);
    for (int j = 0; j < $parts; j++)
        MPI_Pready((j + i) % $parts, r[0]);
    MPI_Waitall(2, r, IGNORES);
}
MPI_Request_free(&r[0]);
MPI_Request_free(&r[1]);
"""


@kind
def partitioned(random: Random) -> Text:
    """Draw partitioned messages around a ring."""
    parts = {"parts": random.randint(1, 4), "count": random.randint(1, 30), "trips": trips(random, 4)}
    return Text(PARTITIONED, {}, parts)


TYPES = """
MPI_Datatype type;
$make
MPI_Type_commit(&type);
for (int i = 0; i < $trips; i++) {
    MPI_Request r;
    MPI_Irecv(in, $count, type, (rank + N - 1) % N, 2, WORLD, &r);
    MPI_Send(out, $count, type, (rank + 1) % N, 2, WORLD);
    MPI_Wait(&r, IGNORE);
}
MPI_Type_free(&type);
"""
TYPE_MAKERS = (
    "MPI_Type_contiguous($a, MPI_DOUBLE, &type);",
    "MPI_Type_vector($a, $b, $b + rank % 2, MPI_INT, &type);",
    "int lengths[] = {1, $b, 2}, places[] = {0, 3, 20};\n"
    "MPI_Type_indexed(3, lengths, places, MPI_INT, &type);",
    "MPI_Datatype inner;\nMPI_Type_contiguous($a, MPI_SHORT, &inner);\n"
    "MPI_Type_create_hvector($b, 1, 32, inner, &type);\nMPI_Type_free(&inner);",
    "int lengths[] = {$a, 1};\nMPI_Aint places[] = {0, 64};\nMPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};\n"
    "MPI_Type_create_struct(2, lengths, places, types, &type);",
    "int sizes[] = {6, 6}, parts[] = {$a, $b}, starts[] = {1, 0};\n"
    "MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);",
)


@kind
def types(random: Random) -> Text:
    """Draw messages of a derived datatype."""
    parts = {"make": random.choice(TYPE_MAKERS), "a": random.randint(1, 5), "b": random.randint(1, 5)}
    return Text(TYPES, {}, {**parts, "trips": trips(random), "count": random.randint(1, 6)})


MODES = """
static char buffer[1 << 16];
MPI_Buffer_attach(buffer, sizeof buffer);
for (int i = 0; i < $trips; i++) {
    MPI_Request r[2];
    MPI_Irecv(in, SIZE, MPI_INT, (rank + N - 1) % N, i, WORLD, &r[0]);
    if (${n}_c(rank, i) == 1)
        MPI_Bsend(out, ${n}_v(rank, i), MPI_INT, (rank + 1) % N, i, WORLD);
    else if (${n}_c(rank, i) == 2) {
        MPI_Issend(out, ${n}_v(rank, i), MPI_INT, (rank + 1) % N, i, WORLD, &r[1]);
        MPI_Wait(&r[1], IGNORE);
    } else {
        MPI_Ibsend(out, ${n}_v(rank, i), MPI_INT, (rank + 1) % N, i, WORLD, &r[1]);
        MPI_Wait(&r[1], IGNORE);
    }
    MPI_Wait(&r[0], IGNORE);
}
void *where;
int size;
MPI_Buffer_detach(&where, &size);
"""


@kind
def modes(random: Random) -> Text:
    """Draw buffered and synchronous sends, chosen by rank and iteration."""
    return Text(MODES, {"v": COUNTS, "c": (1, 3)}, {"trips": trips(random, 6)})


SUBGROUPS = """
MPI_Comm part;
MPI_Comm_split(WORLD, $color, $key, &part);
int own, members;
MPI_Comm_rank(part, &own);
MPI_Comm_size(part, &members);
for (int i = 0; i < ${n}_t($color, 0); i++) {
    MPI_Sendrecv(out, ${n}_v(rank, i), MPI_INT, (own + 1) % members, 1, in, SIZE, MPI_INT,
                 (own + members - 1) % members, 1, part, IGNORE);
    if (own == 0)
        MPI_Send(out, 2, MPI_INT, members - 1, 3, part);
    if (own == members - 1)
        MPI_Recv(in, 2, MPI_INT, 0, 3, part, IGNORE);
}
MPI_Comm_free(&part);
"""


@kind
def subgroups(random: Random) -> Text:
    """Draw messages in parts of the world, some of which end early."""
    color = random.choice(("rank % 2", "rank / 2", "rank == 3", "rank == 0"))
    body = SUBGROUPS
    if color in ("rank == 3", "rank == 0"):  # a rank alone would block in a send to itself
        body = body.replace("if (own == 0)", "if (own == 0 && members > 1)").replace(
            "if (own == members - 1)", "if (own == members - 1 && members > 1)"
        )
    parts = {"color": f"({color})", "key": random.choice(("rank", "-rank", "rank % 3"))}
    return Text(body, {"v": COUNTS, "t": (1, 7)}, parts)
