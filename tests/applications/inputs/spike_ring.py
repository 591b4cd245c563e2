"""A spike that travels round a ring of cells, by NEURON."""

import sys

from neuron import h

h.nrnmpi_init()
CELLS, END_MS = 16, int(sys.argv[1])

context = h.ParallelContext()
cells, connections = {}, []
for gid in range(int(context.id()), CELLS, int(context.nhost())):
    soma = h.Section(name=f"soma{gid}")
    soma.L = soma.diam = 12.6
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    synapse.tau = 2
    context.set_gid2node(gid, context.id())
    context.cell(gid, h.NetCon(soma(0.5)._ref_v, None, sec=soma))
    cells[gid] = soma, synapse
for gid, (_, synapse) in cells.items():
    connection = context.gid_connect((gid - 1) % CELLS, synapse)
    connection.delay, connection.weight[0] = 5, 0.05
    connections.append(connection)
if 0 in cells:
    start = h.NetStim()
    start.number, start.start = 1, 1
    first = h.NetCon(start, cells[0][1])
    first.weight[0] = 0.05
times, gids = h.Vector(), h.Vector()
for gid in cells:
    context.spike_record(gid, times, gids)
context.set_maxstep(10)
h.finitialize(-65)
context.psolve(END_MS)
spikes = context.py_allgather(sorted(zip(times, gids, strict=True)))
if context.id() == 0:
    every = sorted(spike for part in spikes for spike in part)
    print("result spikes", len(every), " ".join(f"{t:.4f}:{int(gid)}" for t, gid in every[-4:]))
context.barrier()
h.quit()
