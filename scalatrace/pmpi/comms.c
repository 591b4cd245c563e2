/* comms.c - communicators: a name for each that is the same on all of its ranks, without a message where possible.
 *
 * A communicator made by a call that is collective over its parent is family (parent, how many before). Calls that are
 * collective over the new group only (Comm_create_group, Intercomm_create) may be met by some ranks more often than by
 * others: there the members agree on a number that none of them has used.
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define AGREED UINT64_C(0x8000000000000000) /* ordinals of agreed families, apart from the counted ones */
#define UNIQUE UINT64_C(0x4000000000000000) /* of these, the numbers that only one process proposes */

static struct st_map comms; /* handle -> struct st_comm * */
static struct {
    MPI_Comm handle;
    struct st_comm *info;
} last;
static int64_t nagreed;    /* agreed numbers below it are taken; under the lock, as all of this */
static int64_t nproposals; /* numbers that no other process proposes */
static MPI_Group world_group = MPI_GROUP_NULL;
static struct st_comm nowhere = {.name = ST_COMM_NULL, .indegree = 0, .outdegree = 0};

static int64_t *world_ranks(MPI_Group group, int *n) {
    PMPI_Group_size(group, n);
    int *mine = malloc(((size_t)*n + 1) * 2 * sizeof *mine);
    int64_t *ranks = malloc(((size_t)*n + 1) * sizeof *ranks);
    if (!mine || !ranks) {
        free(mine), free(ranks);
        return NULL;
    }
    int *world = mine + *n;
    for (int i = 0; i < *n; i++) mine[i] = i;
    PMPI_Group_translate_ranks(group, *n, mine, world_group, world);
    for (int i = 0; i < *n; i++) ranks[i] = st_int(world[i]); /* ST_UNDEFINED: a process of another world */
    free(mine);
    return ranks;
}

static int64_t *members_of(MPI_Comm comm, bool remote, int *n) {
    MPI_Group group;
    if (remote)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    int64_t *ranks = world_ranks(group, n);
    PMPI_Group_free(&group);
    return ranks;
}

static void describe(struct st_comm *info, MPI_Comm comm) {
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &info->self);
    PMPI_Comm_size(comm, &info->local_size);
    info->size = info->local_size;
    if (inter) PMPI_Comm_remote_size(comm, &info->size);
    info->inter = inter != 0;
    info->indegree = info->outdegree = -1;
}

static void define(MPI_Comm comm, const struct st_comm *info, uint64_t parent, const char *kind) {
    int n = 0, nremote = 0;
    int64_t *members = members_of(comm, false, &n), *remote = info->inter ? members_of(comm, true, &nremote) : NULL;
    if (members && (remote || !info->inter))
        st_core_check(
            st_define_comm(st_shared.core, info->name, parent, kind, members, (size_t)n, remote, (size_t)nremote));
    free(members), free(remote);
}

static struct st_comm *enter(MPI_Comm comm, uint64_t name, const char *kind) {
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(comm), &old)) free((void *)(uintptr_t)old); /* a handle that MPI uses again */
    if (last.info && last.handle == comm) last.info = NULL;
    struct st_comm *info = calloc(1, sizeof *info);
    if (!info || !st_map_put(&comms, ST_KEY(comm), (uintptr_t)info)) {
        free(info);
        return &nowhere;
    }
    describe(info, comm);
    info->name = name;
    info->kind = kind;
    return info;
}

/* A communicator nobody saw being made (MPI_Comm_join, sessions): named by its members. */
static struct st_comm *adopt(MPI_Comm comm) {
    int n = 0;
    int64_t *members = members_of(comm, false, &n);
    uint64_t hash = AGREED;
    for (int i = 0; members && i < n; i++) hash = st_family(hash, (uint64_t)members[i]);
    free(members);
    struct st_comm *info = enter(comm, st_family(ST_COMM_NULL, hash), "unknown");
    define(comm, info, ST_COMM_NULL, "unknown");
    return info;
}

struct st_comm *st_comm_of(MPI_Comm comm) {
    if (last.info && last.handle == comm) return last.info;
    if (comm == MPI_COMM_NULL) return &nowhere;
    uint64_t *found = st_map_find(&comms, ST_KEY(comm));
    last.info = found ? (struct st_comm *)(uintptr_t)*found : adopt(comm);
    last.handle = comm;
    return last.info;
}

uint64_t st_comm_name(MPI_Comm comm) { return st_comm_of(comm)->name; }

static uint64_t next_family(struct st_call *call, MPI_Comm parent) {
    if (call->agreed) return call->agreed;
    struct st_comm *info = st_comm_of(parent);
    return st_family(info->name, info->children++);
}

/* A call made `made` from `parent`: its name. The parent's family grows even where this rank got MPI_COMM_NULL. */
uint64_t st_comm_made(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm made) {
    uint64_t name = next_family(call, parent), parent_name = st_comm_name(parent);
    if (made == MPI_COMM_NULL) return ST_COMM_NULL;
    define(made, enter(made, name, kind), parent_name, kind);
    return name;
}

/* MPI_Comm_idup: the members are the parent's, both MPIs set the handle at once. */
uint64_t st_comm_promised(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm *newcomm) {
    struct st_comm promise = *st_comm_of(parent);
    promise.name = next_family(call, parent);
    promise.kind = kind;
    promise.chosen_as = 0;
    define(parent, &promise, st_comm_name(parent), kind);
    MPI_Comm made = *newcomm;
    if (made == MPI_COMM_NULL) return promise.name;
    struct st_comm *info = calloc(1, sizeof *info);
    if (!info) return promise.name;
    *info = promise;
    info->children = 0, info->windows = info->files = 0;
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(made), &old)) free((void *)(uintptr_t)old);
    if (last.info && last.handle == made) last.info = NULL;
    if (!st_map_put(&comms, ST_KEY(made), (uintptr_t)info)) free(info);
    return promise.name;
}

void st_comm_take(struct st_call *call, MPI_Comm comm) {
    bool before = st_hold();
    call->taken = *st_comm_of(comm);
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(comm), &old)) free((void *)(uintptr_t)old);
    last.info = NULL;
    st_release(before);
}

/* The largest of all members' pairs. In an intercommunicator a reduction gives the other side's result: twice gives
 * everybody's. */
static void largest_of_all(MPI_Comm made, int64_t pair[2]) {
    for (int round = 0; round < 2; round++) {
        int64_t mine[2] = {pair[0], pair[1]}, theirs[2] = {0, 0};
        PMPI_Allreduce(mine, theirs, 2, MPI_INT64_T, MPI_MAX, made);
        for (int i = 0; i < 2; i++) pair[i] = mine[i] > theirs[i] ? mine[i] : theirs[i];
    }
}

/* Agree on the name of `made` with all of its ranks; `parent`: what each made it from, which need not be the same.
 * Groups without a common rank may get one number: they are one family then. Threads of one rank that make communicators
 * at the same time may propose the same number, and their groups agree on it: the second one to take it objects, and
 * its group takes a number that no other process can have. No lock is held while MPI communicates. */
void st_comm_agree(struct st_call *call, MPI_Comm parent, MPI_Comm made) {
    if (made == MPI_COMM_NULL) return;
    bool before = st_hold();
    int64_t number[2] = {nagreed, (int64_t)(st_comm_name(parent) >> 1)};
    st_release(before);
    largest_of_all(made, number);
    before = st_hold();
    int64_t own_number = (int64_t)st_shared.rank << 32 | nproposals++;
    int64_t conflict[2] = {number[0] < nagreed, own_number};
    if (!conflict[0]) nagreed = number[0] + 1;
    st_release(before);
    largest_of_all(made, conflict);
    uint64_t ordinal = AGREED | (uint64_t)number[0];
    if (conflict[0]) ordinal = AGREED | UNIQUE | (uint64_t)conflict[1];
    call->agreed = st_family((uint64_t)number[1], ordinal);
}

int st_ndims(MPI_Comm comm) {
    int n = 0;
    PMPI_Cartdim_get(comm, &n);
    return n;
}

void st_comm_degrees(struct st_comm *info, MPI_Comm comm) {
    if (info->indegree >= 0) return;
    int topology = MPI_UNDEFINED, n = 0, weighted;
    info->indegree = info->outdegree = 0;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        info->indegree = info->outdegree = 2 * n;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, info->self, &n);
        info->indegree = info->outdegree = n;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &info->indegree, &info->outdegree, &weighted);
    }
}

void st_on_comm(struct st_call *call, MPI_Comm comm) {
    struct st_comm *info = st_comm_of(comm);
    call->comm = info;
    call->event.self = info->self;
    call->event.size = info->size;
}

void st_comm_start(void) {
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    define(MPI_COMM_WORLD, enter(MPI_COMM_WORLD, ST_COMM_WORLD, "world"), ST_COMM_NULL, "world");
    define(MPI_COMM_SELF, enter(MPI_COMM_SELF, ST_COMM_SELF, "self"), ST_COMM_NULL, "self");
}

void st_comm_forget_all(void) {
    if (world_group != MPI_GROUP_NULL) PMPI_Group_free(&world_group);
}
