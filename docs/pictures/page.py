"""Photograph the page of a run for README.md, with a headless browser.

    python docs/pictures/page.py docs/images      (mpiexec, scalatrace and chromium are on the PATH)

Size: 8 ranks of samples/stencil2d.py. Expect: report.png in the folder, below 100 KB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image  # of matplotlib

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1280, 860
MAX_BYTES = 100_000
COLOURS = 64

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""More ranks than cores, also as root."""

BROWSER = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=4000",
    f"--window-size={WIDTH},{HEIGHT}",
)  # fmt: skip


def main(folder: Path) -> None:
    """Record the sample, make its page, and write its picture to a folder."""
    picture = folder.resolve() / "report.png"
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "samples").symlink_to(ROOT / "samples")  # the page shows short paths, as in a checkout
        program = ["python", "samples/stencil2d.py", "--periodic", "--steps", "200"]
        _run(work, "mpiexec", "-n", "8", "scalatrace", "record", "-o", "stencil.st", "--", *program)
        _run(work, "scalatrace", "report", "stencil.st", "--platform", "cluster")
        options = (f"--user-data-dir={work}/browser", f"--screenshot={picture}")
        _run(work, *BROWSER, *options, f"file://{work}/report.html")
    with Image.open(picture) as screen:
        reduced = screen.convert("RGB").quantize(COLOURS)
    reduced.save(picture, optimize=True)
    if picture.stat().st_size > MAX_BYTES:
        sys.exit(f"{picture}: {picture.stat().st_size:,} bytes, more than {MAX_BYTES:,}")


def _run(folder: str, *command: str) -> None:
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, timeout=300)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
