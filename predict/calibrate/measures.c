/* Timed MPI calls of a calibration, on one communicator.
 *
 * All functions return 0, or an error code of MPI. `first` is 1 on the rank that leads and 0 on its peer;
 * both call a function with the same arguments. Durations are in ns, one per repeat. A function that times
 * on the peer sends them to the leader. Two untimed repeats come first: they allocate what MPI needs for a
 * size.
 *
 *     leader                       peer
 *     ready  <-------------------- all receives are posted
 *     [timed calls] -------------> [timed calls]
 */
enum { DATA = 11, READY = 12, OTHER = 13, RESULT = 14, PAUSE_NS = 100000 };

/* Send the durations of the peer to the leader. */
static int collect(MPI_Comm comm, int first, int peer, int repeats, double *ns) {
    if (first) return MPI_Recv(ns, repeats, MPI_DOUBLE, peer, RESULT, comm, MPI_STATUS_IGNORE);
    return MPI_Send(ns, repeats, MPI_DOUBLE, peer, RESULT, comm);
}

static int signal_ready(MPI_Comm comm, int peer) { return MPI_Send(NULL, 0, MPI_BYTE, peer, READY, comm); }

static int await_ready(MPI_Comm comm, int peer) {
    return MPI_Recv(NULL, 0, MPI_BYTE, peer, READY, comm, MPI_STATUS_IGNORE);
}

/* Half of a round trip. */
int st_pingpong(MPI_Fint handle, int first, int peer, int nbytes, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    for (int i = -WARM_UP; i < repeats; i++) {
        double begin = now_ns();
        if (first) {
            TRY(MPI_Send(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm));
            TRY(MPI_Recv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE));
        } else {
            TRY(MPI_Recv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE));
            TRY(MPI_Send(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm));
        }
        if (i >= 0) ns[i] = (now_ns() - begin) / 2;
    }
    return 0;
}

/* The call MPI_Isend, with a receive posted at the other end. */
int st_send(MPI_Fint handle, int first, int peer, int nbytes, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    for (int i = -WARM_UP; i < repeats; i++) {
        MPI_Request request;
        if (first) {
            TRY(await_ready(comm, peer));
            double begin = now_ns();
            TRY(MPI_Isend(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm, &request));
            if (i >= 0) ns[i] = now_ns() - begin;
        } else {
            TRY(MPI_Irecv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, &request));
            TRY(signal_ready(comm, peer));
        }
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    return 0;
}

/* The call MPI_Recv on the peer, of an eager message that has arrived before. */
int st_recv(MPI_Fint handle, int first, int peer, int nbytes, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    for (int i = -WARM_UP; i < repeats; i++) {
        if (first) {
            TRY(MPI_Send(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm));
            TRY(signal_ready(comm, peer));
            TRY(await_ready(comm, peer));
        } else {
            TRY(await_ready(comm, peer)); /* messages arrive in order: the data are here */
            double begin = now_ns();
            TRY(MPI_Recv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE));
            if (i >= 0) ns[i] = now_ns() - begin;
            TRY(signal_ready(comm, peer));
        }
    }
    return collect(comm, first, peer, repeats, ns);
}

/* Time per message of a burst: from the first to the last arrival, on the peer, by the messages between. */
int st_burst(MPI_Fint handle, int first, int peer, int nbytes, int messages, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    if (!requests) return MPI_ERR_NO_MEM;
    for (int i = -WARM_UP; i < repeats; i++) {
        if (first) {
            TRY(await_ready(comm, peer));
            for (int k = 0; k < messages; k++)
                TRY(MPI_Isend(out_buffer + (size_t)k * nbytes, nbytes, MPI_BYTE, peer, DATA, comm, &requests[k]));
            TRY(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
        } else {
            for (int k = 0; k < messages; k++)
                TRY(MPI_Irecv(in_buffer + (size_t)k * nbytes, nbytes, MPI_BYTE, peer, DATA, comm, &requests[k]));
            TRY(signal_ready(comm, peer));
            TRY(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            double begin = now_ns();
            TRY(MPI_Waitall(messages - 1, requests + 1, MPI_STATUSES_IGNORE));
            if (i >= 0) ns[i] = (now_ns() - begin) / (messages - 1);
        }
    }
    free(requests);
    return collect(comm, first, peer, repeats, ns);
}

/* The call MPI_Recv on the peer, with `entries` unexpected messages in front of the one that matches. */
int st_unexpected(MPI_Fint handle, int first, int peer, int entries, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    for (int i = -WARM_UP; i < repeats; i++) {
        if (first) {
            for (int k = 0; k < entries; k++) TRY(MPI_Send(out_buffer, 0, MPI_BYTE, peer, OTHER, comm));
            TRY(MPI_Send(out_buffer, 0, MPI_BYTE, peer, DATA, comm));
            TRY(signal_ready(comm, peer));
            TRY(await_ready(comm, peer));
        } else {
            TRY(await_ready(comm, peer));
            double begin = now_ns();
            TRY(MPI_Recv(in_buffer, 0, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE));
            if (i >= 0) ns[i] = now_ns() - begin;
            for (int k = 0; k < entries; k++)
                TRY(MPI_Recv(in_buffer, 0, MPI_BYTE, peer, OTHER, comm, MPI_STATUS_IGNORE));
            TRY(signal_ready(comm, peer));
        }
    }
    return collect(comm, first, peer, repeats, ns);
}

/* MPI_Reduce_local of doubles. */
int st_reduce_local(int nbytes, int repeats, double *ns) {
    memset(in_buffer, 0, (size_t)nbytes);
    memset(out_buffer, 0, (size_t)nbytes);
    for (int i = -WARM_UP; i < repeats; i++) {
        double begin = now_ns();
        TRY(MPI_Reduce_local(in_buffer, out_buffer, nbytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM));
        if (i >= 0) ns[i] = now_ns() - begin;
    }
    return 0;
}

/* MPI_Pack of every other double: `nbytes` are packed. The buffers hold twice as many. */
int st_pack(int nbytes, int repeats, double *ns) {
    MPI_Datatype type;
    int position, count = nbytes / (int)sizeof(double);
    TRY(MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &type));
    TRY(MPI_Type_commit(&type));
    for (int i = -WARM_UP; i < repeats; i++) {
        double begin = now_ns();
        position = 0;
        TRY(MPI_Pack(in_buffer, 1, type, out_buffer, nbytes, &position, MPI_COMM_SELF));
        if (i >= 0) ns[i] = now_ns() - begin;
    }
    return MPI_Type_free(&type);
}

/* A collective call after a barrier: the longest duration of all ranks, on rank 0. */
int st_collective(MPI_Fint handle, int which, int nbytes, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    int size, rank;
    TRY(MPI_Comm_size(comm, &size));
    TRY(MPI_Comm_rank(comm, &rank));
    memset(out_buffer, 0, buffer_size);
    for (int i = -WARM_UP; i < repeats; i++) {
        TRY(MPI_Barrier(comm));
        double begin = now_ns();
        TRY(call_collective(comm, which, nbytes, MPI_DOUBLE, (int)sizeof(double), MPI_SUM, 0, size));
        if (i >= 0) ns[i] = now_ns() - begin;
    }
    if (rank == 0) return MPI_Reduce(MPI_IN_PLACE, ns, repeats, MPI_DOUBLE, MPI_MAX, 0, comm);
    return MPI_Reduce(ns, NULL, repeats, MPI_DOUBLE, MPI_MAX, 0, comm);
}

/* Pairs of ranks that exchange a message at the same time; peer -1: this rank has none. The time that a message takes
 * at the mean of their bandwidths, on rank 0. */
int st_pairs(MPI_Fint handle, int peer, int nbytes, int repeats, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    int size, rank;
    TRY(MPI_Comm_size(comm, &size));
    TRY(MPI_Comm_rank(comm, &rank));
    for (int i = -WARM_UP; i < repeats; i++) {
        double own[2] = {0, 0}, all[2] = {0, 0}; /* messages per ns, ranks */
        TRY(MPI_Barrier(comm));
        if (peer >= 0) {
            double begin = now_ns();
            TRY(MPI_Sendrecv(out_buffer, nbytes, MPI_BYTE, peer, OTHER, in_buffer, nbytes, MPI_BYTE, peer, OTHER, comm,
                             MPI_STATUS_IGNORE));
            own[0] = 1 / (now_ns() - begin);
            own[1] = 1;
        }
        TRY(MPI_Reduce(own, all, 2, MPI_DOUBLE, MPI_SUM, 0, comm));
        if (i >= 0) ns[i] = all[0] > 0 ? all[1] / all[0] : 0;
    }
    return 0;
}

/* Algorithm 3: does a send end before its receive is posted?
 *
 * The published test makes both ranks call MPI_Send, then MPI_Recv, and kills them when they hang. Here the
 * send is MPI_Isend, polled for `limit_ns`; then the receive is posted, and nothing hangs. ns[0] is 1 for a
 * synchronous send, 0 for others.
 */
int st_deadlock(MPI_Fint handle, int first, int peer, int nbytes, double limit_ns, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    struct timespec pause = {0, PAUSE_NS};
    int done = 0;
    if (!first) {
        TRY(await_ready(comm, peer));
        return MPI_Recv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE);
    }
    MPI_Request request;
    double begin = now_ns();
    TRY(MPI_Isend(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm, &request));
    TRY(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    while (!done && now_ns() - begin < limit_ns) {
        nanosleep(&pause, NULL);
        TRY(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    ns[0] = !done;
    TRY(signal_ready(comm, peer));
    return done ? 0 : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Algorithm 4: does the receiver get what was written to the buffer after MPI_Isend? Then ns[0] is 1.
 *
 * The published test waits one second before the receive; here the sender sends a message when it has
 * written.
 */
int st_corruption(MPI_Fint handle, int first, int peer, int nbytes, double *ns) {
    MPI_Comm comm = MPI_Comm_f2c(handle);
    if (first) {
        MPI_Request request;
        memset(out_buffer, 0, (size_t)nbytes);
        TRY(MPI_Isend(out_buffer, nbytes, MPI_BYTE, peer, DATA, comm, &request));
        memset(out_buffer, 1, (size_t)nbytes);
        TRY(signal_ready(comm, peer));
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        TRY(await_ready(comm, peer));
        TRY(MPI_Recv(in_buffer, nbytes, MPI_BYTE, peer, DATA, comm, MPI_STATUS_IGNORE));
        ns[0] = 0;
        for (int i = 0; i < nbytes; i++)
            if (in_buffer[i]) ns[0] = 1;
    }
    return collect(comm, first, peer, 1, ns);
}
