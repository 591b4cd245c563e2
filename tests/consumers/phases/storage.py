"""Windows (fence, lock, post and start, dynamic) and files."""

from __future__ import annotations

from random import Random

from consumers.phases.registry import Text, kind, trips

ACCESSES = (
    "MPI_Put(out, ${n}_v(rank, i), MPI_INT, {peer}, 0, ${{n}}_v(rank, i), MPI_INT, window);",
    "MPI_Get(in, ${n}_v(rank, i), MPI_INT, {peer}, 4, ${{n}}_v(rank, i), MPI_INT, window);",
    "MPI_Accumulate(out, ${n}_v(rank, i), MPI_INT, {peer}, 0, ${{n}}_v(rank, i), MPI_INT, MPI_SUM, window);",
)


def _access(random: Random, peer: str) -> str:
    return random.choice(ACCESSES).replace("{{", "{").replace("}}", "}").replace("{peer}", peer)


FENCED = """
static int memory[SIZE];
MPI_Win window;
MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, WORLD, &window);
MPI_Win_fence(0, window);
for (int i = 0; i < $trips; i++) {
    $first
    if (rank % 2 == $part)
        $second
    MPI_Win_fence(0, window);
}
MPI_Win_free(&window);
"""


@kind
def fenced(random: Random) -> Text:
    """Draw accesses to a window between fences."""
    peer = random.choice(("(rank + 1) % N", "rank ^ 1", "0"))
    calls = {"first": _access(random, peer), "second": _access(random, peer)}
    return Text(FENCED, {"v": (1, 60)}, {"trips": trips(random), "part": random.randint(0, 2), **calls})


LOCKED = """
int *memory;
MPI_Win window;
MPI_Win_allocate(SIZE * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
for (int i = 0; i < ${n}_t(rank, 0); i++) {
    $epoch
}
MPI_Barrier(WORLD);
MPI_Win_free(&window);
"""
EPOCHS = (
    "MPI_Win_lock($lock, $peer, 0, window);\n    $first\n    MPI_Win_unlock($peer, window);",
    "MPI_Win_lock_all(0, window);\n    $first\n    MPI_Win_flush($peer, window);\n    $second\n"
    "    MPI_Win_unlock_all(window);",
    "MPI_Win_lock($lock, $peer, 0, window);\n    MPI_Request r;\n"
    "    MPI_Rput(out, $count, MPI_INT, $peer, 0, $count, MPI_INT, window, &r);\n"
    "    MPI_Wait(&r, IGNORE);\n    MPI_Win_unlock($peer, window);",
)


@kind
def locked(random: Random) -> Text:
    """Draw accesses to a window under locks, more on some ranks."""
    peer = random.choice(("(rank + 1) % N", "rank ^ 1", "(rank + i) % N"))
    parts = {
        "epoch": random.choice(EPOCHS),
        "lock": random.choice(("MPI_LOCK_SHARED", "MPI_LOCK_EXCLUSIVE")),
        "peer": peer,
        "count": random.randint(1, 60),
        "first": _access(random, peer),
        "second": _access(random, peer),
    }
    return Text(LOCKED.replace("$epoch", str(parts.pop("epoch"))), {"v": (1, 60), "t": (0, 5)}, parts)


POSTED = """
static int memory[SIZE];
MPI_Win window;
MPI_Group world, from, to;
int before = (rank + N - 1) % N, after = (rank + 1) % N;
MPI_Comm_group(WORLD, &world);
MPI_Group_incl(world, 1, &before, &from);
MPI_Group_incl(world, 1, &after, &to);
MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, WORLD, &window);
for (int i = 0; i < $trips; i++) {
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    $first
    MPI_Win_complete(window);
    MPI_Win_wait(window);
}
MPI_Win_free(&window);
MPI_Group_free(&world);
MPI_Group_free(&from);
MPI_Group_free(&to);
"""


@kind
def posted(random: Random) -> Text:
    """Draw accesses between post and wait."""
    return Text(POSTED, {"v": (1, 60)}, {"trips": trips(random), "first": _access(random, "after")})


DYNAMIC = """
static int memory[SIZE];
MPI_Win window;
MPI_Aint own, places[N];
MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &window);
MPI_Win_attach(window, memory, sizeof memory);
MPI_Get_address(memory, &own);
MPI_Allgather(&own, 1, MPI_AINT, places, 1, MPI_AINT, WORLD);
for (int i = 0; i < $trips; i++) {
    int peer = (rank + $s) % N;
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Put(out, ${n}_v(rank, i), MPI_INT, peer, places[peer], ${n}_v(rank, i), MPI_INT, window);
    MPI_Win_unlock(peer, window);
}
MPI_Barrier(WORLD);
MPI_Win_detach(window, memory);
MPI_Win_free(&window);
"""


@kind
def dynamic_window(random: Random) -> Text:
    """Draw accesses to memory that is attached to a window."""
    return Text(DYNAMIC, {"v": (1, 60)}, {"trips": trips(random), "s": random.randint(0, 3)})


FILES = """
MPI_File file;
MPI_File_open(WORLD, "$n.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
for (int i = 0; i < $trips; i++) {
    MPI_Offset place = 4 * 64 * (N * i + rank);
    MPI_File_write_at$all(file, place, out, ${n}_v(rank, i), MPI_INT, IGNORE);
    $more
}
MPI_File_close(&file);
"""
FILE_CALLS = (
    "MPI_File_read_at(file, place, in, ${n}_v(rank, i), MPI_INT, IGNORE);",
    "MPI_File_seek(file, place, MPI_SEEK_SET);\n"
    "    MPI_File_read(file, in, ${n}_v(rank, i), MPI_INT, IGNORE);",
    "MPI_File_sync(file);",
    'MPI_File_set_view(file, 64 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);',
    "",
)


@kind
def files(random: Random) -> Text:
    """Draw writing and reading of a file."""
    parts = {"trips": trips(random, 5), "all": random.choice(("", "_all")), "more": random.choice(FILE_CALLS)}
    return Text(FILES, {"v": (1, 60)}, parts)
