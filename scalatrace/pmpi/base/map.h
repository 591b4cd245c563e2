/* map.h - a hash map from 64-bit keys (handles, addresses, hashes) to 64-bit values (pointers, numbers, names).
 *
 * Open addressing in three parallel arrays. Deletion moves later entries of the same probe sequence back, so there are
 * no tombstones and lookups stay short, however often MPI reuses handles:
 *
 *     index   0     1     2     3     4     5          drop A (home 1)      1     2     3     4
 *     full    .     A     B     C     .     .             ------->          B     C     .     .
 *     home          1     1     2
 *
 * Invariants: capacity is 0 or a power of two; at most half of the entries are full. All zero is an empty map.
 */
#ifndef ST_MAP_H
#define ST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_map {
    uint64_t *keys, *values;
    unsigned char *full; /* is the entry in use? */
    size_t capacity, used;
};

/* Return the value of a key, which may be changed in place until the next put or drop; NULL: no such key. */
uint64_t *st_map_find(const struct st_map *map, uint64_t key);
/* Insert or replace. Return false when out of memory; the map is then unchanged. */
bool st_map_put(struct st_map *map, uint64_t key, uint64_t value);
/* Remove a key and store its value in `*value` unless that is NULL. Return false when there is no such key. */
bool st_map_drop(struct st_map *map, uint64_t key, uint64_t *value);

/* Return the hash of a text (FNV-1a), which is the same on all ranks. */
uint64_t st_hash_text(const char *text);

#endif
