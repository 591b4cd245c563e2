"""Three-dimensional Fourier transform on a grid of ranks: the communication of NPB FT.

    mpiexec -n 16 scalatrace record -o ft.st -- python samples/npb/ft.py --steps 100

Size: any number of ranks whose grid divides --size, the points per dimension of the whole field (24);
--steps time steps of the heat equation (50).
Expect: "correct" and status 0: spectrum, field and checksums equal those of numpy's serial transform.
The rows and the columns of the grid are communicators made by Comm_split. Per step a rank transforms its part
back by an Alltoall in its column and one in its row and Reduces a checksum to rank 0; before the first step
one transform in the other direction. The trace has the same size for any number of steps.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import workload

ALPHA = 1e-6  # heat conduction, as in NPB
SAMPLES = 1024  # points in a checksum


class Pencils:
    """A field of n^3 points in pencils: the first two axes are divided over the grid, the last is whole.

    A field has the axes x, y, z; a spectrum, having been turned twice, the axes y, z, x.
    """

    def __init__(self, world: MPI.Comm, dims: list[int], n: int) -> None:
        row, column = divmod(world.rank, dims[1])
        self.row = world.Split(row, column)
        self.column = world.Split(column, row)
        self.counts = [n // d for d in dims]
        self.starts = [row * self.counts[0], column * self.counts[1]]

    def free(self) -> None:
        self.row.Free()
        self.column.Free()

    def part(self, whole: np.ndarray) -> np.ndarray:
        """What this rank holds of a whole array whose axes are in the order of the pencils."""
        first, second = (slice(s, s + c) for s, c in zip(self.starts, self.counts, strict=True))
        return whole[first, second]

    def turn(self, mine: np.ndarray, comm: MPI.Comm, axis: int) -> np.ndarray:
        """Swap the last axis with one that is divided over `comm`; its own inverse."""
        mine = np.moveaxis(mine, axis, 0)
        count, other, n = mine.shape
        outgoing = np.ascontiguousarray(mine.reshape(count, other, comm.size, count).transpose(2, 3, 1, 0))
        incoming = np.empty_like(outgoing)
        comm.Alltoall(outgoing, incoming)
        return np.moveaxis(incoming.transpose(1, 2, 0, 3).reshape(count, other, n), 0, axis)

    def forward(self, field: np.ndarray) -> np.ndarray:
        """The spectrum of a field."""
        over_yz = np.fft.fft(self.turn(np.fft.fft(field), self.row, 1))
        return np.fft.fft(self.turn(over_yz, self.column, 0))

    def backward(self, spectrum: np.ndarray) -> np.ndarray:
        """The field that has this spectrum."""
        over_xy = np.fft.ifft(self.turn(np.fft.ifft(spectrum), self.column, 0))
        return np.fft.ifft(self.turn(over_xy, self.row, 1))


def decay(n: int) -> np.ndarray:
    """By what factor a time step weakens each wave number, axes x, y, z."""
    k2 = (n * np.fft.fftfreq(n)) ** 2
    return np.exp(-4 * ALPHA * np.pi**2 * (k2[:, None, None] + k2[:, None] + k2))


def sample(n: int) -> np.ndarray:
    """How often each point counts in the checksum, axes x, y, z."""
    j = np.arange(1, SAMPLES + 1)
    often = np.zeros((n, n, n))
    np.add.at(often, (j % n, 3 * j % n, 5 * j % n), 1)
    return often


def turned(whole: np.ndarray) -> np.ndarray:
    """A whole array in the axes of a spectrum."""
    return whole.transpose(1, 2, 0)


def advance(
    pencils: Pencils, args: argparse.Namespace, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[complex]]:
    """This rank's parts of the spectrum and the field after all steps, and on rank 0 each step's checksum."""
    factor = pencils.part(turned(decay(args.size)))
    often = pencils.part(sample(args.size))
    field = pencils.part(start)
    spectrum = pencils.forward(field)
    checksums = []
    for _ in range(args.steps):
        workload.compute(args)
        spectrum = spectrum * factor
        field = pencils.backward(spectrum)
        total = np.zeros(1, complex)
        MPI.COMM_WORLD.Reduce(np.sum(field * often).reshape(1), total, MPI.SUM, 0)
        checksums.append(complex(total[0]))
    return spectrum, field, checksums


def serial(steps: int, start: np.ndarray) -> tuple[np.ndarray, list[complex]]:
    """The whole spectrum after all steps and each step's checksum, without a transform back."""
    n = len(start)
    spectrum, factor = np.fft.fftn(start), decay(n)
    weight = np.fft.ifftn(sample(n)).ravel()
    checksums = []
    for _ in range(steps):
        spectrum = spectrum * factor
        checksums.append(complex(weight @ spectrum.ravel()))
    return spectrum, checksums


def main() -> int:
    args = workload.parse(workload.parser("3-D Fourier transform on a grid of ranks, as NPB FT", 24, 50))
    world = MPI.COMM_WORLD
    dims = MPI.Compute_dims(world.size, 2)
    if any(args.size % d for d in dims):
        return workload.refuse(
            "ft", f"a grid of {dims[0]}x{dims[1]} ranks does not divide --size {args.size}"
        )
    pencils = Pencils(world, dims, args.size)
    start = np.random.default_rng(0).random((args.size,) * 3)
    spectrum, field, checksums = advance(pencils, args, start)
    expected, sums = serial(args.steps, start)
    good = np.allclose(spectrum, pencils.part(turned(expected)), 1e-9, 1e-9)
    good &= np.allclose(field, pencils.part(np.fft.ifftn(expected)), 1e-9, 1e-9)
    good &= world.rank != 0 or np.allclose(checksums, sums, 1e-9, 1e-9)
    pencils.free()
    return workload.finish("ft", args, good)


if __name__ == "__main__":
    sys.exit(main())
