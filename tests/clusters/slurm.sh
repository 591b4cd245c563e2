#!/bin/bash
# Slurm on this machine: srun with and without a matching PMI, refusals, job arrays, requeued and cancelled jobs.
# Nodes without a compiler, without flock, with a home that is read-only.
#
#     apt-get install slurm-wlm
#     tests/clusters/slurm.sh pmi2     # with the scalatrace, mpicc and srun type (pmi2, pmix) of one MPI in PATH
#
# Without slurm-wlm, packages that `apt-get download` and `dpkg -x` put into a folder do, too: SLURM_ROOT=folder.
# Needs root: Slurm runs in namespaces of its own (lib.sh).
. "$(dirname "$0")/lib.sh"
enter
configure localhost "localhost CPUs=8 CoresPerSocket=8"
slurmctld-wlm && slurmd-wlm -N localhost || exit 77
sleep 3
build -n 4

echo "-- one world"
run a.out -n 4 scalatrace record -o a.st -- ./hello
has a.out "4 ranks"
if timeout 120 srun --mpi=none -n 3 ./hello >none.out 2>&1; then
    echo "-- no PMI: each task is a world"
    timeout 120 srun --mpi=none -n 3 scalatrace record -o b.st -- ./hello >b.out 2>&1
    once b.out "the launcher started 3 tasks"
    there b.st.task-0 b.st.task-1 b.st.task-2
else
    echo "-- no PMI: this MPI does not start without it"
fi
echo "-- refusals"
cat >refuse.sh <<'END'
#!/bin/bash
[ "$SLURM_PROCID" = "$1" ] && set -- "$1" --flat-log /proc/none
shift
exec scalatrace record "$@" -o c.st -- ./hello
END
chmod +x refuse.sh
for rank in 0 2; do
    run c.out -n 3 ./refuse.sh $rank
    once c.out "--flat-log /proc/none: cannot create"
done
run d.out -n 3 scalatrace record -o /nonexistent/a.st -- ./hello
once d.out "there is no folder /nonexistent"
run e.out -n 3 scalatrace record --foo -- ./hello
once e.out "no option --foo"
run f.out -n 3 scalatrace record -- ./nosuch
once f.out "./nosuch: no such program"
echo "-- a job array"
cat >array.sh <<END
#!/bin/bash
srun --mpi=$type scalatrace record -o 'arr-%a.st' -- ./hello
srun --mpi=$type scalatrace record -o same.st -- ./hello 1
END
sbatch -n 2 --array=1-2 -o array.out --open-mode=append array.sh
drain
there arr-1.st arr-2.st same.st same.st.run-2
has array.out "put %a (array task) into -o"
echo "-- a requeued job"
cat >requeue.sh <<END
#!/bin/bash
srun --mpi=$type scalatrace record -o job.st -- ./hello
srun --mpi=$type scalatrace record -o 'job-%j-%r.st' -- ./hello
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] && scontrol requeue \$SLURM_JOB_ID && sleep 20
END
job=$(sbatch -n 2 --requeue --parsable -o requeue.out --open-mode=append requeue.sh)
for _ in 1 2 3 4 5 6; do sleep 4; scontrol update JobId="$job" StartTime=now 2>/dev/null; done # not in two minutes
drain
there job.st job.st.restart-0 "job-$job-0.st" "job-$job-1.st"
has requeue.out "this job was requeued"
echo "-- a cancelled job"
job=$(sbatch -n 2 --parsable -o long.out --wrap "srun --mpi=$type scalatrace record -o long.st -- ./hello 30")
for _ in 1 2 3 4 5 6 7 8 9; do sleep 1; pgrep -f './hello 30' >/dev/null && break; done
sleep 2
scancel --signal=TERM "$job"
drain
there long.st.parts/rank-0.part long.st.parts/rank-1.part
echo "-- nodes without mpicc, then without flock, then with a read-only home"
cat >noflock.c <<'END'
#include <errno.h>
int flock(int file, int how) { return (void)file, (void)how, errno = ENOSYS, -1; }
END
gcc -shared -fPIC -o noflock.so noflock.c || exit 77
mkdir -m 700 cache flockless
env LD_PRELOAD="$work/noflock.so" SCALATRACE_CACHE="$work/flockless" scalatrace doctor --build >noflock.out 2>&1
ls flockless/libscalatrace_mpi-* >/dev/null 2>&1 || wrong "no tracer is built without flock: $(tail -2 noflock.out)"
SCALATRACE_CACHE=$work/cache scalatrace doctor --build --into "$work/shims" >into.out 2>&1
mpicc=$(readlink -f "$(command -v mpicc)")
mount --bind /bin/false "$mpicc"
export SCALATRACE_CACHE=$work/cache
run g.out -n 3 scalatrace record -o g.st -- ./hello
run h.out -n 3 --export=NONE /usr/bin/env "SCALATRACE_CACHE=$SCALATRACE_CACHE" "$(command -v scalatrace)" record -o h.st -- "$work/hello"
SCALATRACE_CACHE=$work/flockless run i.out -n 3 scalatrace record -o i.st -- ./hello
mkdir -p home && mount -t tmpfs -o ro home home
HOME=$work/home SCALATRACE_CACHE='' SCALATRACE_SHIMS=$work/shims run j.out -n 3 scalatrace record -o j.st -- ./hello
SCALATRACE_CACHE=$work/empty run k.out -n 3 scalatrace record -o k.st -- ./hello
for trace in g h i j; do there $trace.st; done
has k.out "nothing is recorded: "
[ -e k.st ] && wrong "k.st is written without a tracer"
umount "$mpicc"
finish
