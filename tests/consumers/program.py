"""Random programs: some phases each; several of them make one C source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from consumers.phases import KINDS, Phase, draw_phase

MIN_PHASES, MAX_PHASES = 2, 6

PLAIN = (
    "ring", "pairs", "sendrecv", "pipeline", "subgroups", "plain_collectives", "vectors",
    "types", "gathered", "taken", "early_groups", "left_loops", "unequal_loops",
)  # fmt: skip
"""Kinds of which coNCePTuaL has all operations."""

RARE = ("gathered_lengths", "dynamic_window", "bridge", "partitioned", "posted")
"""Kinds that some consumers refuse, so that most groups of programs are without them."""

COMMON = tuple(name for name in KINDS if name not in RARE)

HEAD = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define IGNORES MPI_STATUSES_IGNORE
enum { N = 4, PIECE = 64, SIZE = 1 << 14 };
static int rank, out[2 * SIZE], in[2 * SIZE];

"""
MAIN = """\
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
%s    MPI_Finalize();
    return 0;
}
"""


@dataclass(frozen=True)
class Program:
    """A program: its number, and the phases that are left of it."""

    number: int
    phases: tuple[Phase, ...]

    def without(self, index: int) -> Program:
        """Return the program without one of its phases."""
        return replace(self, phases=self.phases[:index] + self.phases[index + 1 :])

    def __str__(self) -> str:
        return f"program {self.number} ({', '.join(phase.kind for phase in self.phases)})"


def draw_program(seed: int, number: int, names: Sequence[str]) -> Program:
    """Draw the program with this number, from kinds of phases."""
    random = Random(f"{seed}/{number}")
    count = random.randint(MIN_PHASES, MAX_PHASES)
    return Program(number, tuple(draw_phase(random, tuple(names)) for _ in range(count)))


def source(programs: Sequence[Program]) -> str:
    """Return the C source that runs these programs, one after the other."""
    parts, calls = [], []
    for program in programs:
        for index, phase in enumerate(program.phases):
            name = f"phase_{program.number}_{index}"
            parts.append(phase.source(name))
            calls.append(f"    {name}();\n")
        calls.append("    MPI_Barrier(WORLD);\n")
    return HEAD + "\n".join(parts) + "\n" + MAIN % "".join(calls)
