/* output.c - decide on the path of the trace. */
#define _GNU_SOURCE
#include "process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/options.h"
#include "base/state.h"

#define MAX_PATH 4096
#define MAX_RUNS 10000 /* traces of one output beside each other */

static char output[MAX_PATH], claimed[MAX_PATH];
static struct stat before; /* of the output in MPI_Init; all zero: there was none */
static bool reserved;      /* `claimed` is an empty file of this run */

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && atoi(value) > 0;
}

static struct stat status_of(const char *path) {
    struct stat now;
    if (stat(path, &now) != 0) memset(&now, 0, sizeof now);
    return now;
}

/* Did a launcher start several tasks, each of which is a world of one rank? Return the number of this task, or -1. */
static int task_without_world(int *ntasks) {
    MPI_Comm parent = MPI_COMM_NULL;
    if (st_shared.nprocs > 1) return -1;
    if (st_shared.private_comm != MPI_COMM_NULL) PMPI_Comm_get_parent(&parent);
    return parent == MPI_COMM_NULL ? st_launched_task(ntasks) : -1;
}

/* Ranks may know other placeholders (%h, %p) than rank 0, which writes the trace. Whether they take its path is rank
 * 0's decision, too: programs of one mpiexec may have different options. */
static void share_path(void) {
    snprintf(output, sizeof output, "%s", is_set("SCALATRACE_PLACEHOLDERS") ? st_options.output : "");
    PMPI_Bcast(output, sizeof output, MPI_CHAR, 0, st_shared.private_comm);
    if (*output) st_options.output = output;
}

void st_output_start(void) {
    int ntasks = 0, task = task_without_world(&ntasks);
    if (st_shared.private_comm != MPI_COMM_NULL) share_path();
    if (task >= 0) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%s.task-%d", st_options.output, task);
        memcpy(output, path, sizeof output);
        st_options.output = output;
        if (task == 0)
            st_warn("the launcher started %d tasks, but MPI made each a world of one rank: they write %s, .task-1, ... "
                    "Start them with the launcher of this MPI, under Slurm with srun --mpi=pmix or pmi2",
                    ntasks, st_options.output);
    }
    before = status_of(st_options.output);
}

/* May this run write here? A trace of earlier is replaced, unless runs of one job array share the path. */
static bool is_free(const char *path, bool first) {
    struct stat now = status_of(path);
    if (now.st_ino) {
        bool unchanged = now.st_dev == before.st_dev && now.st_ino == before.st_ino &&
                         now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
        return !S_ISREG(now.st_mode) || (first && unchanged && !is_set("SCALATRACE_KEEP"));
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return errno != EEXIST; /* who writes the trace reports other errors */
    close(file);
    reserved = true;
    return true;
}

const char *st_output_claim(void) {
    snprintf(claimed, sizeof claimed, "%s", st_options.output);
    for (int run = 2; run < MAX_RUNS && !is_free(claimed, run == 2); run++)
        snprintf(claimed, sizeof claimed, "%s.run-%d", st_options.output, run);
    if (strcmp(claimed, st_options.output))
        st_warn("%s is the trace of another run, which stays; this one is %s. Tell them apart by %%j (job), %%a (array "
                "task) or %%p (process) in -o",
                st_options.output, claimed);
    return claimed;
}

void st_output_release(void) {
    if (reserved) unlink(claimed);
    reserved = false;
}
