#!/bin/bash
# Slurm on three virtual nodes, each with a network, a name and shared memory of its own: ranks on several nodes, a node
# without a compiler, killed and requeued jobs. Packages and use: slurm.sh.
. "$(dirname "$0")/lib.sh"
enter -n
configure "ctl(10.77.0.100)" "n[1-3] CPUs=2 CoresPerSocket=2"
ip link set lo up && ip link add br0 type bridge && ip addr add 10.77.0.100/24 dev br0 && ip link set br0 up || exit 77
printf '%s\n' "127.0.0.1 localhost" "10.77.0.100 ctl" "10.77.0.1 n1" "10.77.0.2 n2" "10.77.0.3 n3" >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts
unshare -u sh -c 'hostname ctl; exec slurmctld-wlm' || exit 77
cat >"$work/node.sh" <<'END'
hostname n$1
echo $$ >$2/n$1
mkdir -p $2/spool/n$1
mount -t tmpfs shm /dev/shm
[ $1 = 3 ] && mount --bind /bin/false $3 # no compiler here
ip link set lo up
until ip addr add 10.77.0.$1/24 dev eth0 2>/dev/null; do sleep 0.1; done
ip link set eth0 up
exec slurmd-wlm -D -N n$1
END
mpicc=$(readlink -f "$(command -v mpicc)")
for i in 1 2 3; do
    unshare -n -u -m --propagation private sh "$work/node.sh" $i "$work" "$mpicc" >"$work/slurmd-$i.out" 2>&1 &
    until [ -s "$work/n$i" ]; do sleep 0.1; done
    ip link add v$i type veth peer name eth0 netns "$(cat "$work/n$i")" && ip link set v$i master br0 up
done
sleep 4
build -N 3 -n 6

echo "-- two ranks on each of three nodes"
run a.out -N 3 -n 6 scalatrace record -o a.st -- ./hello
has a.out "6 ranks"
scalatrace info a.st >info.out
grep -q "hosts  *3" info.out || wrong "info.out: not 3 hosts"
echo "-- two programs"
printf '%s\n' "0-1 scalatrace record -o b.st -- ./hello" "2-5 scalatrace record -o b.st -- ./hello 1" >multi.conf
run b.out -N 3 -n 6 --multi-prog multi.conf
has b.out "6 ranks"
echo "-- an empty cache on a node without a compiler: one node says so, and no rank waits"
SCALATRACE_CACHE=$work/empty run c.out -N 3 -n 6 scalatrace record -o c.st -- ./hello
[ -s c.st ] || has c.out "nothing is recorded"
echo "-- a requeued job"
cat >requeue.sh <<END
#!/bin/bash
srun --mpi=$type scalatrace record -o job.st -- ./hello
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] && scontrol requeue \$SLURM_JOB_ID && sleep 20
END
job=$(sbatch -N 3 -n 6 --requeue --parsable -o requeue.out --open-mode=append requeue.sh)
for _ in 1 2 3 4 5 6; do sleep 4; scontrol update JobId="$job" StartTime=now 2>/dev/null; done # not in two minutes
drain
there job.st job.st.restart-0
echo "-- a cancelled job"
job=$(sbatch -N 3 -n 6 --parsable -o long.out --wrap "srun --mpi=$type scalatrace record -o long.st -- ./hello 30")
for _ in 1 2 3 4 5 6 7 8 9; do sleep 1; [ "$(pgrep -fc './hello 30')" -ge 6 ] && break; done
sleep 2
scancel --signal=TERM "$job"
drain
for rank in 0 1 2 3 4 5; do there long.st.parts/rank-$rank.part; done
finish
