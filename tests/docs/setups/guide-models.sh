# Traces for docs/guide/models.md.
for n in 4 9 16; do mpiexec -n $n scalatrace record --quiet -o st$n.st -- python samples/stencil2d.py --periodic --steps 100; done
scalatrace extrapolate st4.st st9.st st16.st --symbolic -o app.stx
