"""Receives from any source: by tag, by communicator, several at once, persistent, with answers."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import LENGTH, Text, kind, trips

GATHERED = """
for (int i = 0; i < $trips; i++) {
    if (rank == $root)
        for (int j = 0; j < N - 1; j++)
            MPI_Recv(in, PIECE, MPI_INT, MPI_ANY_SOURCE, $tag, WORLD, IGNORE);
    else
        MPI_Send(out, $count, MPI_INT, $root, 4 + i % $tags, WORLD);
    $end
}
"""


def _count(lengths: bool) -> str:
    """Return a number of elements; messages to any source have one length, unless `lengths`."""
    return "${n}_v(rank, i)" if lengths else LENGTH


def _gathered(random: Random, lengths: bool) -> Text:
    tags = random.randint(1, 3)
    parts = {
        "trips": trips(random),
        "root": random.randint(0, 3),
        "tags": tags,
        "tag": random.choice(("MPI_ANY_TAG", f"4 + i % {tags}")),
        "count": _count(lengths),
        "end": random.choice(("MPI_Barrier(WORLD);", "")),
    }
    return Text(GATHERED, {"v": (1, 60)} if lengths else {}, parts)


@kind
def gathered(random: Random) -> Text:
    """Draw a root that receives a message of each other rank."""
    return _gathered(random, False)


@kind
def gathered_lengths(random: Random) -> Text:
    """Draw a root that receives messages of several lengths."""
    return _gathered(random, True)


OUTSTANDING = """
enum { K = $k };
static const int sender[K] = {$from}, order[K] = {$order};
$open
for (int i = 0; i < $trips; i++)
    if (rank == $root) {
        MPI_Request r[K];
        int index = 0, flag = 0;
        for (int j = 0; j < K; j++)
            $receive
        for (int j = 0; j < K; j++) {
            MPI_Send(out, 1, MPI_INT, sender[order[j]], 100, WORLD);
            $wait
        }
        (void)index, (void)flag;
    } else
        for (int j = 0; j < K; j++)
            if (sender[order[j]] == rank) {
                MPI_Recv(in, 1, MPI_INT, $root, 100, WORLD, IGNORE);
                $send
            }
$close
"""
BY_TAG = {
    "open": "",
    "close": "",
    "receive": "MPI_Irecv(in + j * PIECE, PIECE, MPI_INT, MPI_ANY_SOURCE, j, WORLD, &r[j]);",
    "send": "MPI_Send(out, $count, MPI_INT, $root, order[j], WORLD);",
}
BY_COMM = {
    "open": "MPI_Comm comm[K];\nfor (int j = 0; j < K; j++)\n    MPI_Comm_dup(WORLD, &comm[j]);",
    "close": "for (int j = 0; j < K; j++)\n    MPI_Comm_free(&comm[j]);",
    "receive": "MPI_Irecv(in + j * PIECE, PIECE, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm[j], &r[j]);",
    "send": "MPI_Send(out, $count, MPI_INT, $root, 9, comm[order[j]]);",
}
WAITS = (
    "MPI_Wait(&r[order[j]], IGNORE);",
    "MPI_Wait(&r[order[j]], IGNORE);",
    "MPI_Waitany(K, r, &index, IGNORE);",
    "do\n                MPI_Testany(K, r, &index, &flag, IGNORE);\n            while (!flag);",
)


def _outstanding(random: Random, by: dict[str, str]) -> Text:
    k, root = random.randint(2, 4), random.randint(0, 3)
    senders = [random.choice([rank for rank in range(4) if rank != root]) for _ in range(k)]
    parts = {
        "k": k,
        "root": root,
        "from": ", ".join(map(str, senders)),
        "order": ", ".join(map(str, random.sample(range(k), k))),
        "trips": trips(random, 6),
        "count": _count(False),
        "wait": random.choice(WAITS),
    }
    body = OUTSTANDING
    for name, text in by.items():
        body = body.replace(f"${name}", text)
    return Text(body, {}, parts)


@kind
def outstanding_tags(random: Random) -> Text:
    """Draw several receives from any source at once, told apart by tag, complete in another order."""
    return _outstanding(random, BY_TAG)


@kind
def outstanding_comms(random: Random) -> Text:
    """Draw several receives from any source at once, each on a communicator of its own."""
    return _outstanding(random, BY_COMM)


TAKEN = """
for (int i = 0; i < $trips; i++) {
    if (rank == $root) {
        MPI_Request r[N - 1];
        for (int j = 0; j < N - 1; j++)
            MPI_Irecv(in + j * PIECE, PIECE, MPI_INT, MPI_ANY_SOURCE, $tag, WORLD, &r[j]);
        $wait
    } else
        MPI_Send(out, $count, MPI_INT, $root, 4, WORLD);
    $end
}
"""
TAKEN_WAITS = (
    "MPI_Waitall(N - 1, r, IGNORES);",
    "for (int j = N - 2; j >= 0; j--)\n            MPI_Wait(&r[j], IGNORE);",
    "for (int j = 0; j < N - 1; j++)\n            MPI_Wait(&r[j], IGNORE);",
)


@kind
def taken(random: Random) -> Text:
    """Draw equal receives from any source at once."""
    parts = {
        "trips": trips(random),
        "root": random.randint(0, 3),
        "tag": random.choice(("MPI_ANY_TAG", "4")),
        "count": _count(False),
        "wait": random.choice(TAKEN_WAITS),
        "end": random.choice(("MPI_Barrier(WORLD);", "")),
    }
    return Text(TAKEN, {}, parts)


PERSISTENT_ANY = """
static const int sender[] = {$senders};
enum { K = $k };
MPI_Request r[K];
if (rank == 0) {
    for (int j = 0; j < K; j++)
        MPI_Recv_init(in + j * PIECE, PIECE, MPI_INT, MPI_ANY_SOURCE, $tag, WORLD, &r[j]);
    for (int i = 0; i < $trips; i++) {
        MPI_Startall(K, r);
        for (int j = 0; j < K; j++) {
            MPI_Send(out, 1, MPI_INT, sender[(i + j) % $length], 0, WORLD);
            MPI_Wait(&r[$waited], IGNORE);
        }
    }
    for (int j = 0; j < K; j++)
        MPI_Request_free(&r[j]);
} else
    for (int i = 0; i < $trips; i++)
        for (int j = 0; j < K; j++)
            if (sender[(i + j) % $length] == rank) {
                MPI_Recv(in, 1, MPI_INT, 0, 0, WORLD, IGNORE);
                MPI_Send(out, $count, MPI_INT, 0, $sent, WORLD);
            }
"""


@kind
def persistent_any(random: Random) -> Text:
    """Draw persistent receives from any source that get a message of another sender at each start."""
    length, k = random.randint(2, 7), random.randint(1, 3)
    by_tag = random.random() < 0.4
    parts = {
        "senders": ", ".join(str(random.randint(1, 3)) for _ in range(length)),
        "length": length,
        "k": k,
        "tag": "j" if by_tag else "MPI_ANY_TAG",
        "sent": "K - 1 - j" if by_tag else "rank",
        "waited": "K - 1 - j" if by_tag else "j",
        "trips": trips(random),
        "count": _count(False),
    }
    return Text(PERSISTENT_ANY, {}, parts)


WORKERS = """
int tasks = $tasks, task;
if (rank == $root) {
    MPI_Status s;
    for (int given = 0, ended = 0; ended < N - 1;) {
        MPI_Recv(in, PIECE, MPI_INT, MPI_ANY_SOURCE, $tag, WORLD, &s);
        task = given < tasks ? given++ : -1;
        ended += task < 0;
        MPI_Send(&task, 1, MPI_INT, s.MPI_SOURCE, 1, WORLD);
    }
} else
    do {
        MPI_Send(out, $count, MPI_INT, $root, 2, WORLD);
        MPI_Recv(&task, 1, MPI_INT, $root, 1, WORLD, IGNORE);
    } while (task >= 0);
"""


@kind
def workers(random: Random) -> Text:
    """Draw a master that gives tasks to whoever asks."""
    parts = {"tasks": random.randint(0, 12), "root": random.randint(0, 3), "count": _count(False)}
    return Text(WORKERS, {}, {**parts, "tag": random.choice(("2", "MPI_ANY_TAG"))})
