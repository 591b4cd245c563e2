/* live.c - things named by age: 0 is the newest one alive.
 *
 * Every thing has a position in order of creation; a Fenwick tree over positions counts those alive, so an age costs
 * O(log n). When positions run out, the living are renumbered from 0. MPI may give several things one handle at the
 * same time (sends that were complete at once): slots of one handle are chained, and the address of the program's
 * variable tells them apart where it can, else the oldest comes first. What a call that is not selected made is hidden: it has
 * no age and does not count in those of others.
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

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

void st_live_relink(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    if (s->linked) return;
    uint64_t *chain = st_map_find(&live->map, s->handle);
    s->linked = true;
    s->next = -1;
    if (!chain) {
        s->linked = st_map_put(&live->map, s->handle, chain_of(slot, slot));
        return;
    }
    live->slots[last_of(*chain)].next = slot;
    *chain = chain_of(first_of(*chain), slot);
}

int st_live_add(struct st_live *live, uint64_t handle, const void *where) {
    if (live->npositions == live->capacity && !renumber(live)) return -1;
    int slot = new_slot(live);
    if (slot < 0) return -1;
    live->slots[slot] = (struct st_slot){.handle = handle, .where = where, .position = live->npositions, .next = -1};
    live->at[live->npositions++] = slot;
    live->nlive++;
    tree_add(live, live->slots[slot].position, 1);
    st_live_relink(live, slot);
    return slot;
}

void st_live_hide(struct st_live *live, int slot) {
    if (slot < 0 || live->slots[slot].hidden) return;
    live->slots[slot].hidden = true;
    live->nhidden++;
    tree_add(live, live->slots[slot].position, -1);
}

int st_live_find(struct st_live *live, uint64_t handle, const void *where) {
    uint64_t *chain = st_map_find(&live->map, handle);
    if (!chain) return -1;
    for (int slot = first_of(*chain); slot >= 0; slot = live->slots[slot].next)
        if (live->slots[slot].where == where) return slot;
    return first_of(*chain);
}

static void unlink_slot(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    uint64_t *chain = s->linked ? st_map_find(&live->map, s->handle) : NULL;
    s->linked = false;
    if (!chain) return;
    int first = first_of(*chain), last = last_of(*chain);
    if (first == slot && last == slot) {
        st_map_drop(&live->map, s->handle, NULL);
    } else if (first == slot) {
        *chain = chain_of(s->next, last);
    } else {
        int before = first;
        while (live->slots[before].next != slot) before = live->slots[before].next;
        live->slots[before].next = s->next;
        if (last == slot) *chain = chain_of(first, before);
    }
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
