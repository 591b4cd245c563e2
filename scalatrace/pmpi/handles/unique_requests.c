/* unique_requests.c - find predefined handles, and make substitutes. */
#include "handles/unique_requests.h"

#include "base/state.h"

#define MAX_HANDLES 4           /* predefined handles: Open MPI has one, MPICH one for each kind of request */
#define MAX_CLAIMS_WATCHED 4096 /* waits on the request's own variable in a row, until variables are trusted */
#define MAX_SUBSTITUTES                                                                                                \
    100000 /* alive at a time: a program that never waits for its sends must not run out of memory */

/* A predefined handle, and the status that its requests have. */
static struct predefined {
    MPI_Request handle;
    MPI_Status status;
} predefined[MAX_HANDLES];
static int npredefined;
static int nclaims;    /* waits on the request's own variable, counted up to MAX_CLAIMS_WATCHED */
static bool is_copied; /* the program has waited on a copy of a handle */
static int nsubstitutes;

/* -- callbacks of the generalized requests --------------------------------------------------------------- */

static int copy_status(void *extra, MPI_Status *status) {
    const struct predefined *from = extra;
    int error = status->MPI_ERROR; /* MPI leaves this field to the caller */
    *status = from->status;
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}

static int free_substitute(void *extra) {
    (void)extra;
    __atomic_fetch_sub(&nsubstitutes, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* -- handles --------------------------------------------------------------------------------------------- */

/* Two live requests of one kind that have the same handle: the handle is predefined. */
static void check_pair(MPI_Request *pair) {
    int flag = 0;
    bool done = pair[0] != pair[1] || pair[0] == MPI_REQUEST_NULL || npredefined == MAX_HANDLES;
    for (int i = 0; i < npredefined && !done; i++) done = predefined[i].handle == pair[0];
    if (!done) {
        struct predefined *entry = &predefined[npredefined];
        *entry = (struct predefined){.handle = pair[0]};
        PMPI_Request_get_status(pair[0], &flag, &entry->status);
        if (flag) npredefined++;
    }
    PMPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
}

void st_unique_start(MPI_Comm comm) {
    static bool started;
    MPI_Request pair[2];
    int none = 0;
    if (started || comm == MPI_COMM_NULL) return;
    started = true;
    for (int i = 0; i < 2; i++) PMPI_Irecv(&none, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &pair[i]);
    check_pair(pair);
    for (int i = 0; i < 2; i++) PMPI_Isend(&none, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &pair[i]);
    check_pair(pair);
    if (st_shared.private_comm == MPI_COMM_NULL) return; /* before MPI_Init */
    for (int i = 0; i < 2; i++) PMPI_Ibarrier(MPI_COMM_SELF, &pair[i]);
    check_pair(pair);
}

void st_unique_claimed(bool in_place) {
    if (!in_place)
        is_copied = true;
    else if (nclaims < MAX_CLAIMS_WATCHED)
        nclaims++;
}

MPI_Request st_unique_request(MPI_Request handle, bool overwrites) {
    if (!overwrites && !is_copied && nclaims >= MAX_CLAIMS_WATCHED) return handle;
    struct predefined *entry = predefined, *end = predefined + npredefined;
    while (entry < end && entry->handle != handle) entry++;
    if (entry == end || __atomic_load_n(&nsubstitutes, __ATOMIC_RELAXED) >= MAX_SUBSTITUTES) return handle;
    MPI_Request substitute;
    if (PMPI_Grequest_start(copy_status, free_substitute, cancel, entry, &substitute) != MPI_SUCCESS) return handle;
    __atomic_fetch_add(&nsubstitutes, 1, __ATOMIC_RELAXED);
    PMPI_Grequest_complete(substitute);
    return substitute;
}
