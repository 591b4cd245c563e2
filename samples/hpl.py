"""Linear equations by LU factorisation with partial pivoting on a process grid, like HPL.

    mpiexec -n 16 scalatrace record -o hpl.st -- python samples/hpl.py --steps 10

Size: any number of ranks; --size panels per row and column of the process grid (4), each of --block columns
(4), so that on P x Q ranks the matrix has block * size * lcm(P, Q) rows, --steps right-hand sides, each with
a factorisation of its own (5); --rows sets P; --panels sets the number of panels in all, in place of --size;
--kernels marks matrix products and other kernels with their sizes, for predictions by models of them
(docs/guide/simulate.md); --bcast passes the panels on along the rows by an algorithm of HPL in place of
MPI_Bcast; --depth 1 factors the next panel before the rest of the matrix is updated (look-ahead); --swap
collects the rows of U by an algorithm of HPL, in place of a Sendrecv per row and a Bcast of U (mix: a binary
exchange for up to --threshold columns, as in HPL's input file, and long for more); --pivots sets
where the largest element of a column is: anywhere (random), on the diagonal (no row is ever swapped), or in
the next process row (next: all rows but the last are swapped), so that who swaps with whom follows a rule.
Expect: "correct" and status 0. Per column of a panel an Allreduce with MAXLOC for the pivot, a Sendrecv for
the swap and a Bcast of the pivot's row, all in the column of the grid; per panel a broadcast along the rows,
swaps in the columns, a Bcast of U along the columns. Messages shrink from panel to panel; at the end a
back-substitution by Reduce along a row and Bcast along a column. The matrix is the same in every step, hence
also the pivots: all steps are alike.
"""

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise

import numpy as np
from mpi4py import MPI

import workload

BCASTS = ("mpi", "ring", "ring-modified", "2-ring", "2-ring-modified", "long", "long-modified")
SWAPS = ("rows", "binary", "long", "mix")
PIVOTS = ("random", "diagonal", "next")
PAIR = np.dtype([("value", "f8"), ("row", "i4")], align=True)  # MPI.DOUBLE_INT


def marking(args: argparse.Namespace) -> Callable[..., AbstractContextManager[object]]:
    """Return what marks a kernel: `scalatrace.kernel`, or without --kernels nothing."""
    if not args.kernels:
        return lambda name, **sizes: nullcontext()
    import scalatrace

    return scalatrace.kernel


def rings(algorithm: str, size: int) -> list[list[int]]:
    """The chains of places, each from the root (place 0), in which whole panels are passed on."""
    chains, others = [], list(range(1, size))
    if algorithm.endswith("modified") and others:
        chains.append([0, others.pop(0)])
    if algorithm.startswith("2-ring"):
        middle = (len(others) + 1) // 2
        return [*chains, [0, *others[:middle]], [0, *others[middle:]]]
    return [*chains, [0, *others]]


@cache
def whole_matrix(n: int, block: int, pivots: str) -> np.ndarray:
    """All rows and columns, the last of them for a right-hand side."""
    full = np.random.default_rng(n).uniform(-0.5, 0.5, (n, n + 1))
    if pivots != "random":
        columns = np.arange(n)
        full[(columns + (block if pivots == "next" else 0)) % n, columns] += n
    return full


class Matrix:
    """The block-cyclic part of the matrix of this rank, the right-hand side as a last column of its own."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        world = MPI.COMM_WORLD
        self.block = args.block
        self.kernel = marking(args)
        self.dims = MPI.Compute_dims(world.size, [args.rows, 0])
        self.p, self.q = divmod(world.rank, self.dims[1])
        self.row, self.column = world.Split(self.p, self.q), world.Split(self.q, self.p)
        self.panels = args.panels or args.size * math.lcm(*self.dims)
        self.n = self.block * self.panels
        self.rows = np.flatnonzero(np.arange(self.n) // self.block % self.dims[0] == self.p)
        # The right-hand side follows the last block.
        self.has_right_side = self.q == self.panels % self.dims[1]
        self.columns = np.flatnonzero(np.arange(self.n + 1) // self.block % self.dims[1] == self.q)
        self.start = whole_matrix(self.n, self.block, args.pivots)[np.ix_(self.rows, self.columns)]
        self.values = self.start.copy()
        self.sends: list[MPI.Request] = []

    def owner(self, row: int) -> int:
        """Process row of a row of the matrix."""
        return row // self.block % self.dims[0]

    def local_row(self, row: int) -> int:
        return row // self.block // self.dims[0] * self.block + row % self.block

    def below(self, row: int) -> slice:
        """This rank's rows from that row of the matrix on."""
        return slice(int(np.searchsorted(self.rows, row)), None)

    def right(self, column: int) -> slice:
        """This rank's columns from that column of the matrix on."""
        return slice(int(np.searchsorted(self.columns, column)), None)

    def swap(self, first: int, second: int, part: slice) -> None:
        """Exchange two rows of the matrix in some of this rank's columns, both may be elsewhere."""
        owners, here = ([place(row) for row in (first, second)] for place in (self.owner, self.local_row))
        if first == second or self.p not in owners:
            return
        if owners[0] == owners[1]:
            self.values[here, part] = self.values[here[::-1], part]
            return
        mine, partner = (0, owners[1]) if owners[0] == self.p else (1, owners[0])
        outgoing = self.values[here[mine], part].copy()
        incoming = np.empty_like(outgoing)
        self.column.Sendrecv(outgoing, partner, recvbuf=incoming, source=partner)
        self.values[here[mine], part] = incoming

    def find_pivot(self, step: int, local: int) -> int:
        """The row, from `step` on, with the largest value in one of this rank's columns."""
        below = self.below(step)
        best, found = np.zeros(1, PAIR), np.zeros(1, PAIR)
        best["value"], best["row"] = -1.0, self.n
        candidates = np.abs(self.values[below, local])
        if len(candidates):
            best["value"], best["row"] = candidates.max(), self.rows[below][candidates.argmax()]
        self.column.Allreduce([best, 1, MPI.DOUBLE_INT], [found, 1, MPI.DOUBLE_INT], MPI.MAXLOC)
        return int(found["row"][0])

    def factor_panel(self, first: int) -> np.ndarray:
        """Factor the panel that starts at a column, in the process column that has it; its pivots."""
        start = self.right(first).start
        panel, pivots = slice(start, start + self.block), np.zeros(self.block)
        for step in range(first, first + self.block):
            local = start + step - first
            pivot = self.find_pivot(step, local)
            pivots[step - first] = pivot
            self.swap(step, pivot, panel)
            top = np.empty(first + self.block - step)
            if self.owner(step) == self.p:
                top[:] = self.values[self.local_row(step), local : panel.stop]
            self.column.Bcast(top, self.owner(step))
            under = self.below(step + 1)
            with self.kernel("dger", m=len(self.rows[under]), n=len(top) - 1):
                self.values[under, local] /= top[0]
                self.values[under, local + 1 : panel.stop] -= np.outer(self.values[under, local], top[1:])
        workload.compute(self.args)
        return pivots

    def spread(self, packed: np.ndarray, root: int) -> None:
        """Broadcast along the process row."""
        algorithm, size, place = self.args.bcast, self.dims[1], (self.q - root) % self.dims[1]
        if algorithm == "mpi":
            self.row.Bcast(packed, root)
            return
        if algorithm.startswith("long"):
            self.spread_long(packed, root, algorithm == "long-modified")
            return
        self.finish_sends()
        for chain in rings(algorithm, size):
            index = chain.index(place) if place in chain else -1
            if index > 0:
                self.row.Recv(packed, (root + chain[index - 1]) % size)
            if 0 <= index < len(chain) - 1:
                self.sends.append(self.row.Isend(packed, (root + chain[index + 1]) % size))

    def finish_sends(self) -> None:
        """Wait for the sends of the panel before: with look-ahead, receivers still update the matrix."""
        MPI.Request.Waitall(self.sends)
        self.sends.clear()

    def spread_long(self, packed: np.ndarray, root: int, modified: bool) -> None:
        """Scatter the panel over the row, then pass the parts around; modified: place 1 gets it whole."""
        size, place = self.dims[1], (self.q - root) % self.dims[1]
        members = [other for other in range(size) if not (modified and other == 1)]
        flat = packed.reshape(-1)
        parts = [slice(*ends) for ends in self.bounds(len(flat), len(members))]
        if modified and size > 1 and place == 0:
            self.row.Send(flat, (root + 1) % size)
        if modified and place == 1:
            self.row.Recv(flat, root)
            return
        index = members.index(place)
        if index:
            self.row.Recv(flat[parts[index]], root)
        else:
            for part, member in zip(parts[1:], members[1:], strict=True):
                self.row.Send(flat[part], (root + member) % size)
        after, before = ((root + members[(index + step) % len(members)]) % size for step in (1, -1))
        for step in range(len(members) - 1):
            own, incoming = (parts[(index - step - shift) % len(members)] for shift in (0, 1))
            self.row.Sendrecv(flat[own].copy(), after, recvbuf=flat[incoming], source=before)

    @staticmethod
    def bounds(length: int, count: int) -> list[tuple[int, int]]:
        """First and last element of equal parts."""
        edges = [length * i // count for i in range(count + 1)]
        return list(pairwise(edges))

    def panel(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Pivots and this rank's rows of the factored panel, from the panel's diagonal block on."""
        packed, root = self.factor(first)
        self.spread(packed, root)
        return packed[0].astype(int), packed[1:]

    def factor(self, first: int) -> tuple[np.ndarray, int]:
        """The buffer of a panel, filled in the process column that has it, and the number of that column."""
        root, under = first // self.block % self.dims[1], self.below(first)
        packed = np.empty((1 + len(self.rows[under]), self.block))
        if self.q == root:
            packed[0] = self.factor_panel(first)
            start = self.right(first).start
            packed[1:] = self.values[under, start : start + self.block]
        return packed, root

    def collect_rows(self, first: int, pivots: np.ndarray, part: slice, binary: bool) -> np.ndarray:
        """Swap rows, and return the new rows of the diagonal block in every process row.

        Each process row has some of these rows. Binary exchange: after round k, each has those of 2^k process
        rows. Otherwise they go around a ring, those of one process row at a time.
        """
        content: dict[int, int] = {}
        for step, pivot in enumerate(map(int, pivots), first):
            a, b = content.get(step, step), content.get(pivot, pivot)
            content[step], content[pivot] = b, a
        top = [content[first + i] for i in range(self.block)]
        size = self.dims[0]
        places = [[i for i, row in enumerate(top) if self.owner(row) == p] for p in range(size)]
        width = len(self.columns[part])
        upper = np.empty((self.block, width))
        for i in places[self.p]:
            upper[i] = self.values[self.local_row(top[i]), part]
        self.send_displaced(first, content, part)
        known = 1
        while known < size:
            distance = known if binary else 1
            count = min(known, size - known) if binary else 1
            start = 0 if binary else known - 1
            out, into = (
                [i for k in range(count) for i in places[(p - start - k) % size]]
                for p in (self.p, self.p - distance)
            )
            incoming = np.empty((len(into), width))
            after, before = (self.p + distance) % size, (self.p - distance) % size
            self.column.Sendrecv(upper[out], after, recvbuf=incoming, source=before)
            upper[into] = incoming
            known += count
        return upper

    def send_displaced(self, first: int, content: dict[int, int], part: slice) -> None:
        """Send the former rows of the diagonal block to where they belong, before they are overwritten."""
        root = self.owner(first)
        moved = [
            (row, old) for row, old in sorted(content.items()) if row >= first + self.block and row != old
        ]
        if self.p == root:
            old_rows = {row: self.values[self.local_row(old), part].copy() for row, old in moved}
            for p in range(self.dims[0]):
                rows = [row for row, _ in moved if self.owner(row) == p]
                if rows and p != root:
                    self.column.Send(np.array([old_rows[row] for row in rows]), p)
                for row in rows if p == root else ():
                    self.values[self.local_row(row), part] = old_rows[row]
        elif rows := [row for row, _ in moved if self.owner(row) == self.p]:
            incoming = np.empty((len(rows), len(self.columns[part])))
            self.column.Recv(incoming, root)
            for row, values in zip(rows, incoming, strict=True):
                self.values[self.local_row(row), part] = values

    def update(self, first: int, pivots: np.ndarray, factors: np.ndarray, part: slice) -> None:
        """Bring some of the columns right of a panel up to date with it."""
        width = len(self.columns[part])
        if width == 0:
            return
        root = self.owner(first)
        if self.args.swap != "rows":
            binary = self.args.swap == "binary" or (self.args.swap == "mix" and width <= self.args.threshold)
            upper = self.collect_rows(first, pivots, part, binary)
            block = (
                np.ascontiguousarray(factors[: self.block]) if self.p == root else np.empty((self.block,) * 2)
            )
            self.column.Bcast(block, root)
            with self.kernel("dtrsm", m=self.block, n=width):
                upper[...] = np.linalg.solve(np.tril(block, -1) + np.eye(self.block), upper)
            if self.p == root:
                start = self.below(first).start
                self.values[start : start + self.block, part] = upper
                factors = factors[self.block :]
            self.multiply(first, factors, upper, part)
            return
        for step, pivot in enumerate(pivots, first):
            self.swap(step, int(pivot), part)
        upper = np.empty((self.block, width))
        if self.p == root:
            diagonal = np.tril(factors[: self.block], -1) + np.eye(self.block)
            start = self.below(first).start
            with self.kernel("dtrsm", m=self.block, n=width):
                upper[...] = np.linalg.solve(diagonal, self.values[start : start + self.block, part])
            self.values[start : start + self.block, part] = upper
            factors = factors[self.block :]
        self.column.Bcast(upper, root)
        self.multiply(first, factors, upper, part)

    def multiply(self, first: int, factors: np.ndarray, upper: np.ndarray, part: slice) -> None:
        """Subtract the product of L and U from the rows below a panel."""
        with self.kernel("dgemm", m=len(factors), n=upper.shape[1], k=self.block):
            self.values[self.below(first + self.block), part] -= factors @ upper
        workload.compute(self.args)

    def advance(self, first: int, pivots: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Update the matrix by a panel; return the next one."""
        after = first + self.block
        right = self.right(after)
        if after >= self.n:
            self.update(first, pivots, factors, right)
            return pivots, factors
        has_next = self.q == after // self.block % self.dims[1]
        if not (self.args.depth and has_next):
            self.update(first, pivots, factors, right)
            return self.panel(after)
        end = right.start + self.block
        self.update(first, pivots, factors, slice(right.start, end))
        panel = self.panel(after)
        self.update(first, pivots, factors, slice(end, None))
        return panel

    def back_substitute(self) -> np.ndarray:
        """The parts of the solution that belong to this rank's columns, zero elsewhere."""
        solution, known = np.zeros(self.n), np.zeros(len(self.rows))
        if self.has_right_side:
            known += self.values[:, -1]
        for first in reversed(range(0, self.n, self.block)):
            block, total = slice(first, first + self.block), np.zeros(self.block)
            p, q = self.owner(first), first // self.block % self.dims[1]
            above, start = self.below(first).start, self.right(first).start
            if self.p == p:
                self.row.Reduce(known[above : above + self.block], total, MPI.SUM, q)
            if self.q == q:
                if self.p == p:
                    upper = np.triu(self.values[above : above + self.block, start : start + self.block])
                    solution[block] = np.linalg.solve(upper, total)
                self.column.Bcast(solution[block], p)
                with self.kernel("dgemv", m=above, n=self.block):
                    known[:above] -= self.values[:above, start : start + self.block] @ solution[block]
        return solution

    def solve(self, step: int) -> bool:
        """Factor and solve for one right-hand side; whether the residual is as small as HPL demands."""
        self.values[...] = self.start
        right = np.sin(1 + step + self.rows)
        if self.has_right_side:
            self.values[:, -1] = right
        panel = self.panel(0)
        for first in range(0, self.n, self.block):
            panel = self.advance(first, *panel)
        self.finish_sends()
        own = self.columns < self.n
        solution = self.back_substitute()[self.columns[own]]
        product, parts = np.empty_like(right), self.start[:, own] @ solution
        self.row.Allreduce(parts, product, MPI.SUM)
        sizes = np.array([np.abs(product - right).max(initial=0), np.abs(solution).max(initial=0)])
        worst = np.empty_like(sizes)
        MPI.COMM_WORLD.Allreduce(sizes, worst, MPI.MAX)
        # A row of the matrix sums up to about n / 4, a right-hand side is at most 1.
        scale = np.finfo(float).eps * self.n * (self.n / 4 * worst[1] + 1)
        return bool(worst[0] / scale < 16)


def main() -> int:
    made = workload.parser("LU factorisation with partial pivoting", size=4, steps=5)
    made.add_argument("--bcast", choices=BCASTS, default="mpi", help="how panels go along the rows (mpi)")
    made.add_argument("--depth", type=int, choices=(0, 1), default=0, help="of the look-ahead (0)")
    made.add_argument("--swap", choices=SWAPS, default="rows", help="how rows are swapped (rows)")
    made.add_argument("--threshold", type=int, default=64, help="columns up to which mix is binary (64)")
    made.add_argument("--pivots", choices=PIVOTS, default="random", help="where pivots are (random)")
    made.add_argument("--block", type=int, default=4, help="columns of a panel (4)")
    made.add_argument("--panels", type=int, default=0, help="of the matrix (0: by --size)")
    made.add_argument("--rows", type=int, default=0, help="of the process grid (0: as square as possible)")
    made.add_argument("--kernels", action="store_true", help="mark kernels in the trace, with their sizes")
    args = workload.parse(made)
    if args.block < 1 or args.rows < 0 or args.panels < 0:
        made.error("--block must be 1 or more, --rows and --panels 0 or more")
    if args.rows and MPI.COMM_WORLD.size % args.rows:
        return workload.refuse("hpl", f"--rows {args.rows} does not divide the number of ranks")
    matrix, good = Matrix(args), True
    for step in range(args.steps):
        good = matrix.solve(step) and good
    return workload.finish("hpl", args, good)


if __name__ == "__main__":
    sys.exit(main())
