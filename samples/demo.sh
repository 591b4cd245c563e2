#!/bin/bash
# The four jobs: record and check, replay; generate a benchmark; extrapolate; predict the time on another machine.
#
#     samples/demo.sh 16 demo-out          (this is `make demo`)
#
# Size: any number of ranks (first argument, 16); results in a folder (second argument, demo-out).
# Expect: status 0, and "equal" near the end; report.html and scaling.html in the folder.
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

step scalatrace generate "$out/stencil.st" --to python -o "$out/bench.py"
step mpiexec -n "$ranks" python "$out/bench.py"

for n in 4 6 9 12; do
    step mpiexec -n "$n" scalatrace record -o "$out/s$n.st" -- python "$samples/stencil2d.py" --periodic --steps 20
done
step scalatrace extrapolate "$out"/s{4,6,9,12}.st -P 65536 -o "$out/big.st"
step scalatrace simulate "$out/big.st" --platform cluster
step scalatrace report "$out"/s{4,6,9,12}.st -o "$out/scaling.html"
step scalatrace report "$out/stencil.st" --platform cluster -o "$out/report.html"

printf '\nplain logs: %s bytes, trace: %s bytes; the traces of program and replay are equal\n' \
    "$(cat "$out"/logs/*.log | wc -c)" "$(wc -c <"$out/stencil.st")"
printf 'pages: %s, %s\n' "$out/report.html" "$out/scaling.html"
