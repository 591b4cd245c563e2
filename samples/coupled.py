"""Climate model of several programs: atmosphere, ocean and ice exchange heat through a coupler.

    mpiexec -n 16 scalatrace record -o coupled.st -- python samples/coupled.py --steps 100

Size: any number of ranks; half of them are the atmosphere, a quarter the ocean, an eighth the ice and an
eighth the coupler, at least one each; 3 ranks leave out the ice, 2 the ocean, a single one couples nothing;
--size cells per rank of the world in every component's field (8), --steps coupling steps (10).
Expect: "correct" and status 0. Per coupling step every component sends its field over an intercommunicator to
those coupler ranks that hold the same cells and receives the fluxes in return. Between two couplings the
components run different functions: the atmosphere 4 steps of Sendrecv and Allreduce, the ocean 2 of Irecv,
Isend and Waitall and then an Allreduce, the ice a single one with an Allgather. The trace has the same size
for any number of steps.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import workload

# In the order in which they are left out if there are too few ranks; the coupler stays.
SHARES = {"atmosphere": 4, "ocean": 2, "ice": 1}
CAPACITY = {"atmosphere": 1.0, "ocean": 4.0, "ice": 2.0}
START = {"atmosphere": 15.0, "ocean": 5.0, "ice": -10.0}
CONDUCTANCE = 0.01
EAST, WEST, FIELD, FLUX = range(4)  # tags


def layout(ranks: int) -> dict[str, int]:
    """Number of ranks of each component."""
    if ranks == 1:
        return {"atmosphere": 1}
    names = [*SHARES][: ranks - 1]
    counts = {name: max(1, ranks * SHARES[name] // 8) for name in names[1:]}
    counts["coupler"] = max(1, ranks // 8)
    return {names[0]: ranks - sum(counts.values()), **counts}


def bounds(rank: int, ranks: int, cells: int) -> tuple[int, int]:
    """First cell of a rank's part and first one behind it."""
    return cells * rank // ranks, cells * (rank + 1) // ranks


class Router:
    """Moves a field between two components that divide the same cells differently."""

    def __init__(self, inter: MPI.Intercomm, cells: int) -> None:
        self.inter = inter
        low, high = bounds(inter.rank, inter.size, cells)
        self.links = []
        for rank in range(inter.remote_size):
            first, last = bounds(rank, inter.remote_size, cells)
            if max(low, first) < min(high, last):
                self.links.append((rank, slice(max(low, first) - low, min(high, last) - low)))

    def send(self, field: np.ndarray, tag: int) -> None:
        MPI.Request.Waitall([self.inter.Isend(field[part], rank, tag) for rank, part in self.links])

    def receive(self, field: np.ndarray, tag: int) -> None:
        MPI.Request.Waitall([self.inter.Irecv(field[part], rank, tag) for rank, part in self.links])


class Component:
    """This rank's part of a component: its cells, its communicator and its ways to the coupler."""

    def __init__(self, args: argparse.Namespace) -> None:
        world = MPI.COMM_WORLD
        self.args, self.counts = args, layout(world.size)
        names = [name for name, count in self.counts.items() for _ in range(count)]
        self.name = names[world.rank]
        self.comm = world.Split([*self.counts].index(self.name), world.rank)
        self.cells = args.size * world.size
        self.low, self.high = bounds(self.comm.rank, self.comm.size, self.cells)
        self.east = (self.comm.rank + 1) % self.comm.size
        self.west = (self.comm.rank - 1) % self.comm.size
        self.routers: dict[str, Router] = {}
        for tag, name in enumerate(n for n in self.counts if n != "coupler"):
            if "coupler" in self.counts and self.name in (name, "coupler"):
                leader = names.index("coupler" if self.name == name else name)
                inter = self.comm.Create_intercomm(0, world, leader, tag)
                self.routers[name] = Router(inter, self.cells)

    def start(self) -> np.ndarray:
        """The component's temperature: its mean and one wave around the globe."""
        longitude = 2 * np.pi * np.arange(self.low, self.high) / self.cells
        return START[self.name] + np.cos(longitude)

    def couple(self, field: np.ndarray) -> None:
        """Let the coupler know the temperature and take up the heat that it answers with."""
        for router in self.routers.values():
            flux = np.zeros_like(field)
            router.send(field, FIELD)
            router.receive(flux, FLUX)
            field += flux / CAPACITY[self.name]

    def total(self, field: np.ndarray) -> float:
        whole = np.zeros(1)
        self.comm.Allreduce(field.sum().reshape(1), whole, MPI.SUM)
        return float(whole[0])


def atmosphere(part: Component, field: np.ndarray) -> None:
    """Four steps of wind from the west, each with a search for the steepest front."""
    steepest, edge = np.zeros(1), np.zeros(1)
    for _ in range(4):
        part.comm.Sendrecv(field[-1:].copy(), part.east, EAST, edge, part.west, EAST)
        slope = np.diff(field, prepend=edge)
        part.comm.Allreduce(np.abs(slope).max().reshape(1), steepest, MPI.MAX)
        field -= 0.5 * slope
        workload.compute(part.args)


def ocean(part: Component, field: np.ndarray) -> None:
    """Two steps of mixing with both neighbours, then the mean temperature for the log."""
    below, above = np.zeros(1), np.zeros(1)
    for _ in range(2):
        requests = [part.comm.Irecv(below, part.west, EAST), part.comm.Irecv(above, part.east, WEST)]
        requests.append(part.comm.Isend(field[-1:].copy(), part.east, EAST))
        requests.append(part.comm.Isend(field[:1].copy(), part.west, WEST))
        MPI.Request.Waitall(requests)
        field += 0.25 * np.diff(field, 2, prepend=below, append=above)
        workload.compute(part.args)
    part.total(field)


def ice(part: Component, field: np.ndarray) -> None:
    """A single step, slow enough for everybody to know everybody's edges."""
    edges = np.zeros((part.comm.size, 2))
    part.comm.Allgather(np.array([field[0], field[-1]]), edges)
    below, above = edges[part.west, 1], edges[part.east, 0]
    field += 0.1 * np.diff(field, 2, prepend=below, append=above)
    workload.compute(part.args)


def coupler(part: Component) -> bool:
    """Collect all temperatures and answer with the heat that flows; whether none is made or lost."""
    fields = {name: np.zeros(part.high - part.low) for name in part.routers}
    for name, router in part.routers.items():
        router.receive(fields[name], FIELD)
    everything = sum(fields.values())
    fluxes = {name: CONDUCTANCE * (everything - len(fields) * field) for name, field in fields.items()}
    workload.compute(part.args)
    for name, router in part.routers.items():
        router.send(fluxes[name], FLUX)
    return abs(part.total(sum(fluxes.values()))) < 1e-9 * part.cells


def known_mean(part: Component) -> float:
    """Mean temperature of the component at the end: what flows inside of components does not change it."""
    names = [name for name in part.counts if name != "coupler"]
    means = np.array([START[name] for name in names])
    capacities = np.array([CAPACITY[name] for name in names])
    for _ in range(part.args.steps):
        means = means + CONDUCTANCE * (means.sum() - len(means) * means) / capacities
    return float(means[names.index(part.name)])


COMPONENTS: dict[str, Callable[[Component, np.ndarray], None]] = {
    "atmosphere": atmosphere,
    "ocean": ocean,
    "ice": ice,
}


def run(part: Component) -> bool:
    """All coupling steps of this rank's component; whether its result is right."""
    if part.name == "coupler":
        good = True
        for _ in range(part.args.steps):
            good = coupler(part) and good
        return good
    field = part.start()
    for _ in range(part.args.steps):
        part.couple(field)
        COMPONENTS[part.name](part, field)
    mean = part.total(field - START[part.name]) / part.cells + START[part.name]
    # In a component that is a single cell the wave does not cancel.
    return part.cells == 1 or abs(mean - known_mean(part)) < 1e-9


def main() -> int:
    args = workload.parse(workload.parser("components and a coupler", size=8, steps=10))
    return workload.finish("coupled", args, run(Component(args)))


if __name__ == "__main__":
    sys.exit(main())
