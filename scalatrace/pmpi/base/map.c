/* map.c - open addressing with linear probing and backward-shift deletion. */
#include "base/map.h"

#include <stdlib.h>

#define MIN_CAPACITY 32

/* Index at which the search for a key starts. Multiplying spreads handles that differ in few bits (Fibonacci
 * hashing). */
static size_t home(const struct st_map *map, uint64_t key) {
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (map->capacity - 1);
}

/* Index of a key, or of the free entry that ends its probe sequence. There is one: the map is at most half full. */
static size_t probe(const struct st_map *map, uint64_t key) {
    size_t i = home(map, key);
    while (map->full[i] && map->keys[i] != key) i = (i + 1) & (map->capacity - 1);
    return i;
}

uint64_t *st_map_find(const struct st_map *map, uint64_t key) {
    if (!map->used) return NULL;
    size_t i = probe(map, key);
    return map->full[i] ? &map->values[i] : NULL;
}

static bool grow(struct st_map *map) {
    struct st_map bigger = {0};
    bigger.capacity = map->capacity ? 2 * map->capacity : MIN_CAPACITY;
    bigger.keys = malloc(bigger.capacity * sizeof *bigger.keys);
    bigger.values = malloc(bigger.capacity * sizeof *bigger.values);
    bigger.full = calloc(bigger.capacity, 1);
    if (!bigger.keys || !bigger.values || !bigger.full) {
        free(bigger.keys), free(bigger.values), free(bigger.full);
        return false;
    }
    for (size_t i = 0; i < map->capacity; i++)
        if (map->full[i]) st_map_put(&bigger, map->keys[i], map->values[i]);
    free(map->keys), free(map->values), free(map->full);
    *map = bigger;
    return true;
}

bool st_map_put(struct st_map *map, uint64_t key, uint64_t value) {
    if (2 * (map->used + 1) > map->capacity && !grow(map)) return false;
    size_t i = probe(map, key);
    if (!map->full[i]) {
        map->full[i] = 1;
        map->keys[i] = key;
        map->used++;
    }
    map->values[i] = value;
    return true;
}

bool st_map_drop(struct st_map *map, uint64_t key, uint64_t *value) {
    if (!map->used) return false;
    size_t mask = map->capacity - 1, hole = probe(map, key);
    if (!map->full[hole]) return false;
    if (value) *value = map->values[hole];
    /* Fill the hole with a later entry of the same run, which leaves another hole, until the run ends. */
    for (size_t i = (hole + 1) & mask; map->full[i]; i = (i + 1) & mask) {
        if (((i - home(map, map->keys[i])) & mask) < ((i - hole) & mask)) continue; /* it would move before its home */
        map->keys[hole] = map->keys[i];
        map->values[hole] = map->values[i];
        hole = i;
    }
    map->full[hole] = 0;
    map->used--;
    return true;
}

uint64_t st_hash_text(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    while (*text) hash = (hash ^ (unsigned char)*text++) * UINT64_C(1099511628211);
    return hash;
}
