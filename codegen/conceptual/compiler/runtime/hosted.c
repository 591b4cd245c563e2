/* A program in a process that has started MPI. The process reads the command line, checks the program, and writes the
 * beginning and the end of log files; codegen/conceptual/run/compiled.py declares the same fields. */

struct nc_host {
    void (*stop)(int line, int column, const char *text); /* ends all ranks */
    num seed;
    size_t nfacts;
    const char *const *keys, *const *facts; /* lines of the prologue */
    const num *parameters;                  /* values, in the order of the program */
};

static const struct nc_host *nc_host;
static struct list nc_events_here;

static void nc_end(struct place at, const char *text) {
    nc_host->stop(at.line, at.column, text);
    exit(1);
}

/* The process may want errors of MPI to be returned. */
static void nc_failed(MPI_Comm *comm, int *code, ...) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    (void)comm;
    PMPI_Error_string(*code, text, &length);
    nc_fail((struct place){0, 0}, "%s", text);
}

/* Collect the events of this rank and make communicators; whether the rank logs. */
int scalatrace_prepare(const struct nc_host *host) {
    nc_host = host;
    PMPI_Comm_rank(MPI_COMM_WORLD, &nc.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &nc.tasks);
    nc.seed = host->seed;
    for (size_t i = 0; i + 1 < sizeof nc_parameters / sizeof *nc_parameters; i++)
        *nc_parameters[i].value = host->parameters[i];
    for (size_t i = 0; i < host->nfacts; i++) nc_add_fact(host->keys[i], "%s", host->facts[i]);
    nc_events_here = nc_collect_mine();
    return nc_logs(&nc_events_here);
}

/* Make all calls; tables go to the end of the file `log`, NULL: nowhere. */
void scalatrace_play(const char *log) {
    MPI_Errhandler before, own;
    PMPI_Comm_create_errhandler(nc_failed, &own);
    PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    nc_make_comms();
    if (log && !(nc_log.file = fopen(log, "a"))) nc_fail((struct place){0, 0}, "%s: %s", log, strerror(errno));
    nc_run(&nc_events_here);
    if (nc_log.file && fclose(nc_log.file))
        nc_fail((struct place){0, 0}, "the log file cannot be written: %s", strerror(errno));
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    PMPI_Errhandler_free(&before);
    PMPI_Errhandler_free(&own);
}
