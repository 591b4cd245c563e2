/* launcher.c - the variables of launchers. */
#include "base/launcher.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

int st_ranks_here(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                        "SLURM_STEP_TASKS_PER_NODE"};
    for (int i = 0; i < 4; i++) {
        const char *value = getenv(names[i]);
        if (value && atoi(value) > 0) return atoi(value);
    }
    return 1;
}

uint64_t st_job(void) {
    static const char *const names[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    char text[512] = "";
    for (int i = 0, n = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        n += snprintf(text + n, sizeof text - (size_t)n, "%.128s ", value ? value : "");
    }
    return st_hash_text(text);
}
