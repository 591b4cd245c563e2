/* world.c - the group of the world, and the open sessions. */
#include "events/world.h"

#include <stdbool.h>
#include <stdlib.h>

static MPI_Group group = MPI_GROUP_NULL;
static bool has_world; /* MPI_COMM_WORLD can be used */

static void free_group(void) {
    if (group != MPI_GROUP_NULL) PMPI_Group_free(&group);
    group = MPI_GROUP_NULL;
}

#ifdef MPI_SESSION_NULL
static MPI_Session *sessions; /* that are open, in the order in which they were */
static int nsessions, capacity;
static MPI_Session origin = MPI_SESSION_NULL; /* of the group */

void st_world_add(MPI_Session session) {
    if (nsessions == capacity) {
        MPI_Session *larger = realloc(sessions, (size_t)(2 * capacity + 4) * sizeof *larger);
        if (!larger) return;
        sessions = larger, capacity = 2 * capacity + 4;
    }
    sessions[nsessions++] = session;
}

void st_world_remove(MPI_Session session) {
    int kept = 0;
    for (int i = 0; i < nsessions; i++)
        if (sessions[i] != session) sessions[kept++] = sessions[i];
    nsessions = kept;
    if (origin != session) return;
    free_group();
    origin = MPI_SESSION_NULL;
}

int st_world_sessions(void) { return nsessions; }

static void take_from_session(void) {
    if (nsessions && PMPI_Group_from_session_pset(sessions[0], "mpi://WORLD", &group) == MPI_SUCCESS)
        origin = sessions[0];
}
#else
static void take_from_session(void) {}
#endif

MPI_Group st_world_group(void) {
    if (group != MPI_GROUP_NULL) return group;
    if (has_world)
        PMPI_Comm_group(MPI_COMM_WORLD, &group);
    else
        take_from_session();
    return group;
}

void st_world_start(void) {
    has_world = true;
    if (group == MPI_GROUP_NULL) st_world_group();
}

void st_world_stop(void) {
    free_group();
    has_world = false;
}
