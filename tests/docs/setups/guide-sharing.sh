# Traces of a program that opens files, for docs/guide/sharing.md.
cat > app.py <<'P'
from mpi4py import MPI
comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, "result.dat", MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(8 * comm.rank, bytearray(8))
file.Close()
P
for n in 2 3; do mpiexec -n $n scalatrace record --quiet -o $n.st -- python app.py; done
cp 2.st app.st
cp 2.st s16.st && cp 2.st s20.st && cp 3.st s25.st && cp 3.st s30.st
