"""Build the source distribution and the wheel, and check both in a fresh environment.

    make dist      (python packaging/make_dist.py dist)

Steps: the source distribution; the wheel from it, not from the source folder; a manylinux tag by auditwheel;
a new virtual environment with only that wheel, in which all sessions of docs/tutorial.md must pass.
Expect: status 0, and the two files in the folder. Needs the network for build tools and dependencies.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs/tutorial.md"


def main() -> None:
    """Build into a folder."""
    parser = argparse.ArgumentParser(description="Build and check source distribution and wheel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wheel", type=Path, help="check this wheel, and build nothing")
    args = parser.parse_args()
    if args.wheel:
        check(args.wheel.resolve())
        return
    with tempfile.TemporaryDirectory() as work:
        build(Path(work))
        (sdist,) = Path(work).glob("*.tar.gz")
        wheel = manylinux(next(Path(work).glob("*.whl")), Path(work) / "repaired")
        check(wheel)
        args.folder.mkdir(parents=True, exist_ok=True)
        for file in (sdist, wheel):
            shutil.copy(file, args.folder)
            print(f"{args.folder / file.name}: {file.stat().st_size:,} bytes")


def build(folder: Path) -> None:
    """Build the source distribution, and from it the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)


def manylinux(wheel: Path, folder: Path) -> Path:
    """Return the wheel with the oldest manylinux tag that its libraries allow.

    The tag depends on the C library of the building machine; build on an old system for old ones.
    """
    run(sys.executable, "-m", "auditwheel", "show", wheel)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel)
    (repaired,) = folder.glob("*.whl")
    if "manylinux" not in repaired.name:
        sys.exit(f"{repaired.name}: auditwheel gave no manylinux tag")
    return repaired


def check(wheel: Path) -> None:
    """Run the tutorial in a new environment, whose only source of scalatrace is the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bin_folder = Path(folder, "bin")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["PATH"] = f"{bin_folder}{os.pathsep}{environment['PATH']}"
        environment["SCALATRACE_CACHE"] = str(Path(folder, "cache"))
        page = (ROOT / "tests/docs/run_page.py", TUTORIAL, "--install", wheel)
        run(bin_folder / "python", *page, environment=environment)


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a command; end with its exit status if it fails."""
    print("$", *command, flush=True)
    status = subprocess.run([str(word) for word in command], env=environment, check=False).returncode
    if status:
        sys.exit(f"{command[0]}: exit status {status}")


if __name__ == "__main__":
    main()
