"""Pictures of docs/concepts/values.md and docs/concepts/extrapolation.md: values, ranklists, grids."""

from __future__ import annotations

from svg import BLUE, GREEN, LIGHT, ORANGE, Drawing

from scalatrace.report.values import vec
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList

CELL = 30


def _grid(
    drawing: Drawing, x: float, y: float, sides: tuple[int, int], fills: list[str], cell: float = CELL
) -> None:
    """Draw the ranks of a grid, row by row, in their colours."""
    columns = sides[1]
    for rank, fill in enumerate(fills):
        row, column = divmod(rank, columns)
        label = str(rank) if cell >= 24 else ""
        drawing.box(x + column * cell, y + row * cell, cell - 3, cell - 3, label, fill)


def encodings() -> Drawing:
    """Return the destination of a shift in two encodings."""
    picture = Drawing(760, 220, "Absolute destinations differ on each rank, relative ones are equal")
    picture.text(20, 28, "dest of the same call on five ranks of a chain")
    heads = ("rank", "absolute", "relative")
    last = "PROC_NULL"
    rows = [[str(r), str(r + 1) if r < 4 else last, "self+1" if r < 4 else last] for r in range(5)]
    for column, head in enumerate(heads):
        picture.text(30 + 110 * column, 54, head, grey=True)
        for number, row in enumerate(rows):
            fill = LIGHT if column < 2 else (GREEN if number < 4 else ORANGE)
            picture.box(20 + 110 * column, 62 + 28 * number, 100, 25, row[column], fill)
    picture.arrow(360, 130, 420, 130)
    picture.text(430, 116, "elastic value", grey=True)
    picture.text(430, 138, "{0-3: self+1; 4: PROC_NULL}", mono=True)
    picture.text(430, 162, "as long for 5,000 ranks as for 5", grey=True)
    return picture


def vectors() -> Drawing:
    """Return the values of successive executions as a value vector."""
    picture = Drawing(760, 190, "Values that repeat or grow by a step become a short vector")
    rows = (
        ("count", [8] * 60),
        ("tag", [1, 2, 3] * 20),
        ("root", list(range(60))),
        ("count", [4, 4, 4, 9] * 15),
    )
    picture.text(100, 28, "values of 60 executions", grey=True)
    picture.text(520, 28, "value vector", grey=True)
    for number, (name, values) in enumerate(rows):
        y = 40 + 34 * number
        picture.text(20, y + 18, name)
        for column, value in enumerate([*values[:6], "...", values[-1]]):
            picture.box(100 + 44 * column, y, 40, 26, str(value), BLUE)
        picture.arrow(460, y + 13, 510, y + 13)
        picture.text(520, y + 18, vec(vec_of(values), str), mono=True)
    return picture


def ranklists() -> Drawing:
    """Return three ranklists of a 4x4 grid."""
    picture = Drawing(760, 220, "A row, a column and a block of a grid of 16 ranks as ranklists")
    sets = (("a row", {4, 5, 6, 7}), ("a column", {0, 4, 8, 12}), ("a block", {5, 6, 9, 10}))
    for number, (name, ranks) in enumerate(sets):
        x = 30 + 240 * number
        picture.text(x, 28, name)
        _grid(picture, x, 40, (4, 4), [BLUE if rank in ranks else LIGHT for rank in range(16)])
        picture.text(x, 186, str(RankList(ranks)), mono=True)
    picture.text(30, 208, "number of dimensions, first rank, then length and stride of each", grey=True)
    return picture


def _classes(rows: int, columns: int) -> list[str]:
    """Return the colour of each rank of a grid by its number of neighbours."""
    by_borders = (GREEN, ORANGE, BLUE)
    return [
        by_borders[(x in (0, rows - 1)) + (y in (0, columns - 1))]
        for x in range(rows)
        for y in range(columns)
    ]


def grids() -> Drawing:
    """Return recorded grids with classes of ranks, and an extrapolated one."""
    picture = Drawing(760, 310, "Corners, borders and inner ranks of recorded grids, and of a larger grid")
    picture.text(20, 28, "recorded")
    x = 20.0
    for rows, columns in ((3, 3), (4, 3), (4, 4)):
        _grid(picture, x, 40, (rows, columns), _classes(rows, columns), 26)
        picture.text(x, 168, f"{rows}x{columns}", grey=True)
        x += 26 * columns + 28
    picture.arrow(x - 4, 92, x + 44, 92)
    picture.text(x + 60, 28, "extrapolated")
    _grid(picture, x + 60, 40, (12, 12), _classes(12, 12), 15)
    picture.text(x + 60, 238, "12x12", grey=True)
    for number, (fill, text) in enumerate(
        ((BLUE, "corner: 2 neighbours"), (ORANGE, "border: 3 neighbours"), (GREEN, "inner: 4 neighbours"))
    ):
        picture.box(20, 190 + 26 * number, 18, 18, "", fill)
        picture.text(46, 204 + 26 * number, text)
    picture.text(20, 292, "dest of the downward message: r+Y if x < X-1, on all grids", mono=True)
    return picture
