"""Discrete-ordinates transport like Sweep3D: wavefronts over a grid of ranks from its four corners.

    mpiexec -n 16 scalatrace record -o sweep3d.st -- python samples/sweep3d.py --steps 100

Size: any number of ranks; --size cells squared per rank in i and j (4), --steps source iterations (10).
Expect: "correct" and status 0. Per step 8 octants, in each 2 groups of angles by 2 blocks of k planes: Recv
from the upstream neighbours in i and j, Send to those downstream; at the end of a step an Allreduce of the
flux error. A rank on the border makes no call for the side where it has no neighbour, so that there are
up to nine kinds of ranks. The trace has the same size for any number of steps.

The flux is known after any number of steps: a source and an inflow that are proportional to the exponential
g(i, j, k) = exp(i / 2nx + j / 2ny + k / 2nz), which the upwind differences only multiply, keep it a multiple
of g.
"""

import argparse
import itertools
import math
import sys

import numpy as np
from mpi4py import MPI

import workload

PLANES, PLANE_BLOCK = 4, 2
ANGLES, ANGLE_GROUP = 4, 2
TOTAL, SCATTER = 2.0, 1.0  # cross sections
# Cosines of the angles of one octant; the others mirror them.
COSINES = np.array([[0.2, 0.8, 0.5], [0.4, 0.6, 0.5], [0.6, 0.4, 0.5], [0.8, 0.2, 0.5]])
WEIGHT = 1 / (8 * ANGLES)
Signs = tuple[int, ...]
Field = np.ndarray
OCTANTS: list[Signs] = list(itertools.product((1, -1), repeat=3))


def external(step: int) -> float:
    """Strength of the source outside the scattering; it changes so that the flux never settles."""
    return 1 + 0.5 * math.cos(step)


def plane_inverses(n: int) -> Field:
    """For each angle the inverse of the upwind operator on a plane of n by n cells (j slow, i fast)."""
    unit, shift = np.eye(n * n), np.eye(n, k=-1)
    along_i, along_j = np.kron(np.eye(n), shift), np.kron(shift, np.eye(n))
    operators = [(TOTAL + m + e + x) * unit - m * along_i - e * along_j for m, e, x in COSINES]
    return np.linalg.inv(np.array(operators))


class Transport:
    """This rank's column of cells and what it takes to sweep it."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.n, self.comm = args, args.size, MPI.COMM_WORLD
        self.dims = MPI.Compute_dims(self.comm.size, 2)
        self.coords = divmod(self.comm.rank, self.dims[1])
        self.inverses = plane_inverses(self.n)
        self.cells = (self.dims[0] * self.n, self.dims[1] * self.n, PLANES)
        starts = (self.coords[0] * self.n, self.coords[1] * self.n, 0)
        counts = (self.n, self.n, PLANES)
        self.indices = [s + np.arange(c) for s, c in zip(starts, counts, strict=True)]
        gi, gj, gk = (self.growth(axis, at) for axis, at in enumerate(self.indices))
        self.shape = gk[:, None, None] * gj[:, None] * gi
        self.flux = self.shape.copy()
        self.source = np.zeros_like(self.flux)
        self.amplitude = 1.0  # the known factor of `shape` in `flux`

    def growth(self, axis: int, index: Field | int) -> Field:
        """The factor of the exponential g along one axis."""
        return np.exp(np.asarray(index) / (2 * self.cells[axis]))

    def response(self, signs: Signs) -> Field:
        """What the upwind operator multiplies g by, for each angle of an octant."""
        ratios = [1 - math.exp(-s / (2 * c)) for s, c in zip(signs, self.cells, strict=True)]
        return TOTAL + COSINES @ np.array(ratios)

    def neighbour(self, di: int, dj: int) -> int:
        """Rank of the neighbouring column; MPI.PROC_NULL beyond the border."""
        i, j = self.coords[0] + di, self.coords[1] + dj
        inside = 0 <= i < self.dims[0] and 0 <= j < self.dims[1]
        return i * self.dims[1] + j if inside else MPI.PROC_NULL

    def inflow(self, rank: int, known: Field) -> Field:
        """What comes through a face: the neighbour's outflow, on the border the known solution."""
        if rank != MPI.PROC_NULL:
            self.comm.Recv(known, rank)
        return known

    def outflow(self, rank: int, face: Field) -> None:
        if rank != MPI.PROC_NULL:
            self.comm.Send(face, rank)

    def sweep_block(self, group: slice, source: Field, flux: Field, faces: list[Field]) -> None:
        """Solve a block of planes for a group of angles; `faces` (i, j, k) change from inflow to outflow."""
        face_i, face_j, face_k = faces
        mu, eta, xi = (c[:, None] for c in COSINES[group].T)
        for plane in range(PLANE_BLOCK):
            right = source[plane] + xi[:, None] * face_k
            right[:, :, 0] += mu * face_i[:, plane]
            right[:, 0, :] += eta * face_j[:, plane]
            solved = self.inverses[group] @ right.reshape(ANGLE_GROUP, -1, 1)
            face_k[...] = solved.reshape(right.shape)
            face_i[:, plane], face_j[:, plane] = face_k[:, :, -1], face_k[:, -1, :]
            flux[plane] += WEIGHT * face_k.sum(axis=0)
        workload.compute(self.args)

    def sweep_octant(self, signs: Signs, strength: float, total: Field) -> None:
        """Sweep all angles of an octant; arrays are mirrored so that the way is always upwards."""
        si, sj, sk = signs
        source, flux = self.source[::sk, ::sj, ::si], total[::sk, ::sj, ::si]
        before = [at[::s][0] - s for at, s in zip(self.indices, signs, strict=True)]
        inner = [self.growth(a, at[::s]) for a, (at, s) in enumerate(zip(self.indices, signs, strict=True))]
        (gi, gj, gk), (bi, bj, bk) = inner, [self.growth(a, b) for a, b in enumerate(before)]
        for angle in range(0, ANGLES, ANGLE_GROUP):
            group = slice(angle, angle + ANGLE_GROUP)
            known = (strength / self.response(signs)[group])[:, None, None]
            face_k = known * bk * gj[:, None] * gi
            for plane in range(0, PLANES, PLANE_BLOCK):
                block = slice(plane, plane + PLANE_BLOCK)
                face_i = self.inflow(self.neighbour(-si, 0), known * bi * gk[block, None] * gj)
                face_j = self.inflow(self.neighbour(0, -sj), known * bj * gk[block, None] * gi)
                self.sweep_block(group, source[block], flux[block], [face_i, face_j, face_k])
                self.outflow(self.neighbour(si, 0), face_i)
                self.outflow(self.neighbour(0, sj), face_j)

    def iterate(self, step: int) -> bool:
        """One source iteration; whether the flux changed as much as the known solution does."""
        strength = SCATTER * self.amplitude + external(step)
        self.source[...] = SCATTER * self.flux + external(step) * self.shape
        total = np.zeros_like(self.flux)
        for signs in OCTANTS:
            self.sweep_octant(signs, strength, total)
        error, worst = np.abs(total - self.flux).max().reshape(1), np.zeros(1)
        self.comm.Allreduce(error, worst, MPI.MAX)
        amplitude = strength * WEIGHT * sum((1 / self.response(s)).sum() for s in OCTANTS)
        last = math.prod(float(self.growth(axis, c - 1)) for axis, c in enumerate(self.cells))
        expected = abs(amplitude - self.amplitude) * last
        self.flux, self.amplitude = total, amplitude
        return abs(worst[0] - expected) < 1e-10


def main() -> int:
    args = workload.parse(workload.parser("discrete-ordinates transport sweeps", size=4, steps=10))
    transport = Transport(args)
    good = True
    for step in range(args.steps):
        good = transport.iterate(step) and good
    error = np.abs(transport.flux - transport.amplitude * transport.shape).max()
    return workload.finish("sweep3d", args, good and error < 1e-10)


if __name__ == "__main__":
    sys.exit(main())
