# Traces and programs for docs/guide/extrapolate.md.
for n in 9 12 16 20; do mpiexec -n $n scalatrace record --quiet -o $n.st -- python samples/stencil2d.py --steps 3; done
cp 9.st a.st && cp 12.st b.st && cp 16.st c.st && cp 20.st d.st
cp samples/plugins/filter_template.snippets halo.snippets
