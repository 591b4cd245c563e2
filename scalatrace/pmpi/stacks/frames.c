/* frames.c - register stack signatures in the core, and select them. */
#define _GNU_SOURCE
#include "stacks/frames.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/options.h"
#include "base/state.h"
#include "base/wait.h"
#include "events/selection.h"

#define MAX_DEPTH 128 /* frames of each part */

/* A part of a stack; its name is its address. Parts stay while the program runs, as the caches of stacks do. */
struct part {
    size_t n;
    char **texts;
};

static struct st_map joined; /* of both parts -> name of the signature */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t keep_part(const char *const *frames, size_t n) {
    struct part *part = calloc(1, sizeof *part);
    if (!part || !(part->texts = calloc(n, sizeof *part->texts))) {
        free(part);
        return 0;
    }
    while (part->n < n && (part->texts[part->n] = strdup(frames[part->n]))) part->n++;
    return (uint64_t)(uintptr_t)part;
}

static uint64_t define(const char *const *frames, size_t n) {
    if (!st_lock()) return 0;
    uint64_t name = st_define_signature(st_shared.core, frames, n);
    if (ST_SELECTING) st_site_defined(name, frames, n);
    st_unlock();
    return name;
}

uint64_t st_define_frames(const char *const *frames, size_t n) {
    return st_options.stacks == ST_STACKS_BOTH ? keep_part(frames, n) : define(frames, n);
}

uint64_t st_join_frames(uint64_t native, uint64_t python, int depth) {
    const uint64_t parts[2] = {native, python};
    uint64_t key = native * UINT64_C(0x9E3779B97F4A7C15) ^ python * UINT64_C(0xC2B2AE3D27D4EB4F);
    const char *texts[2 * MAX_DEPTH];
    size_t n = 0;
    if (!st_lock_mutex(&mutex, "stacks")) return 0;
    const uint64_t *known = st_map_find(&joined, key);
    uint64_t name = known ? *known : 0;
    for (int i = 0; i < 2 && !known; i++) {
        const struct part *part = (const struct part *)(uintptr_t)parts[i];
        for (size_t j = 0; part && j < part->n && n < (size_t)depth && n < 2 * MAX_DEPTH; j++)
            texts[n++] = part->texts[j];
    }
    if (!known) {
        name = n ? define(texts, n) : 0;
        st_map_put(&joined, key, name);
    }
    pthread_mutex_unlock(&mutex);
    return name;
}
