# Traces for docs/guide/replay.md; the calls of app.st are in lines 120 to 180 of solver.py.
cp samples/halo.py solver.py
sed 's/^import halo/import solver as halo/' samples/stencil2d.py > app.py
mpiexec -n 16 scalatrace record --quiet -o app.st -- python app.py --steps 3
mpiexec -n 16 scalatrace record --quiet -o ft.st -- python samples/npb/ft.py
