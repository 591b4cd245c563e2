"""Pictures of docs/concepts/loops.md and docs/concepts/merging.md: loops, the search for them, the merge."""

from __future__ import annotations

from svg import BLUE, GREEN, LIGHT, ORANGE, RED, Drawing

COLOURS = {"Irecv": BLUE, "Isend": GREEN, "Waitall": ORANGE, "Allreduce": RED}
SHORT = {"Irecv": "R", "Isend": "S", "Waitall": "W", "Allreduce": "A"}
STEP = ["Irecv", "Isend", "Waitall"]


def _row(drawing: Drawing, x: float, y: float, calls: list[str], width: float = 30) -> float:
    """Draw calls side by side, and return the end of the row."""
    for name in calls:
        label = SHORT[name] if width < 60 else name
        drawing.box(x, y, width - 4, 26, label, COLOURS[name])
        x += width
    return x


def loops() -> Drawing:
    """Return the folding of calls into RSDs and a PRSD."""
    picture = Drawing(760, 330, "Twenty calls become a loop of a loop and a reduction")
    picture.text(20, 28, "Calls of one rank, in order: R = Irecv, S = Isend, W = Waitall, A = Allreduce")
    calls = [*STEP * 3, "Allreduce"] * 2
    _row(picture, 20, 44, calls)
    picture.text(640, 62, "20 calls")
    picture.text(20, 104, "The three calls of a step repeat. They fold into a loop (PRSD) with trip count 3:")
    for x in (20, 290):
        picture.frame(x, 134, 112, 46, "3 ×")
        end = _row(picture, x + 12, 144, STEP)
        _row(picture, end + 26, 144, ["Allreduce"])
    picture.text(640, 162, "2 loops, 2 calls")
    picture.text(20, 214, "Loop and Allreduce repeat, too. They fold into a loop around them:")
    picture.frame(20, 246, 200, 70, "2 ×")
    picture.frame(36, 264, 112, 46, "3 ×")
    end = _row(picture, 48, 274, STEP)
    _row(picture, end + 26, 274, ["Allreduce"])
    picture.text(640, 290, "1 loop")
    return picture


def search() -> Drawing:
    """Return the comparison of the newest calls with earlier ones."""
    picture = Drawing(760, 170, "The last calls of the queue are compared with the calls before them")
    picture.text(20, 28, "Queue of one rank; the newest call is on the right")
    _row(picture, 20, 50, ["Allreduce", *STEP, *STEP], width=96)
    picture.brace(116, 82, 284, "match: head to tail")
    picture.brace(404, 82, 284, "target: head to tail")
    picture.text(20, 142, "Heads and tails are equal: match and target become two iterations of a loop.")
    return picture


def tree() -> Drawing:
    """Return the radix tree of the merge of 8 ranks."""
    picture = Drawing(760, 290, "Eight ranks merge their traces in pairs, in three rounds; rank 0 writes")
    xs = [150 + 75 * rank for rank in range(8)]
    for depth, stride in enumerate((1, 2, 4, 8)):
        y = 44 + 64 * depth
        note = "queue of each rank" if not depth else f"round {depth}"
        picture.text(16, y + 17, note, grey=True)
        for rank in range(0, 8, stride):
            last = rank + stride - 1
            label = f"{rank}" if stride == 1 else f"{rank}-{last}"
            picture.box(xs[rank], y, 56, 26, label, LIGHT if stride == 1 else BLUE)
            if depth and last < 8:
                picture.arrow(xs[rank] + 28, y - 38, xs[rank] + 28, y - 1)
                picture.arrow(xs[rank + stride // 2] + 28, y - 38, xs[rank] + 58, y + 6)
    picture.arrow(xs[0] + 58, 249, 320, 249)
    picture.text(330, 254, "rank 0 writes the trace file in MPI_Finalize")
    return picture


def alignment() -> Drawing:
    """Return the merge of two queues of calls."""
    picture = Drawing(760, 250, "Equal calls of two ranks become one node; other calls keep their rank")
    rows = (
        ("rank 0", ["Isend", None, "Allreduce", "Waitall"]),
        ("rank 1", ["Isend", "Irecv", "Allreduce", None]),
    )
    for number, (label, calls) in enumerate(rows):
        y = 30 + 50 * number
        picture.text(20, y + 18, label)
        for column, name in enumerate(calls):
            if name:
                picture.box(110 + 150 * column, y, 120, 26, name, COLOURS[name])
    merged = (("Isend", "0-1"), ("Irecv", "1"), ("Allreduce", "0-1"), ("Waitall", "0"))
    picture.text(20, 188, "merged")
    for column, (name, ranks) in enumerate(merged):
        x = 110 + 150 * column
        picture.arrow(x + 60, 112, x + 60, 166)
        picture.box(x, 170, 120, 26, name, COLOURS[name])
        picture.text(x + 60, 216, f"ranks {ranks}", anchor="middle", grey=True)
    return picture
