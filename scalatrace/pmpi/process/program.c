/* program.c - gather the programs of all ranks.
 *
 * Each rank compares its command with that of the rank before. Only the first rank of each program sends its text:
 *
 *     rank     0         1         2              3
 *     command  ./ocean   ./ocean   ./atmosphere   ./atmosphere
 *     sends    ./ocean             ./atmosphere
 */
#define _GNU_SOURCE
#include "process/program.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/options.h"
#include "base/state.h"

#define MAX_COMMAND 1024 /* bytes of a command that are shown, with the terminating zero */
#define MAX_COMMANDS 16  /* programs that are shown */

/* The command in the header entries that `scalatrace record` passed. */
static void own_command(char *text) {
    static const char name[] = "program=";
    const char *at = st_options.meta;
    for (; at && strncmp(at, name, sizeof name - 1) != 0; at = strchr(at, '\x1f'), at += at != NULL) continue;
    if (at) at += sizeof name - 1;
    snprintf(text, MAX_COMMAND, "%.*s", at ? (int)strcspn(at, "\x1f") : 0, at ? at : "");
}

/* Does the rank before run another program? */
static bool is_first(const char *command) {
    uint64_t own = st_hash_text(command), before = 0;
    int left = st_shared.rank ? st_shared.rank - 1 : MPI_PROC_NULL;
    int right = st_shared.rank + 1 < st_shared.nprocs ? st_shared.rank + 1 : MPI_PROC_NULL;
    PMPI_Sendrecv(&own, 1, MPI_UINT64_T, right, 0, &before, 1, MPI_UINT64_T, left, 0, st_shared.private_comm,
                  MPI_STATUS_IGNORE);
    return st_shared.rank == 0 || own != before;
}

/* Write the entry from the firsts' ranks and commands, in the order of the ranks. */
static void set_entry(const int *firsts, const char *commands, int n) {
    static char text[MAX_COMMANDS * (MAX_COMMAND + 32)];
    size_t at = 0;
    for (int i = 0; i < n && i < MAX_COMMANDS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s-n %d %s", i ? " : " : "",
                               (i + 1 < n ? firsts[i + 1] : st_shared.nprocs) - firsts[i],
                               commands + (size_t)i * MAX_COMMAND);
    if (n > MAX_COMMANDS) snprintf(text + at, sizeof text - at, " : ...");
    st_core_check(st_set_meta(st_shared.core, "program", text));
}

/* Rank 0 receives the number and the command of each first rank. One more than is shown is enough. */
static void gather(bool first, const char *command, int n) {
    int place = 0, shown = n < MAX_COMMANDS + 1 ? n : MAX_COMMANDS + 1, mine = first;
    PMPI_Exscan(&mine, &place, 1, MPI_INT, MPI_SUM, st_shared.private_comm);
    if (st_shared.rank == 0) {
        int firsts[MAX_COMMANDS + 1] = {0};
        char *commands = calloc((size_t)shown, MAX_COMMAND);
        char unused[MAX_COMMAND];
        if (commands) memcpy(commands, command, MAX_COMMAND);
        for (int i = 1; i < shown; i++) {
            MPI_Status status;
            PMPI_Probe(MPI_ANY_SOURCE, i, st_shared.private_comm, &status); /* as in arrival.c */
            PMPI_Recv(commands ? commands + (size_t)i * MAX_COMMAND : unused, MAX_COMMAND, MPI_CHAR, status.MPI_SOURCE,
                      i, st_shared.private_comm, &status);
            firsts[i] = status.MPI_SOURCE;
        }
        if (commands) set_entry(firsts, commands, n);
        free(commands);
    } else if (first && place < shown) {
        PMPI_Send(command, MAX_COMMAND, MPI_CHAR, 0, place, st_shared.private_comm);
    }
}

void st_program_start(void) {
    char command[MAX_COMMAND] = "";
    own_command(command);
    bool first = is_first(command);
    int mine = first, n = 1;
    PMPI_Allreduce(&mine, &n, 1, MPI_INT, MPI_SUM, st_shared.private_comm);
    if (n > 1) gather(first, command, n);
}
