# Programs for docs/guide/record.md.
cat > app.py <<'P'
import sys
sys.argv[1:] = ["--steps", "3"]
sys.path.insert(0, "samples")
import runpy
runpy.run_path("samples/stencil2d.py", run_name="__main__")
P
cp samples/ring.py ksp.py
mpicc -O2 -g -o heat samples/heat.c -lm
printf '#!/bin/bash\nexec ./heat 10\n' > solver && chmod +x solver
