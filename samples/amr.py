"""Adaptive mesh: patches are refined where a heat source wanders and shared out anew over the ranks.

    mpiexec -n 16 scalatrace record -o amr.st -- python samples/amr.py --steps 100 --rebalance 5

Size: any number of ranks; --size cells squared of an unrefined patch (4), --steps time steps (20),
--rebalance steps from one adaptation to the next (5).
Expect: "correct" and status 0. Per step one message to and from each rank that has neighbouring patches
(Irecv, Isend, Waitall) and an Allreduce of the heat. At an adaptation an Allreduce of the levels, then the
patches that change their owner move along a space-filling curve, one message per pair of ranks. Neighbours
and lengths change with every adaptation and never repeat; the number of neighbours differs between ranks.
"""

import argparse
import math
import sys
from collections import defaultdict

import numpy as np
from mpi4py import MPI

import workload

FINEST = 2  # each level doubles the cells of a patch in both directions
COURANT, DISSIPATION = 0.2, 1.5
ORBIT, SPEED = 0.3, 0.1
GHOSTS, MOVES = 0, 1  # tags
LEFT, RIGHT, BELOW, ABOVE = range(4)
OPPOSITE = (RIGHT, LEFT, ABOVE, BELOW)
OFFSETS = ((-1, 0), (1, 0), (0, -1), (0, 1))
EDGES = (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1])
Field = np.ndarray
Side = tuple[int, int]  # a patch and one of its four sides


def morton(x: int, y: int) -> int:
    """Place on the space-filling curve: the bits of both coordinates interleaved."""
    return sum(((x >> bit & 1) << 2 * bit + 1) | ((y >> bit & 1) << 2 * bit) for bit in range(16))


def resized(field: Field, cells: int) -> Field:
    """A patch with more or fewer cells and the same heat."""
    if cells >= len(field):
        times = cells // len(field)
        return field.repeat(times, axis=0).repeat(times, axis=1)
    times = len(field) // cells
    return field.reshape(cells, times, cells, times).mean(axis=(1, 3))


def face_flux(lower: Field, upper: Field, cells: int) -> Field:
    """Flux in positive direction through a face, computed with the finer side's cells, for `cells` cells."""
    finest = max(len(lower), len(upper))
    lower, upper = (edge.repeat(finest // len(edge)) for edge in (lower, upper))
    flux = 0.5 * (lower + upper) - 0.5 * DISSIPATION * (upper - lower)
    return flux.reshape(cells, -1).mean(axis=1)


class Transfer:
    """One message to and from every rank with which there is something to exchange."""

    def __init__(self, outgoing: dict[int, int], incoming: dict[int, int], tag: int) -> None:
        """The dictionaries hold the number of values for each rank."""
        self.tag = tag
        self.outgoing = {rank: np.zeros(count) for rank, count in sorted(outgoing.items())}
        self.incoming = {rank: np.zeros(count) for rank, count in sorted(incoming.items())}

    def run(self) -> None:
        comm = MPI.COMM_WORLD
        requests = [comm.Irecv(values, rank, self.tag) for rank, values in self.incoming.items()]
        requests += [comm.Isend(values, rank, self.tag) for rank, values in self.outgoing.items()]
        MPI.Request.Waitall(requests)


class Mesh:
    """All patches' levels and owners, known to all ranks, and the cells of this rank's own patches."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.comm = args, MPI.COMM_WORLD
        self.across = 3 * math.ceil(math.sqrt(self.comm.size))
        places = [(x, y) for x in range(self.across) for y in range(self.across)]
        self.places = sorted(places, key=lambda place: morton(*place))
        self.numbers = {place: number for number, place in enumerate(self.places)}
        self.levels = np.zeros(len(places), dtype=np.int32)
        self.owners = self.shares()
        self.patches = {int(p): np.zeros([args.size] * 2) for p in self.owned_by(self.comm.rank)}
        self.time_step = COURANT / (self.across * args.size * 2**FINEST)
        self.plan()

    def cells(self, patch: int) -> int:
        return self.args.size << int(self.levels[patch])

    def owned_by(self, rank: int) -> np.ndarray:
        return np.flatnonzero(self.owners == rank)

    def shares(self) -> np.ndarray:
        """Owners that get equal numbers of cells, consecutive on the curve."""
        weights = 4 ** self.levels.astype(int)
        middles = weights.cumsum() * 2 - weights
        return middles * self.comm.size // (2 * weights.sum())

    def neighbour(self, patch: int, side: int) -> int:
        """The patch beyond a side; the plate is periodic."""
        (x, y), (dx, dy) = self.places[patch], OFFSETS[side]
        return self.numbers[(x + dx) % self.across, (y + dy) % self.across]

    def plan(self) -> None:
        """Which sides go to and come from which rank, in the sender's order of patches."""
        self.sends: dict[int, list[Side]] = defaultdict(list)
        self.receives: dict[int, list[Side]] = defaultdict(list)
        for patch in self.patches:
            for side in range(4):
                beyond = self.neighbour(patch, side)
                if beyond not in self.patches:
                    self.sends[int(self.owners[beyond])].append((patch, side))
                    self.receives[int(self.owners[beyond])].append((beyond, OPPOSITE[side]))
        for sides in (*self.sends.values(), *self.receives.values()):
            sides.sort()
        outgoing, incoming = (
            {rank: sum(self.cells(patch) for patch, _ in sides) for rank, sides in plan.items()}
            for plan in (self.sends, self.receives)
        )
        self.ghosts = Transfer(outgoing, incoming, GHOSTS)

    def exchange(self) -> dict[Side, Field]:
        """The edges of all patches that touch this rank's, own ones and others'."""
        for rank, values in self.ghosts.outgoing.items():
            np.concatenate([self.patches[patch][EDGES[side]] for patch, side in self.sends[rank]], out=values)
        self.ghosts.run()
        edges = {(p, s): field[EDGES[s]].copy() for p, field in self.patches.items() for s in range(4)}
        for rank, values in self.ghosts.incoming.items():
            ends = np.cumsum([self.cells(patch) for patch, _ in self.receives[rank]])
            edges.update(zip(self.receives[rank], np.split(values, ends[:-1]), strict=True))
        return edges

    def centre(self, step: int) -> tuple[float, float]:
        """Where the source is, counted in patches."""
        angle = SPEED * step
        x, y = (self.across * (0.5 + ORBIT * turn) for turn in (math.cos(angle), math.sin(angle)))
        return x, y

    def advance(self, step: int) -> None:
        """Carry the heat along the diagonal by Rusanov's flux and heat the patch under the source."""
        edges = self.exchange()
        for patch, field in self.patches.items():
            cells = len(field)
            inflow = [edges[self.neighbour(patch, side), OPPOSITE[side]] for side in range(4)]
            # Turned so that the direction of the flux is the first axis: first x, then y.
            changes = []
            for turned, below, above in ((field, LEFT, RIGHT), (field.T, BELOW, ABOVE)):
                flux = np.empty((cells + 1, cells))
                flux[0] = face_flux(inflow[below], turned[0], cells)
                flux[-1] = face_flux(turned[-1], inflow[above], cells)
                flux[1:-1] = 0.5 * (turned[:-1] + turned[1:]) - 0.5 * DISSIPATION * np.diff(turned, axis=0)
                changes.append(flux[:-1] - flux[1:])
            field += self.time_step * self.across * cells * (changes[0] + changes[1].T)
        x, y = self.centre(step)
        heated = self.numbers[int(x), int(y)]
        if heated in self.patches:
            self.patches[heated] += self.time_step * self.across**2
        workload.compute(self.args)

    def heat(self) -> float:
        own = sum(float(field.mean()) for field in self.patches.values()) / self.across**2
        total = np.zeros(1)
        self.comm.Allreduce(np.array([own]), total, MPI.SUM)
        return float(total[0])

    def wanted_level(self, patch: int, step: int) -> int:
        """Finest at the source, one level less a patch further away, coarsest beyond."""
        ways = [abs(p + 0.5 - c) for p, c in zip(self.places[patch], self.centre(step), strict=True)]
        return max(0, FINEST - int(max(min(way, self.across - way) for way in ways)))

    def adapt(self, step: int) -> None:
        """Refine and coarsen the own patches, agree on all levels and share the patches out anew."""
        own = np.zeros_like(self.levels)
        for patch in self.patches:
            own[patch] = self.wanted_level(patch, step)
        self.comm.Allreduce(own, self.levels, MPI.MAX)
        self.patches = {patch: resized(field, self.cells(patch)) for patch, field in self.patches.items()}
        before, self.owners = self.owners, self.shares()
        self.move(before)
        self.plan()

    def move(self, before: np.ndarray) -> None:
        """Send the patches that this rank loses to their new owners and receive those that it gains."""
        me = self.comm.rank
        lost, gained = defaultdict(list), defaultdict(list)
        for patch in map(int, np.flatnonzero(before != self.owners)):
            if before[patch] == me:
                lost[int(self.owners[patch])].append(patch)
            elif self.owners[patch] == me:
                gained[int(before[patch])].append(patch)
        leaving, coming = (
            {rank: sum(self.cells(patch) ** 2 for patch in patches) for rank, patches in way.items()}
            for way in (lost, gained)
        )
        transfer = Transfer(leaving, coming, MOVES)
        for rank, patches in lost.items():
            np.concatenate([self.patches.pop(p).ravel() for p in patches], out=transfer.outgoing[rank])
        transfer.run()
        for rank, patches in gained.items():
            ends = np.cumsum([self.cells(p) ** 2 for p in patches])
            for patch, values in zip(patches, np.split(transfer.incoming[rank], ends[:-1]), strict=True):
                self.patches[patch] = values.reshape([self.cells(patch)] * 2).copy()
        self.patches = dict(sorted(self.patches.items()))


def main() -> int:
    made = workload.parser("adaptive mesh refinement", size=4, steps=20)
    made.add_argument("--rebalance", type=int, default=5, help="steps between two adaptations (5)")
    args = workload.parse(made)
    if args.rebalance < 1:
        made.error("--rebalance must be 1 or more")
    mesh, good = Mesh(args), True
    for step in range(args.steps):
        if step % args.rebalance == 0:
            mesh.adapt(step)
        mesh.advance(step)
        # Nothing but the source changes the sum of the heat, whatever patches do.
        good = good and abs(mesh.heat() / ((step + 1) * mesh.time_step) - 1) < 1e-9
    return workload.finish("amr", args, good)


if __name__ == "__main__":
    sys.exit(main())
