/* comms.c - the table of communicators. */
#include "events/comms.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/options.h"
#include "base/state.h"
#include "base/wait.h"
#include "events/values.h"
#include "events/world.h"

#define AGREED UINT64_C(0x8000000000000000) /* bit of the ordinals of agreed families, which others do not have */
#define UNIQUE UINT64_C(0x4000000000000000) /* bit of agreed ordinals that only one process can propose */

static struct st_map comms; /* handle -> struct st_comm * */
static struct {             /* the communicator of the call before */
    MPI_Comm handle;
    struct st_comm *info;
} last;
static struct st_map created_by_members; /* hash of members -> number of communicators created with them */
static int64_t nagreed;                  /* lowest number that this process has not agreed on yet */
static int64_t nproposals;               /* numbers with this rank in their upper half that were proposed */
static struct st_comm null_comm = {.name = ST_COMM_NULL, .indegree = 0, .outdegree = 0};

/* World ranks of a group, allocated; ST_UNDEFINED for a process of another world. NULL: out of memory. */
static int64_t *world_ranks(MPI_Group group, int *n) {
    PMPI_Group_size(group, n);
    int *local = malloc(((size_t)*n + 1) * 2 * sizeof *local);
    int64_t *ranks = malloc(((size_t)*n + 1) * sizeof *ranks);
    if (!local || !ranks) {
        free(local), free(ranks);
        return NULL;
    }
    int *world = local + *n;
    MPI_Group everyone = st_world_group();
    for (int i = 0; i < *n; i++) local[i] = i, world[i] = MPI_UNDEFINED;
    if (everyone != MPI_GROUP_NULL) PMPI_Group_translate_ranks(group, *n, local, everyone, world);
    for (int i = 0; i < *n; i++) ranks[i] = st_int(world[i]);
    free(local);
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

/* Keep the world ranks of peers, or that they are all. */
static void set_peers(struct st_comm *info, int64_t **peers, int n) {
    info->all = *peers && n == st_shared.nprocs;
    for (int i = 0; info->all && i < n; i++) info->all = (*peers)[i] == i;
    if (info->all || info->peers) return;
    info->peers = *peers;
    *peers = NULL;
}

/* Define a communicator in the core; out of memory: leave it out. */
static void define(MPI_Comm comm, struct st_comm *info, uint64_t parent, const char *kind) {
    int n = 0, nremote = 0;
    int64_t *members = members_of(comm, false, &n), *remote = info->inter ? members_of(comm, true, &nremote) : NULL;
    if (members && (remote || !info->inter))
        st_core_check(
            st_define_comm(st_shared.core, info->name, parent, kind, members, (size_t)n, remote, (size_t)nremote));
    if (info != &null_comm) set_peers(info, info->inter ? &remote : &members, info->size);
    free(members), free(remote);
}

static void free_comm(struct st_comm *info) {
    free(info->peers);
    free(info);
}

/* Put a communicator into the table, in place of one whose handle MPI uses again. */
static struct st_comm *enter(MPI_Comm comm, uint64_t name, const char *kind) {
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(comm), &old)) free_comm((struct st_comm *)(uintptr_t)old);
    if (last.info && last.handle == comm) last.info = NULL;
    struct st_comm *info = calloc(1, sizeof *info);
    if (!info || !st_map_put(&comms, ST_KEY(comm), (uintptr_t)info)) {
        free(info);
        return &null_comm;
    }
    describe(info, comm);
    info->name = name;
    info->kind = kind;
    return info;
}

/* Describe a communicator whose creation was not recorded (MPI_Comm_join, sessions): its members name it. */
static struct st_comm *enter_unknown(MPI_Comm comm) {
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
    if (comm == MPI_COMM_NULL) return &null_comm;
    uint64_t *known = st_map_find(&comms, ST_KEY(comm));
    last.info = known ? (struct st_comm *)(uintptr_t)*known : enter_unknown(comm);
    last.handle = comm;
    return last.info;
}

const struct st_comm *st_comm_named(uint64_t name) {
    for (size_t i = 0; i < comms.capacity; i++) {
        const struct st_comm *info = (const struct st_comm *)(uintptr_t)comms.values[i];
        if (comms.full[i] && info->name == name) return info;
    }
    return &null_comm;
}

const struct st_comm *st_comm_known(MPI_Comm comm) {
    uint64_t *known = st_map_find(&comms, ST_KEY(comm));
    return known ? (const struct st_comm *)(uintptr_t)*known : &null_comm;
}

int64_t st_comm_world_rank(const struct st_comm *info, int peer) {
    if (peer < 0 || peer >= info->size) return peer == MPI_ANY_SOURCE ? ST_ANY_SOURCE : ST_UNDEFINED;
    return info->all ? peer : info->peers ? info->peers[peer] : ST_UNDEFINED;
}

uint64_t st_comm_name(MPI_Comm comm) { return st_comm_of(comm)->name; }

/* Name of the family that this call creates. */
static uint64_t next_family(struct st_call *call, MPI_Comm parent) {
    if (call->agreed_family) return call->agreed_family;
    struct st_comm *info = st_comm_of(parent);
    return st_family(info->name, info->children++);
}

uint64_t st_comm_created(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm comm) {
    uint64_t name = next_family(call, parent), parent_name = st_comm_name(parent);
    if (comm == MPI_COMM_NULL) return ST_COMM_NULL;
    define(comm, enter(comm, name, kind), parent_name, kind);
    return name;
}

/* Both MPI libraries set the handle before MPI_Comm_idup returns. */
uint64_t st_comm_idup(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm *newcomm) {
    struct st_comm copy = *st_comm_of(parent);
    copy.peers = NULL;
    copy.name = next_family(call, parent);
    copy.kind = kind;
    copy.selected_name = 0;
    define(parent, &copy, st_comm_name(parent), kind);
    MPI_Comm comm = *newcomm;
    struct st_comm *info = comm == MPI_COMM_NULL ? NULL : calloc(1, sizeof *info);
    if (!info) {
        free(copy.peers);
        return copy.name;
    }
    *info = copy;
    info->children = 0, info->windows = info->files = 0;
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(comm), &old)) free_comm((struct st_comm *)(uintptr_t)old);
    if (last.info && last.handle == comm) last.info = NULL;
    if (!st_map_put(&comms, ST_KEY(comm), (uintptr_t)info)) free_comm(info);
    return copy.name;
}

void st_comm_remove(struct st_call *call, MPI_Comm comm) {
    bool before;
    call->freed_comm = null_comm;
    if (!st_hold(&before)) return;
    call->freed_comm = *st_comm_of(comm);
    call->freed_comm.peers = NULL;
    uint64_t old;
    if (st_map_drop(&comms, ST_KEY(comm), &old)) free_comm((struct st_comm *)(uintptr_t)old);
    last.info = NULL;
    st_release(before);
}

void st_comm_restore(struct st_call *call, MPI_Comm comm) {
    struct st_comm *copy;
    if (!call->freed_comm.kind || comm == MPI_COMM_NULL || !st_lock()) return;
    if ((copy = malloc(sizeof *copy))) {
        *copy = call->freed_comm;
        if (!st_map_put(&comms, ST_KEY(comm), (uintptr_t)copy)) free(copy);
    }
    st_unlock();
}

/* Are all processes of both groups of this MPI_COMM_WORLD? Out of memory: suppose so. `*hash`: of all, in any order. */
static bool is_of_this_world(MPI_Comm comm, uint64_t *hash) {
    bool here = true;
    int inter = 0;
    *hash = AGREED;
    PMPI_Comm_test_inter(comm, &inter);
    for (int remote = 0; remote <= inter; remote++) {
        int n = 0;
        int64_t *members = members_of(comm, remote, &n);
        for (int i = 0; members && i < n; i++) {
            *hash += st_family(AGREED, (uint64_t)members[i]);
            here &= members[i] != ST_UNDEFINED;
        }
        free(members);
    }
    return here;
}

/* Maximum over all members of each number of a pair. In an intercommunicator a reduction returns the remote group's
 * result: the second round combines both. All members come: each of this MPI_COMM_WORLD has a tracer, and also one that
 * gave up takes part. Return false on an error of MPI. */
static bool max_of_all(MPI_Comm comm, int64_t pair[2]) {
    int64_t spare[4] = {0}, *buffers = calloc(4, sizeof *buffers); /* not on the stack, which a longjmp would leave */
    int64_t *local = buffers ? buffers : spare, *result = local + 2;
    bool ok = true;
    for (int round = 0; ok && round < 2; round++) {
        MPI_Request request;
        local[0] = pair[0], local[1] = pair[1], result[0] = result[1] = 0;
        ok = PMPI_Iallreduce(local, result, 2, MPI_INT64_T, MPI_MAX, comm, &request) == MPI_SUCCESS &&
             st_wait_request(&request, MPI_STATUS_IGNORE, ST_NO_LIMIT, NULL);
        for (int i = 0; ok && i < 2; i++) pair[i] = local[i] > result[i] ? local[i] : result[i];
    }
    free(buffers);
    return ok;
}

/* Name what is created from these members, which have created as many communicators before. The lock is held. */
static uint64_t next_of_members(uint64_t hash) {
    uint64_t *ncreated = st_map_find(&created_by_members, hash), ordinal = ncreated ? (*ncreated)++ : 0;
    if (!ncreated) st_map_put(&created_by_members, hash, 1);
    return st_family(hash, ordinal);
}

void st_comm_name_by_tag(struct st_call *call, MPI_Comm comm, const char *tag) {
    bool before;
    uint64_t hash;
    if (comm == MPI_COMM_NULL || !st_hold(&before)) return;
    is_of_this_world(comm, &hash);
    call->agreed_family = next_of_members(st_family(hash, st_hash_text(tag)));
    st_release(before);
}

/* First round: the highest number that any member has not used, and the name of the parents, of which the highest
 * counts. Groups without a common rank may get the same number; they are then one family.
 *
 * Second round: threads of one rank that create communicators at the same time may propose the same number. The second
 * one to use it reports a conflict, and its group takes a number that no other process can propose. No lock is held
 * while MPI communicates.
 *
 * Processes of another MPI_COMM_WORLD may have no tracer, and those of a session. With them nothing is agreed on: the
 * members of a communicator, and the number of earlier ones with these members, name it. */
void st_comm_agree(struct st_call *call, MPI_Comm parent, MPI_Comm comm) {
    bool before;
    uint64_t hash;
    if (comm == MPI_COMM_NULL || !st_hold(&before)) return;
    bool agrees = is_of_this_world(comm, &hash) && st_shared.private_comm != MPI_COMM_NULL;
    if (!agrees) call->agreed_family = next_of_members(hash);
    st_release(before);
    if (!agrees) return;
    int64_t number[2] = {0, 0}, conflict[2] = {0, 0};
    if (st_hold(&before)) {
        number[0] = nagreed, number[1] = (int64_t)(st_comm_name(parent) >> 1);
        st_release(before);
    }
    bool agreed = max_of_all(comm, number);
    if (agreed && st_hold(&before)) {
        conflict[0] = number[0] < nagreed, conflict[1] = (int64_t)st_shared.rank << 32 | nproposals++;
        if (!conflict[0]) nagreed = number[0] + 1;
        st_release(before);
    }
    if (!agreed || !max_of_all(comm, conflict)) {
        st_give_up("MPI reported an error while the ranks of a new communicator agreed on its name");
        return;
    }
    uint64_t ordinal = AGREED | (uint64_t)number[0];
    if (conflict[0]) ordinal = AGREED | UNIQUE | (uint64_t)conflict[1];
    call->agreed_family = st_family((uint64_t)number[1], ordinal);
}

void st_comm_agree_only(MPI_Comm comm) {
    int64_t number[2] = {0, 0}, conflict[2] = {0, 0};
    uint64_t hash;
    if (st_shared.private_comm == MPI_COMM_NULL || comm == MPI_COMM_NULL) return;
    bool before, agrees = true;
    if (st_hold_to_save(&before)) {
        agrees = is_of_this_world(comm, &hash);
        st_release(before);
    }
    st_thread.depth++;
    if (agrees && max_of_all(comm, number)) max_of_all(comm, conflict);
    st_thread.depth--;
}

int st_comm_ndims(MPI_Comm comm) {
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

void st_set_comm(struct st_call *call, MPI_Comm comm) {
    struct st_comm *info = st_comm_of(comm);
    call->comm = info;
    call->event.self = info->self;
    call->event.size = info->size;
}

/* Before MPI_Init there are no communicators, but the calls of sessions are in the same world. */
static void define_without_mpi(void) {
    int64_t self = st_shared.rank, *members = malloc((size_t)st_shared.nprocs * sizeof *members);
    for (int i = 0; members && i < st_shared.nprocs; i++) members[i] = i;
    if (members)
        st_core_check(st_define_comm(st_shared.core, ST_COMM_WORLD, ST_COMM_NULL, "world", members,
                                     (size_t)st_shared.nprocs, NULL, 0));
    st_core_check(st_define_comm(st_shared.core, ST_COMM_SELF, ST_COMM_NULL, "self", &self, 1, NULL, 0));
    free(members);
}

void st_comms_start(void) {
    if (st_shared.private_comm == MPI_COMM_NULL) {
        define_without_mpi();
        return;
    }
    st_world_start();
    define(MPI_COMM_WORLD, enter(MPI_COMM_WORLD, ST_COMM_WORLD, "world"), ST_COMM_NULL, "world");
    define(MPI_COMM_SELF, enter(MPI_COMM_SELF, ST_COMM_SELF, "self"), ST_COMM_NULL, "self");
}
