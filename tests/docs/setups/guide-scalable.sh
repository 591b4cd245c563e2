# Traces for docs/guide/scalable.md.
for n in 16 20 25 30; do mpiexec -n $n scalatrace record --quiet -o $n.st -- python samples/stencil2d.py --steps 3; done
