"""Programs that were not written for tracing, from Debian's packages, under Debian's Open MPI."""
