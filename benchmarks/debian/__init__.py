"""Programs of Debian packages under Debian's Open MPI."""
