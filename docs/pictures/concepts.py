"""Draw the pictures of the concept pages as SVG files.

    make pictures      (python docs/pictures/concepts.py docs/images)

Size: no input. Expect: eight files in the folder; the same bytes in each run, which a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compression
import quantities

PICTURES = {
    "loops": compression.loops,
    "search": compression.search,
    "merge-tree": compression.tree,
    "merge-nodes": compression.alignment,
    "encodings": quantities.encodings,
    "vectors": quantities.vectors,
    "ranklists": quantities.ranklists,
    "grids": quantities.grids,
}
"""Functions that draw, by the name of the file."""


def main(folder: Path) -> None:
    """Write all pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        path = folder / f"{name}.svg"
        path.write_text(draw().svg())
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
