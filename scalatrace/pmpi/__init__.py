"""The interposition layer: C sources, and the generator of their wrappers. Nothing here imports MPI."""
