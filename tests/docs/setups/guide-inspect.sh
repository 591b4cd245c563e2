# Traces for docs/guide/inspect.md.
mpiexec -n 16 scalatrace record --quiet -o lu.st -- python samples/npb/lu.py
for name in app a b; do
    mpiexec -n 4 scalatrace record --quiet -o $name.st --flat-log logs-$name -- python samples/stencil2d.py --steps 5
done
mv logs-a logs
