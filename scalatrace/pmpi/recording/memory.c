/* memory.c - ask the drivers of GPUs about pointers.
 *
 *     pointer --> last range --> ranges, sorted by address --> driver: kind, first address and size of the allocation
 *
 * Memory of the process has no ranges: the driver is asked again for each of its pointers.
 */
#include "recording/memory.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/state.h"
#include "events/values.h"
#include "stacks/loader.h"

enum { HOST, DEVICE, MANAGED, NKINDS };
static const char *const kind_names[] = {"host", "device", "managed"};

#define MAX_BUFFERS 3  /* of a call */
#define MAX_RANGES 512 /* that are remembered; all are forgotten when there are more */

/* Attributes of a pointer, equal in both drivers. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, RANGE_START = 11, RANGE_SIZE = 12 };
#define CUDA_DEVICE 2           /* CU_MEMORYTYPE_DEVICE */
#define HIP_DEVICE_BEFORE_6 1   /* hipMemoryTypeDevice */
#define HIP_DEVICE 2            /* ... from ROCm 6 on */
#define HIP_RENUMBERED 60000000 /* version of ROCm 6.0 */
typedef int query_function(void *value, int attribute, uintptr_t pointer);

static struct driver {
    const char *library, *query; /* beginning of the file's name; its function */
    query_function *function;    /* NULL: not loaded */
    int device;                  /* the memory type of devices */
} drivers[] = {{"libcuda.so", "cuPointerGetAttribute", NULL, CUDA_DEVICE},
               {"libamdhip64.so", "hipPointerGetAttribute", NULL, HIP_DEVICE}};
#define NDRIVERS ((int)(sizeof drivers / sizeof *drivers))

static unsigned long long nloaded; /* libraries loaded when the drivers were sought */

static struct range {
    uintptr_t first, end;
    int kind;
} ranges[MAX_RANGES];
static int nranges;

/* Look for drivers among libraries that were loaded since. */
static bool find_drivers(void) {
    unsigned long long now = st_loader_count();
    bool found = false;
    for (int i = 0; i < NDRIVERS; i++) {
        struct driver *driver = &drivers[i];
        if (!driver->function && now != nloaded) {
            *(void **)&driver->function = st_loader_function(driver->library, driver->query);
            int (*version)(int *) = NULL, number = 0;
            if (i == 1 && driver->function)
                *(void **)&version = st_loader_function(driver->library, "hipRuntimeGetVersion");
            if (version && version(&number) == 0 && number < HIP_RENUMBERED) driver->device = HIP_DEVICE_BEFORE_6;
        }
        found |= driver->function != NULL;
    }
    nloaded = now;
    return found;
}

/* The range that holds an address, or the place where it is to be inserted. */
static int place_of(uintptr_t address) {
    int low = 0, high = nranges;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Remember an allocation, in place of those that were where it is. */
static void remember(uintptr_t first, size_t size, int kind) {
    uintptr_t end = first + size;
    if (!size || end < first) return;
    int from = place_of(first), to = from;
    while (to < nranges && ranges[to].first < end) to++;
    if (nranges - (to - from) + 1 > MAX_RANGES) nranges = from = to = 0;
    memmove(ranges + from + 1, ranges + to, (size_t)(nranges - to) * sizeof *ranges);
    nranges += 1 - (to - from);
    ranges[from] = (struct range){first, end, kind};
}

/* Ask a driver; false: it does not know the pointer. */
static bool ask(const struct driver *driver, uintptr_t pointer, int *kind) {
    unsigned type = 0, managed = 0;
    uintptr_t first = 0;
    size_t size = 0;
    if (driver->function(&type, MEMORY_TYPE, pointer) != 0) return false;
    if (driver->function(&managed, IS_MANAGED, pointer) != 0) managed = 0;
    *kind = managed & 1 ? MANAGED : (int)type == driver->device ? DEVICE : HOST;
    if (*kind != HOST && driver->function(&first, RANGE_START, pointer) == 0 &&
        driver->function(&size, RANGE_SIZE, pointer) == 0)
        remember(first, size, *kind);
    return true;
}

static int kind_of(const void *buffer) {
    uintptr_t pointer = (uintptr_t)buffer;
    int at = place_of(pointer), kind = HOST;
    if (at < nranges && ranges[at].first <= pointer) return ranges[at].kind;
    for (int i = 0; i < NDRIVERS; i++)
        if (drivers[i].function && ask(&drivers[i], pointer, &kind)) break;
    return kind;
}

/* The names of all values are made once: index of the kinds in base NKINDS, after a leading 1. */
static uint64_t value_name(const int *kinds, int n) {
    static uint64_t names[2 * NKINDS * NKINDS * NKINDS];
    char text[64] = "";
    int index = 1;
    for (int i = 0; i < n; i++) index = index * NKINDS + kinds[i];
    if (names[index]) return names[index];
    for (int i = 0; i < n; i++) {
        if (i) strcat(text, "+");
        strcat(text, kind_names[kinds[i]]);
    }
    return names[index] = st_text(text);
}

uint64_t st_memory(const void *const *buffers, int n) {
    int kinds[MAX_BUFFERS] = {HOST}, nkinds = 0;
    bool equal = true, has_driver = find_drivers();
    for (int i = 0; i < n && nkinds < MAX_BUFFERS; i++) {
        if (buffers[i] == MPI_IN_PLACE) continue;
        kinds[nkinds] = has_driver && buffers[i] && buffers[i] != MPI_BOTTOM ? kind_of(buffers[i]) : HOST;
        equal &= kinds[nkinds] == kinds[0];
        nkinds++;
    }
    return value_name(kinds, equal ? 1 : nkinds);
}

void st_memory_start(void) {
    const char *wanted = getenv("SCALATRACE_MEMORY");
    int mine = find_drivers() || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0, any = 0;
    if (wanted && *wanted) mine = atoi(wanted) != 0;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, st_shared.private_comm);
    st_shared.has_memory = any;
}
