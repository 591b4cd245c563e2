# Traces for docs/guide/report.md.
for n in 16 20 25 30; do mpiexec -n $n scalatrace record --quiet -o s$n.st -- python samples/stencil2d.py --steps 3; done
cp s16.st lu.st && cp s16.st before.st && cp s16.st after.st
