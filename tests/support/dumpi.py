"""A writer of DUMPI files, by the documented layout and not by the reader's table."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

MAGIC = b"\xff\xaa\xddDUMPI"
END = 293
INT = 9
WORLD = 2

NUMBERS = {
    "Send": 0, "Recv": 1, "Isend": 8, "Irecv": 12, "Wait": 13, "Waitany": 16, "Waitall": 18, "Testall": 19,
    "Waitsome": 20, "Iprobe": 22, "Send_init": 26, "Start": 31, "Type_vector": 36, "Barrier": 52, "Bcast": 53,
    "Gather": 54, "Allreduce": 65, "Comm_group": 72, "Group_incl": 76, "Comm_size": 81, "Comm_create": 85,
    "Comm_split": 86, "Cart_create": 99, "Cart_sub": 111, "Init": 124, "Finalize": 125, "Put": 143,
    "Function_enter": 291, "Function_exit": 292,
}  # fmt: skip
"""Numbers of functions, counted in the list of dumpi/common/funclabels.h."""


def ints(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def shorts(*values: int) -> bytes:
    return struct.pack(f">{len(values)}h", *values)


def array(*values: int) -> bytes:
    return ints(len(values), *values)


class DumpiWriter:
    """Writes the calls of one rank; each takes `length_us`, with `gap_us` of computation before it."""

    def __init__(
        self, version: tuple[int, int, int] = (1, 0, 0), gap_us: int = 10, length_us: int = 2
    ) -> None:
        self.version, self._gap_us, self._length_us = version, gap_us, length_us
        self._records: list[bytes] = []
        self._now_us = 0
        self.call("Init", ints(1) + ints(3) + b"app")

    def call(self, name: str, arguments: bytes = b"", statuses: bytes | None = None) -> None:
        """Add a record; `statuses`: with their number, None: the record has none."""
        start, end = self._now_us + self._gap_us, self._now_us + self._gap_us + self._length_us
        self._now_us = end
        mask = 8 | 64 | (0 if statuses is None else 3)
        record = struct.pack(">HBH", NUMBERS[name], mask, 0)
        for us in (start, end):
            record += struct.pack(">HI", us // 1_000_000 % 65536, us % 1_000_000 * 1000)
        self._records.append(record + arguments + (statuses or b""))

    def skip_us(self, us: int) -> None:
        self._now_us += us

    def message(self, name: str, peer: int, tag: int = 5, count: int = 4, request: int | None = None,
                datatype: int = INT, comm: int = WORLD) -> None:  # fmt: skip
        arguments = ints(count) + shorts(datatype) + ints(peer, tag) + shorts(comm)
        self.call(name, arguments + (b"" if request is None else ints(request)))

    def data(self, functions: Sequence[tuple[int, str]] = ()) -> bytes:
        self.call("Finalize")
        body = MAGIC + ints(100, 200) + b"".join(self._records) + struct.pack(">H", END)
        header = len(body)
        body += (
            bytes(self.version) + struct.pack(">Q", 7) + struct.pack(">H", 1) + b"h" + struct.pack(">H", 0)
        )
        body += ints(0) + ints(0)
        footer = len(body)
        body += struct.pack(">Q", 0xF007FEE7)
        sizes = len(body)
        body += array(*(4 if number == INT else 0 for number in range(28)))
        addresses = len(body)
        body += ints(len(functions))
        for address, name in functions:
            body += struct.pack(">Q", address) + struct.pack(">H", len(name)) + name.encode()
        return body + MAGIC + struct.pack(">7Q", sizes, addresses, 0, header, 8, footer, 0)


def write_dumpi(
    folder: Path, ranks: Sequence[DumpiWriter], functions: Sequence[tuple[int, str]] = ()
) -> Path:
    """Write the trace of these ranks; return its metafile."""
    for rank, writer in enumerate(ranks):
        (folder / f"run-{rank:04d}.bin").write_bytes(writer.data(functions))
    meta = folder / "run.meta"
    meta.write_text(f"hostname=h\nnumprocs={len(ranks)}\nfileprefix=run\n")
    return meta
