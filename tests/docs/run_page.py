"""Run the terminal sessions of a Markdown page with the scalatrace on the PATH, and compare their output.

    python tests/docs/run_page.py docs/tutorial.md --install dist/scalatrace-1.0.0-py3-none-any.whl

Expect: status 0 and "all sessions of PAGE passed"; else each failing command with its output, and status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.sessions import blocks_of, page_environment, run_page


def main() -> int:
    """Run a page in a folder of its own."""
    parser = argparse.ArgumentParser(description="Run the terminal sessions of a Markdown page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--install", metavar="WHAT", help="wheel or folder for pip in place of scalatrace")
    args = parser.parse_args()
    text = args.page.read_text()
    install = args.install and str(Path(args.install).resolve())
    with tempfile.TemporaryDirectory() as folder:
        failures = run_page(text, Path(folder), page_environment(os.environ), install=install, seconds=900)
    for failure in failures:
        print(failure, file=sys.stderr)
    if not any(block.commands for block in blocks_of(text)):
        failures.append(f"{args.page}: no session")
        print(failures[-1], file=sys.stderr)
    if not failures:
        print(f"all sessions of {args.page} passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
