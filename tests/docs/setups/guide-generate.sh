# A trace for docs/guide/generate.md.
mpiexec -n 16 scalatrace record --quiet -o app.st -- python samples/stencil2d.py --steps 3
