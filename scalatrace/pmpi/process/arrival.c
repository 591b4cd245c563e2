/* arrival.c - the messages of arrival.h. */
#include "process/arrival.h"

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/launcher.h"
#include "base/state.h"
#include "base/wait.h"

#define TAG_BELOW_LIMIT 5903 /* the tag is the highest one less this number, which programs hardly use */

static const char HELLO = 1, WAITS = 2, WITHDRAWN = 3; /* to rank 0 */
static const char HERE = 4, GO = 5, STOP = 6;          /* from rank 0 */

static int tag;
static struct receive { /* posted, and left when the program continues */
    MPI_Request request;
    char message;
} *left;
static int nleft;

static void choose_tag(void) {
    int *highest, is_set = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&highest, &is_set);
    tag = (is_set ? *highest : 32767) - TAG_BELOW_LIMIT;
}

/* No wait: one byte leaves at once or later, and stays where it is. */
static void send_byte(int to, const char *message) {
    MPI_Request request;
    if (PMPI_Isend(message, 1, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS) PMPI_Request_free(&request);
}

static bool post(int from, struct receive *receive) {
    return PMPI_Irecv(&receive->message, 1, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive->request) == MPI_SUCCESS;
}

/* -- the sign ---------------------------------------------------------------------------------------------- */

/* Beginning of its name, in Linux's abstract name space. Jobs of launchers that give no number share it. */
static int sign_prefix(char *name, size_t n) {
    return snprintf(name, n, "scalatrace-%ld-%016llx-", (long)getuid(), (unsigned long long)st_job());
}

/* Return the socket, or -1. */
static int show_sign(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = sizeof address.sun_path - 1;
    char *name = address.sun_path + 1; /* the byte before it stays 0 */
    int length = sign_prefix(name, n);
    length += snprintf(name + length, n - (size_t)length, "%ld", (long)getpid());
    int sign = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sign >= 0)
        (void)!bind(sign, (struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
    return sign;
}

static bool is_sign_shown(void) {
    char name[100], line[512];
    bool shown = false;
    FILE *sockets = fopen("/proc/net/unix", "re");
    if (!sockets) return true; /* it cannot be known */
    sign_prefix(name, sizeof name);
    while (!shown && fgets(line, sizeof line, sockets)) shown = strstr(line, name) != NULL;
    fclose(sockets);
    return shown;
}

static bool wait_for_sign(void) {
    int64_t end = st_now() + st_start_limit() * INT64_C(1000000000);
    useconds_t sleep_us = ST_FIRST_SLEEP_US;
    while (!is_sign_shown()) {
        if (st_now() > end) return false;
        st_sleep_longer(&sleep_us);
    }
    return true;
}

/* -- rank 0 ------------------------------------------------------------------------------------------------ */

/* Number of messages that each rank has sent, HELLO and its answer. */
static char *nreceived;
static int narrived, nwaiting;
static bool withdrawn;

static void note_message(int from, char message) {
    nreceived[from]++;
    if (message == HELLO) {
        narrived++;
        send_byte(from, &HERE);
    }
    nwaiting += message == WAITS;
    withdrawn |= message == WITHDRAWN;
}

/* Receive one message. Return false where none comes within the limit. It is probed for: in MPICH 5, with several ranks
 * on each of several nodes, some receives from any source never complete that are posted before their message comes. */
static bool receive_any(void) {
    int64_t end = st_now() + st_start_limit() * INT64_C(1000000000);
    useconds_t sleep_us = 20;
    MPI_Status status;
    char message;
    for (int is_there = 0;;) {
        if (PMPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS) return false;
        if (is_there) break;
        if (st_now() > end) return false;
        st_sleep_longer(&sleep_us);
    }
    int from = status.MPI_SOURCE;
    if (PMPI_Recv(&message, 1, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    note_message(from, message);
    return true;
}

/* Post receives for what the ranks may still send: the program must not receive it. */
static void leave_receives(void) {
    left = calloc(2 * (size_t)st_shared.nprocs, sizeof *left);
    for (int rank = 1; left && rank < st_shared.nprocs; rank++)
        for (int i = nreceived[rank]; i < 2; i++) nleft += post(rank, &left[nleft]);
}

static bool decide(void) {
    nreceived = calloc((size_t)st_shared.nprocs, 1);
    if (!nreceived) return false;
    int sign = show_sign();
    while (nwaiting < st_shared.nprocs - 1 && !withdrawn && receive_any()) continue;
    if (sign >= 0) close(sign);
    bool go = nwaiting == st_shared.nprocs - 1;
    for (int rank = 1; rank < st_shared.nprocs; rank++)
        if (nreceived[rank]) send_byte(rank, go ? &GO : &STOP);
    if (!go) {
        leave_receives();
        st_warn("only %d of %d ranks of MPI_COMM_WORLD reached the tracer within %d s of each other; others have no "
                "tracer, or are late: nothing is recorded. Put scalatrace record before each program of mpiexec",
                narrived + 1 - withdrawn, st_shared.nprocs, st_start_limit());
    }
    free(nreceived);
    return go;
}

/* -- the others -------------------------------------------------------------------------------------------- */

static struct receive answers[2]; /* HERE, then GO or STOP */

/* Return false where rank 0 does not answer within the limit. */
static bool is_answered(void) {
    if (st_ranks_here() == st_shared.nprocs && !wait_for_sign()) return false;
    left = answers;
    if (!post(0, &answers[0]) || !post(0, &answers[1])) return false;
    nleft = 2;
    send_byte(0, &HELLO);
    bool answered = st_wait_request(&answers[0].request, MPI_STATUS_IGNORE, st_start_limit(), NULL);
    send_byte(0, answered ? &WAITS : &WITHDRAWN);
    return answered;
}

static bool ask(void) {
    if (is_answered())
        return st_wait_request(&answers[1].request, MPI_STATUS_IGNORE, ST_NO_LIMIT, NULL) && answers[1].message == GO;
    st_warn("rank 0 of MPI_COMM_WORLD did not reach the tracer within %d s; it has no tracer, or is late: nothing is "
            "recorded. Put scalatrace record before each program of mpiexec",
            st_start_limit());
    return false;
}

bool st_arrive(void) {
    if (st_shared.nprocs == 1) return true;
    choose_tag();
    return st_shared.rank == 0 ? decide() : ask();
}

void st_arrival_end(void) {
    for (int i = 0; i < nleft; i++) {
        if (left[i].request == MPI_REQUEST_NULL) continue;
        PMPI_Cancel(&left[i].request);
        PMPI_Wait(&left[i].request, MPI_STATUS_IGNORE); /* local after MPI_Cancel */
    }
    nleft = 0;
}
