"""The native compressor, and its binding for tests and tools that make traces without MPI."""
