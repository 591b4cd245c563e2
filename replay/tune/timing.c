/* Timed collective calls, and MPI's control variables (MPI_T), for `scalatrace tune`.
 *
 * All functions return 0, or an error code of MPI. One visit of a point, on every rank of a communicator:
 *
 *     ranks meet   late ranks wait        the call
 *     |----------->|..................>|=============>|
 *     dissemination  offset_ns                         ns[i]: from the meeting to the end
 *
 * The meeting uses messages of a communicator of its own: no algorithm that is measured takes part in it.
 */
enum { MEET = 31, TEXT = 16384 };

/* Start MPI_T; it stays until the process ends. */
int st_start_tools(void) {
    int provided;
    return MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided);
}

/* Type, enumeration and description of a control variable, this in a buffer of `size` bytes. */
static int get_info(int number, MPI_Datatype *type, MPI_T_enum *values, char *about, int size) {
    char text[TEXT];
    int length = TEXT, verbosity, binding, scope;
    return MPI_T_cvar_get_info(number, text, &length, &verbosity, type, values, about, &size, &binding, &scope);
}

/* The number of a control variable, and whether it is an integer; else an error of MPI_T. */
int st_find(const char *name, int *number, int *integer) {
    char about[TEXT];
    MPI_Datatype type;
    MPI_T_enum values;
    TRY(MPI_T_cvar_get_index(name, number));
    TRY(get_info(*number, &type, &values, about, TEXT));
    *integer = type == MPI_INT;
    return 0;
}

/* The description of a variable, in a buffer of `size` bytes. */
int st_describe(int number, char *about, int size) {
    MPI_Datatype type;
    MPI_T_enum values;
    return get_info(number, &type, &values, about, size);
}

/* Value and name of the n-th item of a variable's enumeration; an error after the last, or without one. */
int st_item(int number, int n, int *value, char *name, int size) {
    char text[TEXT];
    int length = TEXT, items;
    MPI_Datatype type;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    TRY(get_info(number, &type, &values, text, TEXT));
    if (values == MPI_T_ENUM_NULL) return MPI_T_ERR_INVALID_ITEM;
    TRY(MPI_T_enum_get_info(values, &items, text, &length));
    return n < items ? MPI_T_enum_get_item(values, n, value, name, &size) : MPI_T_ERR_INVALID_ITEM;
}

static int access_variable(int number, int *value, int writes) {
    MPI_T_cvar_handle handle;
    int count, code;
    TRY(MPI_T_cvar_handle_alloc(number, NULL, &handle, &count));
    code = writes ? MPI_T_cvar_write(handle, value) : MPI_T_cvar_read(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return code;
}

int st_read(int number, int *value) { return access_variable(number, value, 0); }

int st_write(int number, int value) { return access_variable(number, &value, 1); }

/* The value of a variable that is a text, in a buffer of `size` bytes. */
int st_read_text(int number, char *value, int size) {
    MPI_T_cvar_handle handle;
    int count, code;
    TRY(MPI_T_cvar_handle_alloc(number, NULL, &handle, &count));
    code = count < size ? MPI_T_cvar_read(handle, value) : MPI_ERR_TRUNCATE;
    MPI_T_cvar_handle_free(&handle);
    return code;
}

/* Bring all ranks of a communicator together, by messages only (dissemination, Hensgen et al. 1988). */
static int meet(MPI_Comm comm) {
    int size, rank;
    TRY(MPI_Comm_size(comm, &size));
    TRY(MPI_Comm_rank(comm, &rank));
    for (int step = 1; step < size; step *= 2)
        TRY(MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + step) % size, MEET, NULL, 0, MPI_BYTE, (rank - step + size) % size,
                         MEET, comm, MPI_STATUS_IGNORE));
    return 0;
}

/* Small integers as elements, different on each rank: sums of them are exact in any order. */
static void fill(char *buffer, long nbytes, int element, int rank) {
    for (long i = 0; i < nbytes / element; i++) {
        int value = (int)((i * 7 + (long)rank * 13 + 1) % 61);
        if (element == 8)
            ((double *)buffer)[i] = value;
        else if (element == 4)
            ((float *)buffer)[i] = (float)value;
        else
            buffer[i] = (char)value;
    }
}

/* Time a collective on all ranks of `comm`. ns[i]: from the meeting to the end of call i, the offset included.
 *
 * `digest` may be NULL. Else it gets a hash (FNV-1a) of what a call has put into the buffer for results, which
 * must be equal for all algorithms.
 */
int st_time(MPI_Fint handle, MPI_Fint meeting, int op, int block, long nbytes, int element, int root, double offset_ns,
            int repeats, double *ns, uint64_t *digest) {
    MPI_Comm comm = MPI_Comm_f2c(handle), meets = MPI_Comm_f2c(meeting);
    MPI_Datatype type = element == 8 ? MPI_DOUBLE : element == 4 ? MPI_FLOAT : MPI_BYTE;
    MPI_Op sum = element == 1 ? MPI_BOR : MPI_SUM;
    int size, rank;
    if ((size_t)nbytes > buffer_size) return MPI_ERR_NO_MEM;
    TRY(MPI_Comm_size(comm, &size));
    TRY(MPI_Comm_rank(comm, &rank));
    if (digest) {
        fill(out_buffer, nbytes, element, rank);
        memset(in_buffer, 0, (size_t)nbytes);
        if (op == 1 && rank == root) memcpy(in_buffer, out_buffer, (size_t)nbytes);
    }
    for (int i = -WARM_UP; i < repeats; i++) {
        TRY(meet(meets));
        double begin = now_ns();
        while (now_ns() - begin < offset_ns) {
        } /* as a rank that computes: it does not leave its core to others */
        TRY(call_collective(comm, op, block, type, element, sum, root, size));
        if (i >= 0) ns[i] = now_ns() - begin;
        if (i == -WARM_UP && digest) {
            uint64_t hash = 14695981039346656037u;
            for (long k = 0; k < nbytes; k++) hash = (hash ^ (unsigned char)in_buffer[k]) * 1099511628211u;
            *digest = hash;
        }
    }
    return 0;
}
