"""Control flow: loops that are left, iterations that differ, ranks that end early."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import Text, kind

PEERS = ("MPI_PROC_NULL", "rank")
CALL = "MPI_Sendrecv(out, {count}, MPI_INT, {peer}, {tag}, in, SIZE, MPI_INT, {peer}, {tag}, WORLD, IGNORE);"
LEFT = """
for (int k = 0; k < $outer; k++) {
    for (int j = 0; j < $inner; j++) {
        $first
        if ($condition)
            $second
        if ($leave)
            break;
        $third
    }
    if (k == $last)
        break;
    $between
}
$after
"""
CONDITIONS = ("k < $outer - 1 && j % 2", "${n}_v(rank, k) == 1", "j == rank", "k && j", "${n}_v(0, j) > 1")
BETWEEN = ("MPI_Barrier(WORLD);", "MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, WORLD);")
LEAVES = ("0", "k == 0 && j == 0", "j == ${n}_v(rank, k)", "k == $outer - 1 && j", "(j + rank) % 3 == 2")


def _call(random: Random, tag: int) -> str:
    count = random.choice((str(random.randint(1, 60)), "${n}_c(rank, j)", "${n}_c(rank, k)"))
    return CALL.format(count=count, peer=random.choice(PEERS), tag=tag)


@kind
def left_loops(random: Random) -> Text:
    """Draw nested loops whose iterations differ by rank, and that are left early."""
    outer = random.randint(1, 6)
    parts = {
        "outer": outer,
        "inner": random.randint(1, 5),
        "first": _call(random, 0),
        "second": _call(random, 1),
        "third": _call(random, 2),
        "condition": random.choice(CONDITIONS),
        "leave": random.choice(LEAVES),
        "last": random.choice((outer - 1, outer - 1, outer)),
        "between": random.choice(BETWEEN),
        "after": random.choice(("", "MPI_Barrier(WORLD);")),
    }
    return Text(LEFT, {"v": (0, 4), "c": (1, 60)}, parts)


EARLY = """
MPI_Comm part;
MPI_Comm_split(WORLD, $color, rank, &part);
for (int i = 0; i < $trips; i++) {
    if (i == ${n}_t($color, 0))
        break;
    MPI_Allreduce(out, in, ${n}_v($color, i), MPI_INT, MPI_SUM, part);
    if (i % 3 == $turn)
        MPI_Barrier(part);
}
MPI_Comm_free(&part);
"""


@kind
def early_groups(random: Random) -> Text:
    """Draw groups of ranks that end early."""
    color = random.choice(("rank % 2", "rank / 2", "(rank == 3)", "rank"))
    parts = {"color": color, "trips": 9, "turn": random.randint(0, 3)}
    return Text(EARLY, {"v": (1, 60), "t": (0, 9)}, parts)


UNEQUAL = """
for (int k = 0; k < $outer; k++) {
    for (int j = 0; j < ${n}_t(rank, k); j++)
        $first
    for (int j = 0; j < ${n}_u(rank, k); j++) {
        $second
        $third
    }
    if (k % 2 == $turn)
        MPI_Barrier(WORLD);
}
"""


@kind
def unequal_loops(random: Random) -> Text:
    """Draw inner loops with other trip counts on each rank and in each iteration."""
    calls = {name: _call(random, i) for i, name in enumerate(("first", "second", "third"))}
    parts = {"outer": random.randint(1, 7), "turn": random.randint(0, 2), **calls}
    return Text(UNEQUAL, {"t": (0, 4), "u": (0, 3), "c": (1, 60)}, parts)
