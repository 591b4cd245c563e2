#!/bin/bash
# Run the tutorial from a fresh clone: clone, install into a new environment, run all sessions of docs/tutorial.md.
#
#     packaging/tutorial_from_clone.sh [REPOSITORY]      (default: this one)
#
# Expect: status 0, and "all sessions of docs/tutorial.md passed".
set -euo pipefail
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet "$repository" "$work/clone"
cd "$work/clone"
python3 -m venv "$work/env"
unset PYTHONPATH
export PATH="$work/env/bin:$PATH" SCALATRACE_CACHE="$work/cache"
python tests/docs/run_page.py docs/tutorial.md --install .
