"""Figure 5.6 of the ScalaTrace dissertation: computation on both sides that a replay must overlap.

    mpiexec -n 2 scalatrace record -o fig5_6.st -- python samples/fig5_6.py --seconds 10

Size: an even number of ranks works in pairs (an odd one's last rank idles); --seconds computation per rank
(0.2), --nbytes of the message (1 MiB, long enough for the blocking send to wait for its receiver).
Expect: "correct" and status 0 after one times --seconds, recorded and replayed. A replay that reads the
merged trace with a single pointer takes two times as long: it posts the receive only after the computation.
"""

import argparse
import sys
import time

import numpy as np
from mpi4py import MPI


def main() -> int:
    parser = argparse.ArgumentParser(description="Figure 5.6")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--nbytes", type=int, default=1 << 20)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    peer = comm.rank ^ 1
    good = True
    if peer >= comm.size:
        return 0
    if comm.rank % 2 == 0:
        incoming = np.zeros(args.nbytes, dtype=np.uint8)
        request = comm.Irecv(incoming, peer)
        time.sleep(args.seconds)
        request.Wait()
        good = bool((incoming == 7).all())
    else:
        comm.Send(np.full(args.nbytes, 7, dtype=np.uint8), peer)
        time.sleep(args.seconds)
    if comm.rank == 0 or not good:
        print(f"Figure 5.6 on {comm.size} ranks:", "correct" if good else f"WRONG on rank {comm.rank}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
