"""Ocean model in the manner of POP: explicit tracers, then an implicit surface height by conjugate gradients.

    mpiexec -n 16 scalatrace record -o ocean.st -- python samples/ocean.py --steps 100

Size: any number of ranks; --size points squared per rank (8), --steps time steps (10).
Expect: "correct" and status 0. Per step two halo exchanges (tracers), then a solver whose number of
iterations follows a storm that wanders and swells, so that it differs from step to step: in each iteration
a halo exchange and an Allreduce of two dot products, every 3 iterations an Allreduce for the convergence
test. At the start and every 10 steps the namelists are read: 30 Bcasts in one wrapper function, called from
30 places.
"""

import argparse
import math
import sys

import numpy as np
from mpi4py import MPI

import halo
import workload

NAMELISTS: dict[str, dict[str, float]] = {
    "time_manager": {"dt_count": 24, "date_sep": 1, "stop_count": 5, "start_year": 1996, "leap": 0},
    "grid": {"partial_bottom": 0, "topo_smooth": 3, "flat_bottom": 1, "min_depth": 3, "sfc_layer": 1},
    "mixing": {"tracer_mix": 0.25, "salt_mix": 0.125, "bottom_drag": 1e-3, "aidif": 1, "convect": 8},
    "solver": {"stiffness": 1, "tolerance": 1e-8, "check_every": 3, "max_iterations": 300, "precond": 0},
    "forcing": {"swell": 4.0, "swell_rate": 0.0137, "drift": 0.23, "radius": 0.15, "orbit": 0.3},
    "diagnostics": {"history": 100, "tavg": 10, "movie": 0, "global_freq": 1, "cfl_freq": 1},
}
Values = dict[str, float]
INNER = (slice(1, -1), slice(1, -1))


def broadcast_scalar(section: str, name: str) -> float:
    """A value that only the first rank read from a file."""
    box = np.full(1, NAMELISTS[section][name] if MPI.COMM_WORLD.rank == 0 else math.nan, dtype=float)
    MPI.COMM_WORLD.Bcast(box, 0)
    return float(box[0])


def read_time_manager() -> Values:
    return {
        "dt_count": broadcast_scalar("time_manager", "dt_count"),
        "date_sep": broadcast_scalar("time_manager", "date_sep"),
        "stop_count": broadcast_scalar("time_manager", "stop_count"),
        "start_year": broadcast_scalar("time_manager", "start_year"),
        "leap": broadcast_scalar("time_manager", "leap"),
    }


def read_grid() -> Values:
    return {
        "partial_bottom": broadcast_scalar("grid", "partial_bottom"),
        "topo_smooth": broadcast_scalar("grid", "topo_smooth"),
        "flat_bottom": broadcast_scalar("grid", "flat_bottom"),
        "min_depth": broadcast_scalar("grid", "min_depth"),
        "sfc_layer": broadcast_scalar("grid", "sfc_layer"),
    }


def read_mixing() -> Values:
    return {
        "tracer_mix": broadcast_scalar("mixing", "tracer_mix"),
        "salt_mix": broadcast_scalar("mixing", "salt_mix"),
        "bottom_drag": broadcast_scalar("mixing", "bottom_drag"),
        "aidif": broadcast_scalar("mixing", "aidif"),
        "convect": broadcast_scalar("mixing", "convect"),
    }


def read_solver() -> Values:
    return {
        "stiffness": broadcast_scalar("solver", "stiffness"),
        "tolerance": broadcast_scalar("solver", "tolerance"),
        "check_every": broadcast_scalar("solver", "check_every"),
        "max_iterations": broadcast_scalar("solver", "max_iterations"),
        "precond": broadcast_scalar("solver", "precond"),
    }


def read_forcing() -> Values:
    return {
        "swell": broadcast_scalar("forcing", "swell"),
        "swell_rate": broadcast_scalar("forcing", "swell_rate"),
        "drift": broadcast_scalar("forcing", "drift"),
        "radius": broadcast_scalar("forcing", "radius"),
        "orbit": broadcast_scalar("forcing", "orbit"),
    }


def read_diagnostics() -> Values:
    return {
        "history": broadcast_scalar("diagnostics", "history"),
        "tavg": broadcast_scalar("diagnostics", "tavg"),
        "movie": broadcast_scalar("diagnostics", "movie"),
        "global_freq": broadcast_scalar("diagnostics", "global_freq"),
        "cfl_freq": broadcast_scalar("diagnostics", "cfl_freq"),
    }


def read_namelists() -> Values:
    readers = (read_time_manager, read_grid, read_mixing, read_solver, read_forcing, read_diagnostics)
    return {name: value for read in readers for name, value in read().items()}


class Ocean:
    """This rank's block of a closed basin: two tracers and the height of the surface."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.grid = halo.Grid.by_hand(2, periodic=False, size=args.size)
        self.directions = halo.offsets(2, corners=False)
        self.halo = halo.Halo(self.grid, self.directions, skip_missing=True)
        self.eigenvalue = halo.eigenvalue(self.grid.wave_numbers(), corners=False)
        self.values = read_namelists()
        self.tracers = {name: np.pad(self.grid.mode(), 1) for name in ("tracer_mix", "salt_mix")}
        self.height = np.pad(np.zeros([args.size] * 2), 1)

    def storm(self, step: int) -> halo.Field:
        """The height that the solver has to find, with a ghost layer; zero on land."""
        values, points = self.values, [d * self.args.size for d in self.grid.dims]
        x, y = (c * self.args.size + np.arange(-1, self.args.size + 1) for c in self.grid.coords)
        angle = values["drift"] * step
        dx = (x + 0.5) / points[0] - 0.5 - values["orbit"] * math.cos(angle)
        dy = (y + 0.5) / points[1] - 0.5 - values["orbit"] * math.sin(angle)
        # Quadratic in time: gusts that do not repeat, so that neither do the numbers of iterations.
        strength = 10 ** (values["swell"] * math.sin(values["swell_rate"] * step**2))
        sea = np.outer((x >= 0) & (x < points[0]), (y >= 0) & (y < points[1]))
        return strength * sea * np.exp(-np.add.outer(dx**2, dy**2) / values["radius"] ** 2)

    def operator(self, field: halo.Field) -> halo.Field:
        """The implicit operator on the block's own points; the ghost points must be up to date."""
        spread = field[INNER] - halo.averaged(field, self.directions)
        return field[INNER] + 4 * self.values["stiffness"] * spread

    def baroclinic(self) -> None:
        """Mix the tracers explicitly."""
        for name, field in self.tracers.items():
            self.halo.exchange(field)
            mixed = halo.averaged(field, self.directions) - field[INNER]
            field[INNER] += self.values[name] * mixed
        workload.compute(self.args)

    def converged(self, residual: halo.Field) -> bool:
        worst = np.zeros(1)
        self.grid.comm.Allreduce(np.abs(residual).max().reshape(1), worst, MPI.MAX)
        return worst[0] < self.values["tolerance"]

    def barotropic(self, wanted: halo.Field) -> int:
        """Conjugate gradients in Chronopoulos and Gear's form, one reduction an iteration; how many."""
        self.halo.exchange(self.height)
        residual = np.pad(wanted - self.operator(self.height), 1)
        search, image, sums = np.zeros_like(wanted), np.zeros_like(wanted), np.zeros(2)
        before, curvature = math.inf, 0.0
        for iteration in range(1, int(self.values["max_iterations"]) + 1):
            self.halo.exchange(residual)
            applied, inner = self.operator(residual), residual[INNER]
            self.grid.comm.Allreduce(np.array([(inner**2).sum(), (inner * applied).sum()]), sums, MPI.SUM)
            beta = sums[0] / before
            before, curvature = sums[0], sums[1] - beta**2 * curvature
            search, image = inner + beta * search, applied + beta * image
            self.height[INNER] += before / curvature * search
            inner -= before / curvature * image
            workload.compute(self.args)
            if iteration % int(self.values["check_every"]) == 0 and self.converged(inner):
                return iteration
        return 0

    def step(self, step: int) -> bool:
        """One time step; whether the solver found the known height."""
        if step % 10 == 0:
            self.values = read_namelists()
        self.baroclinic()
        wanted = self.storm(step)
        iterations = self.barotropic(self.operator(wanted))
        # No eigenvalue of the operator is below one: the error is not larger than the residual's norm.
        bound = self.values["tolerance"] * self.args.size * math.sqrt(self.grid.comm.size)
        return iterations > 0 and np.abs(self.height - wanted)[INNER].max() < bound

    def mixed_well(self, steps: int) -> bool:
        """Whether the tracers have decayed as an eigenvector of the mixing does."""
        start, good = self.grid.mode(), True
        for name, field in self.tracers.items():
            known = (1 - self.values[name] * (1 - self.eigenvalue)) ** steps * start
            good = good and np.abs(field[INNER] - known).max() < 1e-10
        return good


def main() -> int:
    args = workload.parse(workload.parser("ocean model with an iterative solver", size=8, steps=10))
    ocean = Ocean(args)
    good = True
    for step in range(1, args.steps + 1):
        good = ocean.step(step) and good
    return workload.finish("ocean", args, good and ocean.mixed_well(args.steps))


if __name__ == "__main__":
    sys.exit(main())
