"""The time line of a page: some ranks in a window, reconstructed from the compressed form."""
