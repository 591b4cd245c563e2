/* live.c - things named by age: 0 is the newest one alive.
 *
 * Every thing has a position in order of creation; a Fenwick tree over positions counts those alive, so an age costs
 * O(log n). When positions run out, the living are renumbered from 0. What a call that is not selected made is hidden: it
 * has no age and does not count in those of others.
 *
 * MPI may give several live things one handle (sends that completed at once). The slots of one handle form two chains,
 * each in order of creation; `by_address` has the newest slot that was stored in each variable:
 *
 *     map[KEPT]: handle -> slot <-> slot        the variable still holds the handle
 *     map[LOST]: handle -> slot <-> slot        the variable holds a newer handle since: the program lost this one,
 *                                               unless it has a copy
 *
 * A handle is looked up in its own variable first, then the oldest that is kept is taken, then the oldest that is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

enum chain { KEPT, LOST };

static void tree_add(struct st_live *live, int position, int delta) {
    for (int i = position + 1; i <= live->capacity; i += i & -i) live->tree[i] += delta;
}

static int tree_upto(const struct st_live *live, int position) /* alive at positions <= position */
{
    int sum = 0;
    for (int i = position + 1; i > 0; i -= i & -i) sum += live->tree[i];
    return sum;
}

static bool renumber(struct st_live *live) {
    int capacity = 2 * live->nlive < 64 ? 64 : 4 * live->nlive;
    int *tree = calloc((size_t)capacity + 1, sizeof *tree), *at = malloc((size_t)capacity * sizeof *at);
    if (!tree || !at) {
        free(tree), free(at);
        return false;
    }
    int n = 0;
    for (int i = 0; i < live->npositions; i++)
        if (live->at[i] >= 0) at[n++] = live->at[i];
    free(live->tree), free(live->at);
    live->tree = tree, live->at = at, live->capacity = capacity, live->npositions = n;
    for (int i = 0; i < n; i++) {
        live->slots[at[i]].position = i;
        if (!live->slots[at[i]].hidden) tree_add(live, i, 1);
    }
    return true;
}

static int new_slot(struct st_live *live) {
    if (live->nfree) return live->free_slots[--live->nfree];
    if (live->nslots == live->slots_capacity) {
        int capacity = live->slots_capacity ? 2 * live->slots_capacity : 64;
        struct st_slot *slots = realloc(live->slots, (size_t)capacity * sizeof *slots);
        if (!slots) return -1;
        live->slots = slots;
        int *free_slots = realloc(live->free_slots, (size_t)capacity * sizeof *free_slots);
        if (!free_slots) return -1;
        live->free_slots = free_slots;
        live->slots_capacity = capacity;
    }
    return live->nslots++;
}

/* The slots of one handle: first and last in one word. */
static uint64_t chain_of(int first, int last) { return (uint64_t)(uint32_t)last << 32 | (uint32_t)first; }
static int first_of(uint64_t chain) { return (int)(uint32_t)chain; }
static int last_of(uint64_t chain) { return (int)(uint32_t)(chain >> 32); }

static void chain_append(struct st_live *live, int slot, enum chain lost) {
    struct st_slot *s = &live->slots[slot];
    uint64_t *chain = st_map_find(&live->map[lost], s->handle);
    s->lost = lost;
    s->next = s->prev = -1;
    if (!chain) {
        s->linked = st_map_put(&live->map[lost], s->handle, chain_of(slot, slot));
        return;
    }
    s->linked = true;
    s->prev = last_of(*chain);
    live->slots[s->prev].next = slot;
    *chain = chain_of(first_of(*chain), slot);
}

static void chain_remove(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    uint64_t *chain = s->linked ? st_map_find(&live->map[s->lost], s->handle) : NULL;
    s->linked = false;
    if (!chain) return;
    int first = first_of(*chain), last = last_of(*chain);
    if (first == slot && last == slot) {
        st_map_drop(&live->map[s->lost], s->handle, NULL);
        return;
    }
    if (s->prev >= 0) live->slots[s->prev].next = s->next;
    if (s->next >= 0) live->slots[s->next].prev = s->prev;
    *chain = chain_of(first == slot ? s->next : first, last == slot ? s->prev : last);
}

static uint64_t *at_address(const struct st_live *live, const void *where) {
    return where ? st_map_find(&live->by_address, (uintptr_t)where) : NULL;
}

/* The call that made the slot wrote its variable: what the variable held before is lost. */
static void store(struct st_live *live, int slot) {
    const void *where = live->slots[slot].where;
    uint64_t *newest = at_address(live, where);
    if (newest) {
        chain_remove(live, (int)*newest);
        chain_append(live, (int)*newest, LOST);
        *newest = (uint64_t)slot;
    } else if (where) {
        st_map_put(&live->by_address, (uintptr_t)where, (uint64_t)slot);
    }
    chain_append(live, slot, KEPT);
}

/* The thing lives on (a poll in vain, a persistent request): its variable may hold another one by now. */
void st_live_relink(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    if (s->linked) return;
    bool lost = at_address(live, s->where) != NULL;
    if (s->where && !lost) st_map_put(&live->by_address, (uintptr_t)s->where, (uint64_t)slot);
    chain_append(live, slot, lost ? LOST : KEPT);
}

int st_live_add(struct st_live *live, uint64_t handle, const void *where) {
    if (live->npositions == live->capacity && !renumber(live)) return -1;
    int slot = new_slot(live);
    if (slot < 0) return -1;
    live->slots[slot] = (struct st_slot){.handle = handle, .where = where, .position = live->npositions};
    live->at[live->npositions++] = slot;
    live->nlive++;
    tree_add(live, live->slots[slot].position, 1);
    store(live, slot);
    return slot;
}

void st_live_hide(struct st_live *live, int slot) {
    if (slot < 0 || live->slots[slot].hidden) return;
    live->slots[slot].hidden = true;
    live->nhidden++;
    tree_add(live, live->slots[slot].position, -1);
}

bool st_live_has(const struct st_live *live, uint64_t handle) {
    return st_map_find(&live->map[KEPT], handle) || st_map_find(&live->map[LOST], handle);
}

bool st_live_is_stored(const struct st_live *live, const void *where) { return at_address(live, where) != NULL; }

int st_live_find(const struct st_live *live, uint64_t handle, const void *where) {
    uint64_t *newest = at_address(live, where);
    if (newest && live->slots[*newest].handle == handle) return (int)*newest;
    uint64_t *chain = st_map_find(&live->map[KEPT], handle);
    if (!chain) chain = st_map_find(&live->map[LOST], handle);
    return chain ? first_of(*chain) : -1;
}

static void unlink_slot(struct st_live *live, int slot) {
    const void *where = live->slots[slot].where;
    uint64_t *newest = at_address(live, where);
    if (newest && *newest == (uint64_t)slot) st_map_drop(&live->by_address, (uintptr_t)where, NULL);
    chain_remove(live, slot);
}

int st_live_claim(struct st_live *live, uint64_t handle, const void *where) {
    int slot = st_live_find(live, handle, where);
    if (slot >= 0) unlink_slot(live, slot);
    return slot;
}

void st_live_drop(struct st_live *live, int slot) {
    if (slot < 0) return;
    unlink_slot(live, slot);
    int position = live->slots[slot].position;
    if (live->slots[slot].hidden)
        live->nhidden--;
    else
        tree_add(live, position, -1);
    live->at[position] = -1;
    live->nlive--;
    live->free_slots[live->nfree++] = slot;
    if (position == live->npositions - 1) live->npositions--; /* the common case, newest first: no renumbering ever */
    if (!live->nlive) live->npositions = 0;
}

int64_t st_live_age(const struct st_live *live, int slot) {
    if (slot < 0 || live->slots[slot].hidden) return ST_UNDEFINED;
    return live->nlive - live->nhidden - tree_upto(live, live->slots[slot].position);
}
