# Slurm in namespaces of its own: source this file first. $type is the PMI of srun, $work the folder of the run.
# Slurm is that of this machine, or of the folder $SLURM_ROOT with Debian's packages, which is laid over /usr.
# Exit status of the scripts: 0 right, 1 wrong, 77 skipped.
set -u
type=${1:-pmi2}
root=${SLURM_ROOT:-}
work=${SLURM_WORK:-$(mktemp -d)}

# enter OPTION...: run the script again in new namespaces (options of unshare), once.
enter() {
    [ -z "${SLURM_WORK:-}" ] || return 0
    [ -x "$root/usr/sbin/slurmctld-wlm" ] || { echo "skipped: no Slurm on this machine or in SLURM_ROOT"; exit 77; }
    [ "$(id -u)" = 0 ] && unshare "$@" -m -p -f true 2>/dev/null || { echo "skipped: no right to make namespaces"; exit 77; }
    trap 'rm -rf "$work"' EXIT
    SLURM_WORK=$work timeout 1200 unshare "$@" -m --propagation private -p -f --mount-proc "$0" "$type"
    exit
}

# lay_over: make the packages of $SLURM_ROOT part of /usr.
lay_over() {
    ln -sf slurmstepd-wlm "$root/usr/sbin/slurmstepd"
    ln -sf libpmix.so.2 "$root/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so" # which the plug-in of srun opens
    mount -t overlay overlay -o "lowerdir=$root/usr:/usr" /usr || exit 77
}

# configure HOST NODES: write the configuration for a host with slurmctld and these nodes.
configure() {
    [ -z "$root" ] || lay_over
    mount -t tmpfs shm /dev/shm # the memory of jobs that were killed has the numbers of new jobs
    mkdir -p "$work/state" "$work/spool" "$work"/tmp-{localhost,n1,n2,n3} # nodes share /tmp, and PMIx names folders by step
    cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$1
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
TmpFS=$work/tmp-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
SlurmctldPort=16817
SlurmdPort=16818
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName=$2 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES State=UP
END
    export SLURM_CONF=$work/slurm.conf
}

failed=0
wrong() { echo "WRONG: $*"; failed=1; }
has() { grep -qF -- "$2" "$1" || wrong "$1 lacks '$2': $(head -3 "$1" | cut -c1-200)"; }
once() { [ "$(grep -cF -- "$2" "$1")" = 1 ] || wrong "$1 has '$2' $(grep -cF -- "$2" "$1") times: $(head -3 "$1" | cut -c1-200)"; }
there() { for f in "$@"; do [ -s "$f" ] || wrong "no $f"; done; }
drain() { for _ in $(seq 120); do squeue -h | grep -q . || return; sleep 1; done; wrong "jobs do not end"; }
run() { local out=$1; shift; timeout 120 srun --mpi="$type" "$@" >"$out" 2>&1; [ $? != 124 ] || wrong "$out: ranks wait for ever"; }
finish() { [ $failed = 0 ] && echo right; exit $failed; }

# build OPTION...: hello.c; skip where srun with these options does not start it.
build() {
    cd "$work" || exit 1
    cat >hello.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1) sleep(atoi(argv[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    mpicc -o hello hello.c || exit 77
    timeout 120 srun --mpi="$type" "$@" ./hello >plain.out 2>&1 || { echo "skipped: $type of this Slurm does not start this MPI"; exit 77; }
    scalatrace doctor --build >doctor.out 2>&1
}
