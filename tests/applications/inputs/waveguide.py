"""Light in a waveguide, by MEEP's finite differences."""

import sys

import meep as mp

simulation = mp.Simulation(
    cell_size=mp.Vector3(16, 8),
    boundary_layers=[mp.PML(1.0)],
    geometry=[mp.Block(mp.Vector3(mp.inf, 1, mp.inf), material=mp.Medium(epsilon=12))],
    sources=[mp.Source(mp.ContinuousSource(frequency=0.15), component=mp.Ez, center=mp.Vector3(-7, 0))],
    resolution=10,
)
simulation.run(until=int(sys.argv[1]))
field = simulation.get_field_point(mp.Ez, mp.Vector3())
if mp.am_master():
    print(f"result Ez {field.real:.12e} t {simulation.meep_time():.6f}")
