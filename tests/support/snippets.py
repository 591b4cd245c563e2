"""A file of snippets with all that the language has."""

EXAMPLE = """# the halo of a stencil
snippet halo weight 3 {
    MPI_Irecv(source ~ 1, tag in 1..2) * 2
    either { Send(dest ~ (0, 1)) } or { Isend Wait ? }
    Waitall * at_least  # a name of an operation
}
keep Bcast(root = PROC_NULL)
drop any(tag = [P - 1]) at "app.py:7"
"""
