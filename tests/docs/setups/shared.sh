# Traces of a stencil that several pages need: 9.st, 12.st, 16.st and 20.st in the present folder.
for n in 9 12 16 20; do mpiexec -n $n scalatrace record --quiet -o $n.st -- python samples/stencil2d.py --steps 3; done
