"""Completion of several requests: Testany, Testsome, Waitany, Waitsome, Testall, with null requests."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import LENGTH, Text, kind, trips

FILLED = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r[$slots], s[N];
    int left = 0, n = 0, index = 0, flag = 0, done = 0, indices[$slots];
    for (int j = 0; j < $slots; j++)
        r[j] = MPI_REQUEST_NULL;
    for (int j = 0; j < N; j++)
        if (j != rank && ${n}_p(j, rank)) {
            int place = ($stride * j + $offset) % $slots;
            MPI_Irecv(in + j * PIECE, PIECE, MPI_INT, $source, $tag, WORLD, &r[place]);
            left++;
        }
    for (int j = 0; j < N; j++)
        if (j != rank && ${n}_p(rank, j))
            MPI_Isend(out, $count, MPI_INT, j, $sent, WORLD, &s[n++]);
    $drain
    $extra
    MPI_Waitall(n, s, IGNORES);
    $end
    (void)flag, (void)done, (void)indices, (void)index;
}
"""
DRAINS = {
    "testany": "while (left) {\n        do\n            MPI_Testany($slots, r, &index, &flag, IGNORE);\n"
    "        while (!flag);\n        left--;\n    }",
    "waitany": "for (; left; left--)\n        MPI_Waitany($slots, r, &index, IGNORE);",
    "waitsome": "while (left) {\n"
    "        MPI_Waitsome($slots, r, &done, indices, IGNORES);\n        left -= done;\n    }",
    "testsome": "while (left) {\n"
    "        MPI_Testsome($slots, r, &done, indices, IGNORES);\n        left -= done;\n    }",
    "testall": "do\n        MPI_Testall($slots, r, &flag, IGNORES);\n    while (!flag);",
}
EXTRAS = {
    "testany": "MPI_Testany($slots, r, &index, &flag, IGNORE);",
    "waitany": "MPI_Waitany($slots, r, &index, IGNORE);",
    "waitsome": "MPI_Waitsome($slots, r, &done, indices, IGNORES);",
    "testsome": "MPI_Testsome($slots, r, &done, indices, IGNORES);",
    "testall": "MPI_Waitall($slots, r, IGNORES);",
}


def _filled(random: Random, way: str, anyone: bool) -> Text:
    slots = random.choice((5, 7))
    parts = {
        "trips": trips(random, 6),
        "slots": slots,
        "stride": random.choice((1, 2, 3)),
        "offset": random.randint(0, slots - 1),
        "source": "MPI_ANY_SOURCE" if anyone else "j",
        "tag": "7" if anyone or random.random() < 0.5 else "MPI_ANY_TAG",
        "sent": "7",
        "count": LENGTH if anyone else "${n}_v(rank, i)",
        "drain": DRAINS[way],
        "extra": EXTRAS[way] if random.random() < 0.4 else "",
        "end": "MPI_Barrier(WORLD);" if anyone or random.random() < 0.5 else "",
    }
    return Text(FILLED, {"v": (1, 60), "p": (0, 1)}, parts)


@kind
def testany(random: Random) -> Text:
    """Draw Testany until all receives are complete."""
    return _filled(random, "testany", random.random() < 0.3)


@kind
def waitany(random: Random) -> Text:
    """Draw Waitany for all receives."""
    return _filled(random, "waitany", random.random() < 0.3)


@kind
def waitsome(random: Random) -> Text:
    """Draw Waitsome for all receives."""
    return _filled(random, "waitsome", random.random() < 0.3)


@kind
def testsome(random: Random) -> Text:
    """Draw Testsome until all receives are complete."""
    return _filled(random, "testsome", random.random() < 0.3)


@kind
def testall(random: Random) -> Text:
    """Draw Testall until all receives are complete."""
    return _filled(random, "testall", random.random() < 0.3)


TEST = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r[2];
    int flag;
    MPI_Irecv(in, SIZE, MPI_INT, (rank + N - $s) % N, 1, WORLD, &r[0]);
    MPI_Isend(out, ${n}_v(rank, i), MPI_INT, (rank + $s) % N, 1, WORLD, &r[1]);
    do
        MPI_Test(&r[$first], &flag, IGNORE);
    while (!flag);
    if ($again)
        MPI_Test(&r[$first], &flag, IGNORE);
    MPI_Wait(&r[1 - $first], IGNORE);
}
"""


@kind
def test(random: Random) -> Text:
    """Draw Test until one of two requests is complete; some test the null request again."""
    again = random.choice(("0", "1", "i % 2"))
    parts = {"s": random.randint(1, 3), "first": random.randint(0, 1), "again": again}
    return Text(TEST, {"v": (1, 60)}, {"trips": trips(random), **parts})


CANCEL = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r[2];
    MPI_Irecv(in, PIECE, MPI_INT, $source, 77, WORLD, &r[0]);
    MPI_Irecv(in + PIECE, PIECE, MPI_INT, (rank + 1) % N, 5, WORLD, &r[1]);
    MPI_Send(out, $count, MPI_INT, (rank + N - 1) % N, 5, WORLD);
    MPI_Cancel(&r[0]);
    MPI_Waitall(2, r, IGNORES);
}
"""


@kind
def cancel(random: Random) -> Text:
    """Draw receives that are cancelled."""
    source = random.choice(("MPI_ANY_SOURCE", "rank", "(rank + 1) % N"))
    return Text(CANCEL, {}, {"trips": trips(random), "source": source, "count": LENGTH})


RESTARTED = """
MPI_Request r[2];
int index = 0, flag = 0, x = 0, rounds = $rounds;
if (rank == 0) {
    for (int i = 0; i < 2; i++)
        MPI_Recv_init(in + i * PIECE, PIECE, MPI_INT, $source, MPI_ANY_TAG, WORLD, &r[i]);
    MPI_Startall(2, r);
    for (int i = 0; i < rounds * $senders; i++) {
        MPI_Status s;
        $complete
        MPI_Send(&x, 1, MPI_INT, s.MPI_SOURCE, 1, WORLD);
        MPI_Start(&r[index]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Cancel(&r[i]);
    MPI_Waitall(2, r, IGNORES);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&r[i]);
} else if (rank <= $senders)
    for (int i = 0; i < rounds; i++) {
        MPI_Send(out, $count, MPI_INT, 0, rank, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 1, WORLD, IGNORE);
    }
(void)flag;
MPI_Barrier(WORLD);
"""
ONE_OF_TWO = (
    "do\n            MPI_Testany(2, r, &index, &flag, &s);\n        while (!flag);",
    "MPI_Waitany(2, r, &index, &s);",
)


@kind
def restarted(random: Random) -> Text:
    """Draw two persistent receives of which the complete one is started again."""
    senders = random.randint(1, 3)
    parts = {
        "source": "1" if senders == 1 and random.random() < 0.5 else "MPI_ANY_SOURCE",
        "senders": senders,
        "rounds": random.randint(1, 8),
        "complete": random.choice(ONE_OF_TWO),
        "count": LENGTH,
    }
    return Text(RESTARTED, {}, parts)
