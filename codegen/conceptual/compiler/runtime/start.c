/* Start: the program's events, checks, communicators. */

/* Go through the program as one rank; its events. */
static struct list nc_collect(int rank) {
    memset(&in.list, 0, sizeof in.list);
    in.rank = rank;
    in.active = 1;
    in.serial = 0;
    nc_seed(0, 0);
    nc.processors = nc_new((size_t)nc.tasks, sizeof(num));
    for (int task = 0; task < nc.tasks; task++) nc.processors[task] = task;
    nc_program();
    return in.list;
}

/* Check all ranks' events, if they are not too many in all. All ranks come to the same conclusion. */
static int nc_check_all(const struct list *mine) {
    size_t total = 0;
    if (nc.tasks > NC_MOST_CHECKED || nc_events(mine) > NC_MOST_EVENTS) return 0;
    struct list *lists = nc_new((size_t)nc.tasks, sizeof *lists);
    for (int rank = 0; rank < nc.tasks && total <= NC_MOST_EVENTS; rank++) {
        lists[rank] = nc_collect(rank);
        total += nc_events(&lists[rank]);
    }
    if (total <= NC_MOST_EVENTS) nc_check(lists);
    for (int rank = 0; rank < nc.tasks; rank++) nc_free_list(&lists[rank]);
    free(lists);
    return total <= NC_MOST_EVENTS;
}

static void nc_make_comms(void) {
    in.comms[0].handle = MPI_COMM_WORLD;
    for (size_t i = 1; i < in.ncomms; i++)
        MPI_Comm_split(MPI_COMM_WORLD, in.comms[i].member[nc.rank], nc.rank, &in.comms[i].handle);
}

static int nc_logs(const struct list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const struct event *event = &list->events[i];
        for (size_t k = 0; event->kind == LOCAL && nc_loggers[k]; k++)
            if (nc_loggers[k] == event->act) return 1;
        if ((event->kind == REPEAT || event->kind == TIMED || event->kind == ASIDE) && nc_logs(&event->body)) return 1;
    }
    return 0;
}

/* Go through the program as this rank, which has the whole world as its first communicator. */
static struct list nc_collect_mine(void) {
    char *world = memset(nc_new((size_t)nc.tasks, 1), 1, (size_t)nc.tasks);
    nc_comm(world);
    free(world);
    return nc_collect(nc.rank);
}

static void nc_run(const struct list *list) {
    nc_seed(1, nc.rank);
    nc.running = 1;
    nc_reset();
    nc_execute(list);
}
