/* live.c - positions, ages and chains of live.h. */
#include "handles/live.h"

#include <stdlib.h>
#include <string.h>

#include "st_core.h"

/* Which map a chain is in; see live.h. */
enum chain { STORED, OVERWRITTEN };

#define MIN_CAPACITY 64

/* The order of a stream; NULL: out of memory. */
static struct st_order *order_of(struct st_live *live, int stream) {
    if (__builtin_expect(stream == 0, 1)) return &live->first;
    if (stream > live->nlater) {
        struct st_order *later = realloc(live->later, (size_t)stream * sizeof *later);
        if (!later) return NULL;
        memset(later + live->nlater, 0, (size_t)(stream - live->nlater) * sizeof *later);
        live->later = later;
        live->nlater = stream;
    }
    return &live->later[stream - 1];
}

/* Add to the count at a position; the Fenwick tree counts from 1. */
static void tree_add(struct st_order *order, int position, int delta) {
    for (int i = position + 1; i <= order->capacity; i += i & -i) order->tree[i] += delta;
}

/* Number of things counted at positions up to this one. */
static int tree_upto(const struct st_order *order, int position) {
    int sum = 0;
    for (int i = position + 1; i > 0; i -= i & -i) sum += order->tree[i];
    return sum;
}

/* Number of things counted: the last entry of the tree, since the capacity is a power of two. */
static int tree_sum(const struct st_order *order) { return order->capacity ? order->tree[order->capacity] : 0; }

/* Number of things at a position that other streams ended. */
static int ended_elsewhere(int at) { return at < -1 ? -1 - at : 0; }

/* Give the living the positions from 0 on, and room for as many again at least: renumbering costs O(1) per new thing in
 * the mean. Return false when out of memory. */
static bool renumber(struct st_live *live, struct st_order *order) {
    int capacity = MIN_CAPACITY;
    while (capacity < 4 * order->nlive) capacity *= 2;
    int *tree = calloc((size_t)capacity + 1, sizeof *tree), *at = malloc((size_t)capacity * sizeof *at);
    if (!tree || !at) {
        free(tree), free(at);
        return false;
    }
    int n = 0;
    for (int i = 0; i < order->npositions; i++) {
        int nended = ended_elsewhere(order->at[i]);
        if (order->at[i] >= 0)
            at[n++] = order->at[i];
        else if (nended && n && at[n - 1] < -1)
            at[n - 1] -= nended;
        else if (nended && n)
            at[n++] = order->at[i];
    }
    free(order->tree), free(order->at);
    order->tree = tree, order->at = at, order->capacity = capacity, order->npositions = n;
    for (int i = 0; i < n; i++) {
        if (at[i] < 0) {
            tree_add(order, i, ended_elsewhere(at[i]));
            continue;
        }
        live->slots[at[i]].position = i;
        if (!live->slots[at[i]].hidden) tree_add(order, i, 1);
    }
    return true;
}

/* An unused slot; -1: out of memory. */
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

/* A chain as the map stores it: its first and last slot in one word. */
static uint64_t chain_of(int first, int last) { return (uint64_t)(uint32_t)last << 32 | (uint32_t)first; }
static int first_of(uint64_t chain) { return (int)(uint32_t)chain; }
static int last_of(uint64_t chain) { return (int)(uint32_t)(chain >> 32); }

/* Link a slot as the last one of its handle's chain. Out of memory: it stays unlinked, and is not found. */
static void chain_append(struct st_live *live, int slot, enum chain which) {
    struct st_slot *s = &live->slots[slot];
    uint64_t *chain = st_map_find(&live->map[which], s->handle);
    s->overwritten = which == OVERWRITTEN;
    s->next = s->prev = -1;
    if (!chain) {
        s->linked = st_map_put(&live->map[which], s->handle, chain_of(slot, slot));
        return;
    }
    s->linked = true;
    s->prev = last_of(*chain);
    live->slots[s->prev].next = slot;
    *chain = chain_of(first_of(*chain), slot);
}

/* Unlink a slot from its chain; the map's entry goes with the last slot. */
static void chain_remove(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    uint64_t *chain = s->linked ? st_map_find(&live->map[s->overwritten], s->handle) : NULL;
    s->linked = false;
    if (!chain) return;
    int first = first_of(*chain), last = last_of(*chain);
    if (first == slot && last == slot) {
        st_map_drop(&live->map[s->overwritten], s->handle, NULL);
        return;
    }
    if (s->prev >= 0) live->slots[s->prev].next = s->next;
    if (s->next >= 0) live->slots[s->next].prev = s->prev;
    *chain = chain_of(first == slot ? s->next : first, last == slot ? s->prev : last);
}

/* The newest slot stored in a variable; NULL: none. */
static uint64_t *at_address(const struct st_live *live, const void *where) {
    return where ? st_map_find(&live->by_address, (uintptr_t)where) : NULL;
}

/* The call that created the thing wrote its handle over what the variable held before. */
static void store(struct st_live *live, int slot) {
    const void *where = live->slots[slot].where;
    uint64_t *newest = at_address(live, where);
    if (newest) {
        chain_remove(live, (int)*newest);
        chain_append(live, (int)*newest, OVERWRITTEN);
        *newest = (uint64_t)slot;
    } else if (where) {
        st_map_put(&live->by_address, (uintptr_t)where, (uint64_t)slot);
    }
    chain_append(live, slot, STORED);
}

/* Another call may have stored a newer handle in the variable meanwhile. */
void st_live_relink(struct st_live *live, int slot) {
    struct st_slot *s = &live->slots[slot];
    if (s->linked) return;
    bool overwritten = at_address(live, s->where) != NULL;
    if (s->where && !overwritten) st_map_put(&live->by_address, (uintptr_t)s->where, (uint64_t)slot);
    chain_append(live, slot, overwritten ? OVERWRITTEN : STORED);
}

int st_live_add(struct st_live *live, uint64_t handle, const void *where, int stream, bool recorded) {
    struct st_order *order = order_of(live, stream);
    if (!order || (order->npositions == order->capacity && !renumber(live, order))) return -1;
    int slot = new_slot(live);
    if (slot < 0) return -1;
    live->slots[slot] = (struct st_slot){.handle = handle,
                                         .stream = stream,
                                         .ordinal = recorded ? order->ncreated++ : -1,
                                         .where = where,
                                         .position = order->npositions};
    order->at[order->npositions++] = slot;
    order->nlive++;
    tree_add(order, live->slots[slot].position, 1);
    store(live, slot);
    return slot;
}

void st_live_hide(struct st_live *live, int slot) {
    if (slot < 0 || live->slots[slot].hidden) return;
    live->slots[slot].hidden = true;
    tree_add(order_of(live, live->slots[slot].stream), live->slots[slot].position, -1);
}

bool st_live_has(const struct st_live *live, uint64_t handle) {
    return st_map_find(&live->map[STORED], handle) || st_map_find(&live->map[OVERWRITTEN], handle);
}

bool st_live_is_stored(const struct st_live *live, const void *where) { return at_address(live, where) != NULL; }

int st_live_find(const struct st_live *live, uint64_t handle, const void *where) {
    uint64_t *newest = at_address(live, where);
    if (newest && live->slots[*newest].handle == handle) return (int)*newest;
    uint64_t *chain = st_map_find(&live->map[STORED], handle);
    if (!chain) chain = st_map_find(&live->map[OVERWRITTEN], handle);
    return chain ? first_of(*chain) : -1;
}

/* Remove a slot from its chain, and its variable. */
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

void st_live_drop(struct st_live *live, int slot, int stream) {
    if (slot < 0) return;
    unlink_slot(live, slot);
    const struct st_slot *s = &live->slots[slot];
    struct st_order *order = order_of(live, s->stream);
    int position = s->position;
    if (__builtin_expect(s->stream != stream && !s->hidden, 0)) {
        order->at[position] = -2;
    } else {
        if (!s->hidden) tree_add(order, position, -1);
        order->at[position] = -1;
        if (position == order->npositions - 1) order->npositions--; /* the newest dies first: never renumbered */
    }
    order->nlive--;
    live->free_slots[live->nfree++] = slot;
    if (order->nlive) return;
    for (int i = 0; tree_sum(order) && i < order->npositions; i++) tree_add(order, i, -ended_elsewhere(order->at[i]));
    order->npositions = 0;
}

/* Ordinal behind the thing of the creator that this stream named last; NULL: out of memory. */
static int64_t *next_of(struct st_order *order, int creator) {
    if (creator >= order->nnext) {
        int n = creator + 8;
        int64_t *next = realloc(order->next, (size_t)n * sizeof *next);
        if (!next) return NULL;
        memset(next + order->nnext, 0, (size_t)(n - order->nnext) * sizeof *next);
        order->next = next;
        order->nnext = n;
    }
    return &order->next[creator];
}

int64_t st_live_foreign_name(struct st_live *live, int creator, int64_t ordinal, int stream) {
    struct st_order *order = order_of(live, stream);
    int64_t *next = order && ordinal >= 0 ? next_of(order, creator) : NULL;
    if (!next) return ST_UNDEFINED;
    int64_t difference = ordinal - *next;
    *next = ordinal + 1;
    return (creator + 1) * ST_OF_STREAM + ST_OF_STREAM / 2 + difference;
}

int64_t st_live_name(struct st_live *live, int slot, int stream) {
    if (slot < 0 || live->slots[slot].hidden) return ST_UNDEFINED;
    const struct st_slot *s = &live->slots[slot];
    if (__builtin_expect(s->stream != stream, 0)) return st_live_foreign_name(live, s->stream, s->ordinal, stream);
    const struct st_order *order = order_of(live, stream);
    return order->tree[order->capacity] - tree_upto(order, s->position);
}
