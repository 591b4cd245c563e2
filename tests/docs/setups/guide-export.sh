# Traces and logs for docs/guide/export.md.
mpiexec -n 8 scalatrace record --quiet -o app.st --flat-log logs -- python samples/stencil2d.py --steps 50
for n in 4 16 32 64; do cp app.st app.$n.st; done
cp app.st app.8.st
mkdir scorep
scalatrace export app.st --to otf2 -o archive
cp archive/*.otf2 scorep/ && cp -r archive/* scorep/
