/* clock.c - calibrate the processor's counter against the kernel's clock. */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Duration of the calibration. One reading of both clocks is uncertain by some 50 ns: the scale is then right to one in
 * 20,000. */
#define CALIBRATION_NS 2000000
#define READINGS 8 /* of both clocks, of which the most certain one counts */
#define READINGS_PER_ROUND 256

struct st_clock st_clock;

int64_t st_clock_slow(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
/* Is the counter the kernel's clock? The kernel has then checked that it is constant and equal on all cores. */
static bool kernel_uses_counter(void) {
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file) return false;
    if (!fgets(name, sizeof name, file)) name[0] = 0;
    fclose(file);
    return !strncmp(name, "tsc", 3);
}

/* Read both clocks at nearly the same moment: of several readings, take the one between the closest counter values. */
static void read_both(uint64_t *ticks, int64_t *ns) {
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        int64_t now = st_clock_slow();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before >= shortest) continue;
        shortest = after - before;
        *ticks = before + shortest / 2;
        *ns = now;
    }
}

static void calibrate(void) {
    uint64_t first_ticks = 0, ticks = 0;
    int64_t first_ns = 0, ns = 0;
    if (!kernel_uses_counter()) return;
    read_both(&first_ticks, &first_ns);
    while (st_clock_slow() - first_ns < CALIBRATION_NS) continue;
    read_both(&ticks, &ns);
    st_clock.base = first_ticks;
    st_clock.scale = (uint64_t)(((unsigned __int128)(ns - first_ns) << 32) / (ticks - first_ticks));
}
#else
static void calibrate(void) {}
#endif

/* Of several rounds the shortest one, which was not interrupted. */
static int64_t reading_ns(void) {
    int64_t shortest = INT64_MAX;
    for (int round = 0; round < READINGS; round++) {
        int64_t start = st_now(), now = start;
        for (int i = 0; i < READINGS_PER_ROUND; i++) now = st_now();
        if (now - start < shortest) shortest = now - start;
    }
    return shortest / READINGS_PER_ROUND;
}

void st_clock_start(void) {
    if (st_clock.reading_ns) return;
    calibrate();
    st_clock.reading_ns = reading_ns();
}
