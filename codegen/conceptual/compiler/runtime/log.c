/* Log files: prologue, tables, epilogue; and what OUTPUT prints. */

enum { NC_FUNCTIONS = 32 };
enum form { ALL, ONLY, COLLAPSED, HISTOGRAM };
enum function {
    MEAN,
    HARMONIC_MEAN,
    GEOMETRIC_MEAN,
    MEDIAN,
    DEVIATION,
    VARIANCE,
    SPREAD,
    SUM,
    MINIMUM,
    MAXIMUM,
    FINAL,
    PERCENTILE
};

static const char *const nc_titles[] = {"mean",      "harm. mean", "geom. mean",     "median",
                                        "std. dev.", "variance",   "med. abs. dev.", "sum",
                                        "minimum",   "maximum",    "final"};

struct text {
    const char *words;
    int key; /* 1: the words name a line of the prologue */
};

/* A column as it stands in the program, and what it has collected in the current table. */
struct column {
    struct text label;
    enum form form;
    int nfunctions;
    enum function functions[NC_FUNCTIONS];
    struct place at;
    double percents[NC_FUNCTIONS];
    double *values;
    size_t nvalues;
    char ***cells; /* per function; a histogram has two */
    size_t *ncells;
    int known; /* whether it stands in the table */
};

static struct {
    FILE *file;
    struct column **columns;
    size_t ncolumns, tables;
    char **keys, **facts;
    size_t nfacts;
    time_t began;
} nc_log;

static const char *nc_fact(const char *key) {
    for (size_t i = 0; i < nc_log.nfacts; i++)
        if (!strcmp(nc_log.keys[i], key)) return nc_log.facts[i];
    return getenv(key) ? getenv(key) : "";
}

static const char *nc_words(const struct text *text) { return text->key ? nc_fact(text->words) : text->words; }

static char *nc_copy(const char *text) { return strcpy(nc_new(strlen(text) + 1, 1), text); }

/* Integers in full, others with ten digits. */
static char *nc_show(double value, char shown[40]) {
    if (isnan(value)) return strcpy(shown, "nan");
    snprintf(shown, 40, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.10g", value == 0 ? 0.0 : value);
    return shown;
}

/* Aggregates */

static int nc_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *nc_sorted(const double *values, size_t count) {
    double *copy = memcpy(nc_new(count, sizeof(double)), values, count * sizeof(double));
    qsort(copy, count, sizeof(double), nc_ascending);
    return copy;
}

static double nc_median(const double *values, size_t count) {
    double *ordered = nc_sorted(values, count), middle = ordered[count / 2];
    if (count % 2 == 0) middle = (ordered[count / 2 - 1] + middle) / 2;
    free(ordered);
    return middle;
}

static double nc_spread(const double *values, size_t count) {
    double middle = nc_median(values, count), *apart = nc_new(count, sizeof(double));
    for (size_t i = 0; i < count; i++) apart[i] = fabs(values[i] - middle);
    middle = nc_median(apart, count);
    free(apart);
    return middle;
}

/* A sum with what each addition rounds away (Neumaier 1974). */
struct sum {
    double total, rest;
};

static void nc_sum_add(struct sum *sum, double value) {
    double total = sum->total + value;
    if (isfinite(total))
        sum->rest += fabs(sum->total) >= fabs(value) ? sum->total - total + value : value - total + sum->total;
    sum->total = total;
}

static double nc_variance(const double *values, size_t count) {
    struct sum sum = {0, 0}, squares = {0, 0};
    for (size_t i = 0; i < count; i++) nc_sum_add(&sum, values[i]);
    double mean = (sum.total + sum.rest) / (double)count;
    for (size_t i = 0; i < count; i++) nc_sum_add(&squares, (values[i] - mean) * (values[i] - mean));
    return count > 1 ? (squares.total + squares.rest) / (double)(count - 1) : 0;
}

static double nc_percentile(const double *values, size_t count, double percent) {
    double *ordered = nc_sorted(values, count), place = ceil(percent / 100.0 * (double)count);
    size_t index = place<1 ? 1 : place>(double) count ? count : (size_t)place;
    double found = ordered[index - 1];
    free(ordered);
    return found;
}

static double nc_aggregate(enum function function, const double *x, size_t count, double percent) {
    double least = x[0], most = x[0];
    struct sum sum = {0, 0}, inverse = {0, 0}, logs = {0, 0};
    int zero = 0;
    for (size_t i = 0; i < count; i++) {
        nc_sum_add(&sum, x[i]);
        nc_sum_add(&inverse, 1 / x[i]);
        nc_sum_add(&logs, log(x[i]));
        zero |= x[i] == 0;
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    switch (function) {
    case MEAN:
        return (sum.total + sum.rest) / (double)count;
    case HARMONIC_MEAN:
        return zero ? 0 : (double)count / (inverse.total + inverse.rest);
    case GEOMETRIC_MEAN:
        return least > 0 ? exp((logs.total + logs.rest) / (double)count) : 0;
    case MEDIAN:
        return nc_median(x, count);
    case DEVIATION:
        return sqrt(nc_variance(x, count));
    case VARIANCE:
        return nc_variance(x, count);
    case SPREAD:
        return nc_spread(x, count);
    case SUM:
        return sum.total + sum.rest;
    case MINIMUM:
        return least;
    case MAXIMUM:
        return most;
    case FINAL:
        return x[count - 1];
    default:
        return nc_percentile(x, count, percent);
    }
}

/* Tables */

static int nc_width(const struct column *column) {
    return column->form == COLLAPSED ? column->nfunctions : column->form == HISTOGRAM ? 2 : 1;
}

/* The percentile of a column's function: that of the table's first row. */
MAYBE_UNUSED static void nc_percent(struct column *column, int which, double percent) {
    if (!column->known) column->percents[which] = percent;
}

MAYBE_UNUSED static void nc_log_value(struct column *column, double value) {
    char before[40], now[40];
    if (!column->known) {
        nc_log.columns = nc_grown(nc_log.columns, nc_log.ncolumns, sizeof(struct column *));
        nc_log.columns[nc_log.ncolumns++] = column;
        column->known = 1;
        column->cells = nc_new((size_t)nc_width(column), sizeof(char **));
        column->ncells = nc_new((size_t)nc_width(column), sizeof(size_t));
    }
    if (column->form == ONLY && column->nvalues && column->values[0] != value)
        nc_fail(column->at, "THE value in '%s' is not always the same: %s, then %s", nc_words(&column->label),
                nc_show(column->values[0], before), nc_show(value, now));
    column->values = nc_grown(column->values, column->nvalues, sizeof(double));
    column->values[column->nvalues++] = value;
}

static void nc_cell(struct column *column, int which, const char *text) {
    column->cells[which] = nc_grown(column->cells[which], column->ncells[which], sizeof(char *));
    column->cells[which][column->ncells[which]++] = nc_copy(text);
}

static void nc_histogram(struct column *column) {
    char shown[40];
    double *ordered = nc_sorted(column->values, column->nvalues);
    for (size_t i = 0, next; i < column->nvalues; i = next) {
        for (next = i; next < column->nvalues && ordered[next] == ordered[i];) next++;
        nc_cell(column, 0, nc_show(ordered[i], shown));
        nc_cell(column, 1, nc_show((double)(next - i), shown));
    }
    free(ordered);
}

/* Turn the values collected since the last time into rows. */
static void nc_collapse(void) {
    size_t rows = 0;
    char shown[40];
    for (size_t i = 0; i < nc_log.ncolumns; i++)
        for (int k = 0; k < nc_width(nc_log.columns[i]); k++)
            rows = nc_log.columns[i]->ncells[k] > rows ? nc_log.columns[i]->ncells[k] : rows;
    for (size_t i = 0; i < nc_log.ncolumns; i++) {
        struct column *column = nc_log.columns[i];
        for (int k = 0; column->nvalues && k < nc_width(column); k++)
            while (column->ncells[k] < rows) nc_cell(column, k, "");
        if (column->form == HISTOGRAM && column->nvalues) nc_histogram(column);
        for (int k = 0; column->form == COLLAPSED && column->nvalues && k < column->nfunctions; k++) {
            double value = nc_aggregate(column->functions[k], column->values, column->nvalues, column->percents[k]);
            nc_cell(column, k, nc_show(value, shown));
        }
        for (size_t k = 0; column->form == ALL && k < column->nvalues; k++)
            nc_cell(column, 0, nc_show(column->values[k], shown));
        if (column->form == ONLY && column->nvalues) nc_cell(column, 0, nc_show(column->values[0], shown));
        column->nvalues = 0;
        free(column->values);
        column->values = NULL;
    }
}

static void nc_quoted(const char *text) {
    fputc('"', nc_log.file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', nc_log.file);
        if (*text == '\n')
            fputs("\\n", nc_log.file);
        else
            fputc(*text, nc_log.file);
    }
    fputc('"', nc_log.file);
}

static void nc_title(const struct column *column, int which) {
    char title[80], shown[40];
    if (column->form == COLLAPSED && column->functions[which] == PERCENTILE)
        snprintf(title, sizeof title, "(%sth percentile)", nc_show(column->percents[which], shown));
    else if (column->form == COLLAPSED)
        snprintf(title, sizeof title, "(%s)", nc_titles[column->functions[which]]);
    else if (column->form == HISTOGRAM)
        strcpy(title, which ? "(hist. tallies)" : "(hist. values)");
    else
        strcpy(title, column->form == ONLY ? "(only value)" : "(all data)");
    nc_quoted(title);
}

/* One line: labels (row -2), titles (-1) or cells. Whether there was anything to write. */
static int nc_line(long row) {
    int some = row < 0;
    for (size_t i = 0; i < nc_log.ncolumns; i++)
        for (int k = 0; k < nc_width(nc_log.columns[i]); k++) some = some || (size_t)row < nc_log.columns[i]->ncells[k];
    for (size_t i = 0, written = 0; some && i < nc_log.ncolumns; i++)
        for (int k = 0; k < nc_width(nc_log.columns[i]); k++) {
            struct column *column = nc_log.columns[i];
            if (written++) fputc(',', nc_log.file);
            if (row == -2)
                nc_quoted(nc_words(&column->label));
            else if (row == -1)
                nc_title(column, k);
            else if ((size_t)row < column->ncells[k])
                fputs(column->cells[k][row], nc_log.file);
        }
    if (some) fputc('\n', nc_log.file);
    return some;
}

static void nc_write_table(void) {
    nc_collapse();
    if (!nc_log.ncolumns) return;
    if (nc_log.tables++) fputc('\n', nc_log.file);
    for (long row = -2; nc_line(row);) row++;
    fflush(nc_log.file);
    for (size_t i = 0; i < nc_log.ncolumns; i++) {
        struct column *column = nc_log.columns[i];
        for (int k = 0; k < nc_width(column); k++) {
            for (size_t row = 0; row < column->ncells[k]; row++) free(column->cells[k][row]);
            free(column->cells[k]);
        }
        free(column->cells);
        free(column->ncells);
        column->known = 0;
    }
    nc_log.ncolumns = 0;
    free(nc_log.columns);
    nc_log.columns = NULL;
}

/* Prologue and epilogue */

static const char nc_rule[] = "###########################################################################\n";

static void nc_add_fact(const char *key, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = nc_new((size_t)length + 1, 1);
    va_start(list, format);
    vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    nc_log.keys = nc_grown(nc_log.keys, nc_log.nfacts, sizeof(char *));
    nc_log.facts = nc_grown(nc_log.facts, nc_log.nfacts, sizeof(char *));
    nc_log.keys[nc_log.nfacts] = nc_copy(key);
    nc_log.facts[nc_log.nfacts++] = text;
}

static void nc_now(char text[64]) {
    time_t now = time(NULL);
    strftime(text, 64, "%a %b %d %H:%M:%S %Y", localtime(&now));
}

/* A line of comment, without blanks at its end. */
static void nc_comment(const char *text) {
    size_t length = strlen(text);
    while (length && strchr(" \t\v\f", text[length - 1])) length--;
    fputs(length ? "# " : "#", nc_log.file);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n' || text[i] == '\r')
            fputs(text[i] == '\n' ? "\\n" : "\\r", nc_log.file);
        else
            fputc(text[i], nc_log.file);
    }
    fputc('\n', nc_log.file);
}

static int nc_is_secret(const char *variable) {
    static const char *const signs[] = {"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE"};
    char name[128];
    size_t i;
    for (i = 0; variable[i] && variable[i] != '=' && i + 1 < sizeof name; i++)
        name[i] = (char)toupper((unsigned char)variable[i]);
    name[i] = '\0';
    for (i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(name, signs[i])) return 1;
    return 0;
}

/* Order of "name=value" by name. */
static int nc_by_name(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *x == *y && *x != '=') x++, y++;
    return (*x == '=' ? 0 : (unsigned char)*x) - (*y == '=' ? 0 : (unsigned char)*y);
}

static void nc_environment(void) {
    size_t count = 0;
    while (environ[count]) count++;
    char **sorted = memcpy(nc_new(count, sizeof(char *)), environ, count * sizeof(char *));
    qsort(sorted, count, sizeof(char *), nc_by_name);
    for (size_t i = 0; i < count; i++) {
        char *line = nc_new(strlen(sorted[i]) + 3, 1), *equals = strchr(sorted[i], '=');
        if (equals && !nc_is_secret(sorted[i])) {
            memcpy(line, sorted[i], (size_t)(equals - sorted[i]));
            strcat(strcat(line, ": "), equals + 1);
            nc_comment(line);
        }
        free(line);
    }
    free(sorted);
}

static char *nc_log_name(void) {
    char rank[16], *name = nc_new(strlen(nc.logfile) + 64, 1), *mark = strstr(nc.logfile, "%p");
    snprintf(rank, sizeof rank, "%d", nc.rank);
    strcpy(name, nc.logfile);
    if (!mark) return name;
    name[mark - nc.logfile] = '\0';
    return strcat(strcat(name, rank), mark + 2);
}

static void nc_open_log(void) {
    char *name = nc_log_name();
    nc_log.file = fopen(name, "w");
    if (!nc_log.file) nc_fail((struct place){0, 0}, "%s: %s", name, strerror(errno));
    free(name);
    nc_log.began = time(NULL);
    fputs(nc_rule, nc_log.file);
    nc_comment("===================");
    nc_comment("coNCePTuaL log file");
    nc_comment("===================");
    for (size_t i = 0; i < nc_log.nfacts; i++) {
        char *line = nc_new(strlen(nc_log.keys[i]) + strlen(nc_log.facts[i]) + 3, 1);
        nc_comment(strcat(strcat(strcpy(line, nc_log.keys[i]), ": "), nc_log.facts[i]));
        free(line);
    }
    nc_comment("");
    nc_comment("Environment variables");
    nc_comment("---------------------");
    nc_environment();
    nc_comment("");
    nc_comment("coNCePTuaL source code");
    nc_comment("----------------------");
    for (size_t i = 0; i < sizeof nc_source_lines / sizeof *nc_source_lines; i++) nc_comment(nc_source_lines[i]);
    nc_comment("");
    fputs(nc_rule, nc_log.file);
    fflush(nc_log.file);
}

static void nc_close_log(void) {
    char now[64];
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    nc_now(now);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    fprintf(nc_log.file, "%s# Program exited normally.\n# Log completion time: %s\n", nc_rule, now);
    fprintf(nc_log.file, "# Elapsed time: %.0f seconds\n", difftime(time(NULL), nc_log.began));
    fprintf(nc_log.file, "# Process CPU usage (user+system): %.0f seconds\n", cpu);
    fprintf(nc_log.file, "# Peak memory allocation: %ld bytes\n%s", used.ru_maxrss * 1024, nc_rule);
    if (fclose(nc_log.file)) nc_fail((struct place){0, 0}, "the log file cannot be written: %s", strerror(errno));
}

/* OUTPUT */

MAYBE_UNUSED static void nc_print_text(struct text text) { fputs(nc_words(&text), stdout); }

MAYBE_UNUSED static void nc_print(double value) {
    char shown[40];
    fputs(nc_show(value, shown), stdout);
}

MAYBE_UNUSED static void nc_print_end(void) {
    fputc('\n', stdout);
    fflush(stdout);
}
