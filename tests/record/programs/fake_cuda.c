/* A driver in place of libcuda: allocations have kinds, and queries of pointers are counted. */
#include <stdint.h>
#include <stdlib.h>

#define MAX_ALLOCATIONS 16

static struct {
    uintptr_t first;
    size_t size;
    int managed;
} allocations[MAX_ALLOCATIONS];
static int nallocations;
int fake_queries; /* of memory types */

void *fake_allocate(size_t size, int managed) {
    void *memory = calloc(size, 1);
    allocations[nallocations].first = (uintptr_t)memory;
    allocations[nallocations].size = size;
    allocations[nallocations++].managed = managed;
    return memory;
}

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer) {
    fake_queries += attribute == 2;
    for (int i = 0; i < nallocations; i++)
        if (pointer >= allocations[i].first && pointer < allocations[i].first + allocations[i].size) {
            if (attribute == 2) *(unsigned *)data = 2;
            if (attribute == 8) *(unsigned *)data = (unsigned)allocations[i].managed;
            if (attribute == 11) *(unsigned long long *)data = allocations[i].first;
            if (attribute == 12) *(size_t *)data = allocations[i].size;
            return 0;
        }
    return 1; /* CUDA_ERROR_INVALID_VALUE */
}
