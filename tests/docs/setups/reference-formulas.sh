# Traces for docs/reference/formulas.md.
for n in 16 20 25 30; do mpiexec -n $n scalatrace record --quiet -o s$n.st -- python samples/stencil2d.py --steps 20; done
