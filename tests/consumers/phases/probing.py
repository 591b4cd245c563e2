"""Probes: Probe, Iprobe, Mprobe and Improbe, before the receive of what they report."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import LENGTH, Text, kind, trips

PROBED = """
for (int i = 0; i < $trips; i++) {
    MPI_Request r;
    MPI_Status s;
    MPI_Message m = MPI_MESSAGE_NULL;
    int flag = 0, count;
    MPI_Isend(out, $count, MPI_INT, (rank + $s) % N, $sent, WORLD, &r);
    $probe
    MPI_Get_count(&s, MPI_INT, &count);
    $receive
    MPI_Wait(&r, IGNORE);
    $end
    (void)flag, (void)m;
}
"""
RECEIVE = "MPI_Recv(in, count, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, WORLD, IGNORE);"
MATCHED = "MPI_Mrecv(in, count, MPI_INT, &m, IGNORE);"
PROBES = (
    ("MPI_Probe($source, $tag, WORLD, &s);", RECEIVE),
    ("MPI_Mprobe($source, $tag, WORLD, &m, &s);", MATCHED),
    ("do\n        MPI_Iprobe($source, $tag, WORLD, &flag, &s);\n    while (!flag);", RECEIVE),
    ("do\n        MPI_Improbe($source, $tag, WORLD, &flag, &m, &s);\n    while (!flag);", MATCHED),
)


@kind
def probed(random: Random) -> Text:
    """Draw messages that are probed before they are received."""
    probe, receive = random.choice(PROBES)
    s = random.randint(1, 3)
    anyone = random.random() < 0.5
    parts = {
        "trips": trips(random),
        "s": s,
        "probe": probe,
        "receive": receive,
        "source": "MPI_ANY_SOURCE" if anyone else f"(rank + N - {s}) % N",
        "tag": random.choice(("MPI_ANY_TAG", "6")),
        "sent": "6",
        "count": LENGTH if anyone else "${n}_v(rank, i)",
        "end": random.choice(("", "MPI_Barrier(WORLD);")),
    }
    return Text(PROBED, {"v": (1, 60)}, parts)
