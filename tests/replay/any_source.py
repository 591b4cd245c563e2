"""Receive messages of several lengths from any source: `any_source.py PATTERN` on 2 or more ranks."""

import random
import sys
from array import array
from collections.abc import Callable

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
ANY, ANY_TAG = MPI.ANY_SOURCE, MPI.ANY_TAG
RANDOM = random.Random(RANK)
PATTERNS: dict[str, Callable[[], None]] = {}


def pattern(function: Callable[[], None]) -> Callable[[], None]:
    PATTERNS[function.__name__] = function
    return function


def text(longest: int) -> str:
    return "x" * RANDOM.randrange(longest)


@pattern
def streams() -> None:
    """All others send without waiting: few lengths, two tags."""
    if RANK:
        for _ in range(20):
            WORLD.send(text(4), dest=0, tag=RANDOM.choice((1, 2)))
    else:
        for _ in range(20 * (SIZE - 1)):
            WORLD.recv(source=ANY, tag=ANY_TAG)


@pattern
def workers() -> None:
    """Rank 0 answers whoever has sent a result."""
    status, tasks = MPI.Status(), [text(9) for _ in range(30)]
    if RANK:
        while (task := WORLD.recv(source=0)) is not None:
            WORLD.send(text(5) if len(task) % 2 else text(5000), dest=0)
        return
    for worker in range(1, SIZE):
        WORLD.send(tasks.pop(), dest=worker)
    running = SIZE - 1
    while running:
        WORLD.recv(source=ANY, tag=ANY_TAG, status=status)
        running -= not tasks
        WORLD.send(tasks.pop() if tasks else None, dest=status.source)


@pattern
def by_hand() -> None:
    """Several matched messages at a time, on a communicator with another order of ranks."""
    comm = WORLD.Split(0, -RANK)
    for step in range(4):
        if comm.rank:
            comm.send(text(1000), dest=0, tag=step)
            continue
        messages = []
        for n in range(SIZE - 1):
            message = None if n % 2 else comm.mprobe(ANY, step)
            while message is None:
                message = comm.improbe(ANY, step)
            messages.append(message)
        for message in reversed(messages):
            message.recv() if step % 2 else message.irecv().wait()


@pattern
def lengths_first() -> None:
    """The length, then as many bytes, both with one tag: the second from the sender of the first."""
    status = MPI.Status()
    for _ in range(8 * (1 if RANK else SIZE - 1)):
        length = array("i", [RANDOM.randrange(10, 500)])
        if RANK:
            WORLD.Send(length, dest=0)
            WORLD.Send(bytes(length[0]), dest=0)
        else:
            WORLD.Recv(length, source=ANY, status=status)
            WORLD.Recv(bytearray(length[0]), source=status.source)


@pattern
def nobody() -> None:
    """No process at the ends of a line."""
    right = RANK + 1 if RANK + 1 < SIZE else MPI.PROC_NULL
    left = RANK - 1 if RANK else MPI.PROC_NULL
    for _ in range(3):
        WORLD.recv(source=MPI.PROC_NULL)
        WORLD.sendrecv(text(9), dest=right, source=left)
        WORLD.mprobe(source=MPI.PROC_NULL).irecv().wait()


if __name__ == "__main__":
    PATTERNS[sys.argv[1]]()
