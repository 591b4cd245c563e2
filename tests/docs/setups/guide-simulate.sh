# Traces and a platform for docs/guide/simulate.md.
mpiexec -n 4 scalatrace record --quiet -o stencil.st -- python samples/stencil2d.py --steps 100
scalatrace extrapolate "$TRACES/9.st" "$TRACES/12.st" "$TRACES/16.st" -P 4096 -o app.4096.st
cp stencil.st app.st
printf 'format = 1\nname = "mine"\n[[network.segments]]\nfrom_bytes = 0\nlatency_ns = 1000.0\nper_byte_ns = 0.1\n' > platform.toml
scalatrace extrapolate "$TRACES/9.st" "$TRACES/12.st" "$TRACES/16.st" --symbolic -o app.stx
