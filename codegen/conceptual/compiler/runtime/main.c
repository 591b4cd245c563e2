/* A program of its own: the command line, what its log files begin with, main(). */

static void nc_end(struct place at, const char *text) {
    if (nc.running || nc.rank == 0) {
        fprintf(stderr, "%s", NC_PROGRAM);
        if (at.line) fprintf(stderr, ":%d:%d", at.line, at.column);
        fprintf(stderr, nc.running ? ": task %d: " : ": ", nc.rank);
        fprintf(stderr, "%s\n", text);
        fflush(stderr);
    }
    if (nc.running) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    exit(1);
}

/* A whole number as the language writes it: 5, 64K, 1E6. */
static num nc_number(const char *option, const char *text) {
    const char *digit = text + (*text == '-');
    num value = 0, scale = 1;
    int wrong = !isdigit((unsigned char)*digit);
    for (; isdigit((unsigned char)*digit); digit++) value = nc_add(nc_mul(value, 10), *digit - '0');
    if (toupper((unsigned char)*digit) == 'E' && isdigit((unsigned char)digit[1])) {
        for (num power = strtol(digit + 1, (char **)&digit, 10); power > 0; power--) scale = nc_mul(scale, 10);
    } else if (*digit && strchr("kKmMgGtT", *digit)) {
        scale = nc_shift(1, toupper((unsigned char)*digit) == 'K'   ? 10
                            : toupper((unsigned char)*digit) == 'M' ? 20
                            : toupper((unsigned char)*digit) == 'G' ? 30
                                                                    : 40);
        digit++;
    }
    if (wrong || *digit)
        nc_fail((struct place){0, 0}, "%s wants a whole number such as 5 or 64K, not '%s'", option, text);
    return nc_mul(*text == '-' ? -value : value, scale);
}

static void nc_usage(void) {
    if (nc.rank == 0) {
        printf("usage: %s [options]\n", NC_PROGRAM);
        for (size_t i = 0; i + 1 < sizeof nc_parameters / sizeof *nc_parameters; i++)
            printf("  %s, %s=<number>  %s [default: %" PRId64 "]\n", nc_parameters[i].brief, nc_parameters[i].option,
                   nc_parameters[i].help, *nc_parameters[i].value);
        printf("  -C, --comment=<text>  text for the log's prologue (may be given again)\n"
               "  -L, --logfile=<name>  log files' name; %%p stands for the processor\n"
               "  -N, --no-trap=<signals>  signals that are left alone (all are)\n"
               "  -?, --help  show this\n");
    }
    MPI_Finalize();
    exit(0);
}

/* Whether a word is an option, alone or with its value in the same word. */
static int nc_is(const char *word, const char *option, const char *brief, const char **value) {
    size_t length = strlen(option);
    *value = NULL;
    if (!strncmp(word, option, length) && (!word[length] || word[length] == '=')) {
        *value = word[length] ? word + length + 1 : NULL;
        return 1;
    }
    if (strncmp(word, brief, 2)) return 0;
    *value = word[2] ? word + 2 : NULL;
    return 1;
}

static size_t nc_find_parameter(const char *word, const char **value) {
    size_t i, count = sizeof nc_parameters / sizeof *nc_parameters - 1;
    for (i = 0; i < count; i++)
        if (nc_is(word, nc_parameters[i].option, nc_parameters[i].brief, value)) break;
    return i;
}

static void nc_options(int argc, char **argv) {
    const char *value;
    size_t found, count = sizeof nc_parameters / sizeof *nc_parameters - 1;
    for (int i = 1, comments = 0; i < argc; i++) {
        const char *word = argv[i];
        int comment = 0, name = 0;
        if ((found = nc_find_parameter(word, &value)) == count) {
            if (!strcmp(word, "-?") || !strcmp(word, "--help")) nc_usage();
            comment = nc_is(word, "--comment", "-C", &value);
            name = !comment && nc_is(word, "--logfile", "-L", &value);
            if (!comment && !name && !nc_is(word, "--no-trap", "-N", &value))
                nc_fail((struct place){0, 0}, "there is no option '%s'; -? shows all", word);
        }
        if (!value && i + 1 == argc) nc_fail((struct place){0, 0}, "%s wants a value", word);
        value = value ? value : argv[++i];
        if (found < count) *nc_parameters[found].value = nc_number(word, value);
        if (comment) {
            char key[32];
            snprintf(key, sizeof key, "Comment %d", ++comments);
            nc_add_fact(key, "%s", value);
        }
        if (name) nc.logfile = value;
    }
}

static void nc_facts(int argc, char **argv) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING], *line;
    int length;
    struct utsname system;
    uname(&system);
    nc_add_fact("coNCePTuaL language version", "1.5");
    nc_add_fact("coNCePTuaL backend", "C + MPI");
    nc_add_fact("Executable name", "%s", argv[0]);
    nc_add_fact("Working directory", "%s", getcwd(text, sizeof text) ? text : "unknown");
    line = nc_new(4096, 1);
    for (int i = 0; i < argc && strlen(line) + strlen(argv[i]) + 2 < 4096; i++)
        strcat(strcat(line, i ? " " : ""), argv[i]);
    nc_add_fact("Command line", "%s", line);
    free(line);
    nc_add_fact("Number of tasks", "%d", nc.tasks);
    nc_add_fact("Processor (0<=P<tasks)", "%d", nc.rank);
    nc_add_fact("Host name", "%s", system.nodename);
    nc_add_fact("Operating system", "%s %s %s", system.sysname, system.release, system.version);
    nc_add_fact("CPU architecture", "%s", system.machine);
    nc_add_fact("CPU count", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    nc_add_fact("OS page size", "%ld bytes", sysconf(_SC_PAGESIZE));
    nc_add_fact("Physical memory", "%" PRId64 " bytes", (num)sysconf(_SC_PAGESIZE) * (num)sysconf(_SC_PHYS_PAGES));
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    nc_add_fact("MPI library", "%s", text);
    nc_add_fact("Microsecond timer type", "clock_gettime()");
    num begin = nc_clock_ns();
    for (int i = 0; i < 100; i++) nc_clock_ns();
    begin = (nc_clock_ns() - begin) / 100;
    nc_add_fact("Average microsecond timer overhead", begin < 1000 ? "<1 microsecond" : "%" PRId64 " nanoseconds",
                begin);
}

static void nc_more_facts(void) {
    char now[64];
    const char *user = getenv("USER");
    nc_now(now);
    nc_add_fact("Random-number seed", "%" PRId64, nc.seed);
    nc_add_fact("Log-file template", "%s", nc.logfile);
    nc_add_fact("Log creator", "%s", user ? user : "unknown");
    nc_add_fact("Log creation time", "%s", now);
    for (size_t i = 0; i + 1 < sizeof nc_parameters / sizeof *nc_parameters; i++) {
        char key[512];
        snprintf(key, sizeof key, "%.400s (%.100s)", nc_parameters[i].help, nc_parameters[i].name);
        nc_add_fact(key, "%" PRId64, *nc_parameters[i].value);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &nc.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nc.tasks);
    nc.seed = getenv("NCPTL_SEED") ? nc_number("NCPTL_SEED", getenv("NCPTL_SEED")) : 1;
    nc.logfile = NC_LOGFILE;
    nc_defaults();
    nc_facts(argc, argv);
    nc_options(argc, argv);
    nc_more_facts();

    struct list mine = nc_collect_mine();
    if (!nc_check_all(&mine)) {
        /* A fault of this task is known to no other: all must be ended. */
        nc.running = 1;
        nc_check_awaited(nc.rank, &mine);
        nc_check_stored(nc.rank, &mine, 0);
        nc.running = 0;
    }
    nc_make_comms();
    if (nc_logs(&mine)) nc_open_log();
    nc_run(&mine);
    if (nc_log.file) nc_close_log();
    nc.running = 0;
    MPI_Finalize();
    return 0;
}
