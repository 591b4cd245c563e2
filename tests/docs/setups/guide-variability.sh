# A trace and measured times for docs/guide/variability.md.
mpiexec -n 4 scalatrace record --quiet -o app.st -- \
    python samples/variability.py ftq --sleep --mean-us 20000 --steps 100 --times ftq.csv
