#!/bin/bash
# The whole round: record a stencil, show it, check it, replay it, record the replay, compare.
#
#     samples/demo.sh 16 demo-out          (this is `make demo`)
#
# Size: any number of ranks (first argument, 16); results in a folder (second argument, demo-out).
# Expect: status 0, and "equal" at the end.
set -euo pipefail
ranks=${1:-16}
out=${2:-demo-out}
samples=$(dirname "$0")

# More ranks than cores, perhaps as root: Open MPI wants to be told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_rmaps_base_oversubscribe=1

# Print a command, then run it.
step() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

rm -rf "$out"
mkdir -p "$out"
step mpiexec -n "$ranks" scalatrace record -o "$out/stencil.st" --flat-log "$out/logs" -- \
    python "$samples/stencil2d.py" --periodic --steps 200
step scalatrace info "$out/stencil.st"
step scalatrace show "$out/stencil.st"
step scalatrace stats "$out/stencil.st"
step scalatrace diff --logs "$out/stencil.st" "$out/logs"
step mpiexec -n "$ranks" scalatrace replay "$out/stencil.st"
step mpiexec -n "$ranks" scalatrace record -o "$out/replay.st" -- scalatrace replay "$out/stencil.st"
step scalatrace diff "$out/stencil.st" "$out/replay.st" --ignore callsites,times
printf '\nplain logs: %s bytes, trace: %s bytes; the traces of program and replay are equal\n' \
    "$(cat "$out"/logs/*.log | wc -c)" "$(wc -c <"$out/stencil.st")"
