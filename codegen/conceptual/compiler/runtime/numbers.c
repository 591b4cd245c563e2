/* The language's numbers: integers of 64 bits that never overflow in silence, and doubles.
 * The same functions in Python stand in functions.py and draws.py. */

typedef int64_t num;

struct place {
    int line, column;
};

static struct {
    int rank, tasks;     /* of this process; how many there are */
    int running;         /* whether messages may be under way */
    struct place at;     /* what is evaluated: named when it has no value */
    num seed;            /* of all random numbers */
    num *processors;     /* rank of each task, while the program is gone through */
    uint64_t agreed;     /* random numbers that are the same on all tasks */
    uint64_t own;        /* and of this task alone */
    const char *logfile; /* template of log files' names */
} nc;

#if defined(__GNUC__)
#define MAYBE_UNUSED __attribute__((unused))
#define NEVER_RETURNS __attribute__((noreturn))
#define LIKE_PRINTF __attribute__((noreturn, format(printf, 2, 3)))
#else
#define MAYBE_UNUSED
#define NEVER_RETURNS
#define LIKE_PRINTF
#endif

/* Report an error and end the program: in main.c, and in hosted.c for a program in another process. */
NEVER_RETURNS static void nc_end(struct place at, const char *text);

LIKE_PRINTF static void nc_fail(struct place at, const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    nc_end(at, text);
}

MAYBE_UNUSED static void *nc_need(void *memory) {
    if (!memory) nc_fail(nc.at, "out of memory");
    return memory;
}

static void *nc_new(size_t count, size_t size) { return nc_need(calloc(count ? count : 1, size ? size : 1)); }

/* Make room for one more in an array that doubles. */
static void *nc_grown(void *array, size_t used, size_t size) {
    if (used & (used - 1)) return array;
    return nc_need(realloc(array, (used ? 2 * used : 1) * size));
}

/* The place of what is evaluated next; the value is that of the expression behind the comma. */
MAYBE_UNUSED static void nc_at(int line, int column) {
    nc.at.line = line;
    nc.at.column = column;
}

#define NC_UNDEFINED(...) nc_fail(nc.at, "this has no value: " __VA_ARGS__)

static num nc_too_large(void) { NC_UNDEFINED("the result does not fit an integer of 64 bits"); }

/* Operators on integers */

MAYBE_UNUSED static num nc_add(num a, num b) {
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) return nc_too_large();
    return a + b;
}

MAYBE_UNUSED static num nc_sub(num a, num b) {
    if ((b < 0 && a > INT64_MAX + b) || (b > 0 && a < INT64_MIN + b)) return nc_too_large();
    return a - b;
}

MAYBE_UNUSED static num nc_div(num a, num b) {
    if (b == 0) NC_UNDEFINED("division by zero");
    if (a == INT64_MIN && b == -1) return nc_too_large();
    return a / b;
}

MAYBE_UNUSED static num nc_mul(num a, num b) {
    if (a == 0 || b == 0) return 0;
    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) return nc_too_large();
    num product = (num)((uint64_t)a * (uint64_t)b);
    return product / b == a ? product : nc_too_large();
}

MAYBE_UNUSED static num nc_mod(num a, num b) {
    if (b == 0) NC_UNDEFINED("MOD 0");
    if (b == INT64_MIN) return a < 0 ? nc_sub(a, b) : a;
    if (b == -1) return 0;
    num rest = a % (b < 0 ? -b : b);
    return rest < 0 ? rest + (b < 0 ? -b : b) : rest;
}

MAYBE_UNUSED static num nc_power(num base, num exponent) {
    num result = 1;
    if (base == 0 && exponent <= 0) NC_UNDEFINED("0 ** %" PRId64, exponent);
    if (base == 1 || base == -1) return exponent % 2 ? base : 1;
    if (exponent < 0 || base == 0) return 0;
    while (exponent-- > 0) result = nc_mul(result, base);
    return result;
}

MAYBE_UNUSED static num nc_shift(num value, num bits) {
    if (bits < 0) {
        int by = bits < -63 ? 63 : (int)-bits;
        return value < 0 ? ~(~value >> by) : value >> by;
    }
    if (value && bits > 63) return nc_too_large();
    for (; value && bits > 0; bits--) value = nc_mul(value, 2);
    return value;
}

MAYBE_UNUSED static num nc_neg(num a) { return nc_sub(0, a); }

/* Doubles; a division by zero gives an infinity, for a time may be too short to be measured */

static double nc_finite(double value) {
    if (!isfinite(value)) NC_UNDEFINED("the result is not a finite number");
    return value;
}

MAYBE_UNUSED static num nc_trunc(double value) {
    nc_finite(value);
    if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) return nc_too_large();
    return (num)value;
}

MAYBE_UNUSED static double nc_dround(double value) { return copysign(floor(fabs(value) + 0.5), value); }

MAYBE_UNUSED static num nc_rounded(double value) { return nc_trunc(nc_dround(value)); }

MAYBE_UNUSED static double nc_dadd(double a, double b) { return a + b; }

MAYBE_UNUSED static double nc_dsub(double a, double b) { return a - b; }

MAYBE_UNUSED static double nc_dmul(double a, double b) { return a * b; }

MAYBE_UNUSED static double nc_ddiv(double a, double b) { return a / b; }

MAYBE_UNUSED static double nc_dpower(double a, double b) {
    if ((a == 0.0 && b <= 0.0) || (a < 0.0 && b != floor(b))) NC_UNDEFINED("%g ** %g", a, b);
    return nc_finite(pow(a, b));
}

/* Functions */

MAYBE_UNUSED static num nc_abs(num a) { return a < 0 ? nc_neg(a) : a; }

MAYBE_UNUSED static num nc_bits(num a) {
    num bits = 0;
    for (uint64_t left = (uint64_t)a; left; left >>= 1) bits++;
    return bits;
}

/* Whether base ** degree <= value, for base >= 1. */
static int nc_reaches(num base, num degree, num value) {
    num power = 1;
    for (; degree > 0; degree--) {
        if (power > value / base) return 0;
        power *= base;
        if (base == 1) return 1;
    }
    return 1;
}

MAYBE_UNUSED static num nc_root(num degree, num value) {
    if (degree == 0 || value < 0) NC_UNDEFINED("ROOT(%" PRId64 ", %" PRId64 ")", degree, value);
    if (value <= 1) return value;
    if (degree < 0) return 0;
    num low = 1, high = degree == 1 ? value : 3037000500;
    while (low < high) {
        num middle = low + (high - low + 1) / 2;
        if (nc_reaches(middle, degree, value))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

MAYBE_UNUSED static num nc_log10(num a) {
    num digits = 0;
    if (a <= 0) NC_UNDEFINED("LOG10(%" PRId64 ")", a);
    for (; a >= 10; a /= 10) digits++;
    return digits;
}

MAYBE_UNUSED static num nc_factor10(num a) {
    num scale = 1;
    for (num left = a; left >= 10 || left <= -10; left /= 10) scale *= 10;
    return a / scale * scale;
}

MAYBE_UNUSED static num nc_min(int count, const num *a) {
    num least = a[0];
    for (int i = 1; i < count; i++) least = a[i] < least ? a[i] : least;
    return least;
}

MAYBE_UNUSED static num nc_max(int count, const num *a) {
    num most = a[0];
    for (int i = 1; i < count; i++) most = a[i] > most ? a[i] : most;
    return most;
}

MAYBE_UNUSED static double nc_droot(double degree, double value) {
    if (degree == 0.0 || value < 0.0 || (value == 0.0 && degree < 0.0)) NC_UNDEFINED("ROOT(%g, %g)", degree, value);
    return nc_finite(pow(value, 1.0 / degree));
}

MAYBE_UNUSED static double nc_dlog10(double a) {
    if (a <= 0.0) NC_UNDEFINED("LOG10(%g)", a);
    return log10(a);
}

MAYBE_UNUSED static double nc_dfactor10(double a) {
    if (a == 0.0) return 0.0;
    double scale = pow(10.0, floor(log10(fabs(a))));
    return copysign(floor(fabs(a) / scale) * scale, a);
}

MAYBE_UNUSED static double nc_dmin(int count, const double *a) {
    double least = a[0];
    for (int i = 1; i < count; i++) least = a[i] < least ? a[i] : least;
    return least;
}

MAYBE_UNUSED static double nc_dmax(int count, const double *a) {
    double most = a[0];
    for (int i = 1; i < count; i++) most = a[i] > most ? a[i] : most;
    return most;
}

/* Trees */

MAYBE_UNUSED static num nc_tree_parent(num task, num fanout) {
    if (fanout < 1) NC_UNDEFINED("a tree with %" PRId64 " children per task", fanout);
    return task > 0 ? (task - 1) / fanout : -1;
}

MAYBE_UNUSED static num nc_tree_child(num task, num child, num fanout) {
    if (fanout < 1) NC_UNDEFINED("a tree with %" PRId64 " children per task", fanout);
    return task >= 0 && child >= 0 && child < fanout ? nc_add(nc_mul(task, fanout), child + 1) : -1;
}

MAYBE_UNUSED static num nc_knomial_parent(num task, num k, num tasks) {
    num scale = 1;
    if (k < 2) NC_UNDEFINED("a k-nomial tree with k = %" PRId64, k);
    if (task <= 0 || task >= tasks) return -1;
    while (scale <= task / k) scale *= k;
    return task % scale;
}

/* The child by its number, or (-1) how many there are. */
static num nc_knomial(num task, num wanted, num k, num tasks) {
    num scale = 1, count = 0;
    if (k < 2) NC_UNDEFINED("a k-nomial tree with k = %" PRId64, k);
    if (task < 0 || task >= tasks) return wanted < 0 ? 0 : -1;
    while (scale <= task) scale *= k;
    for (; scale < tasks; scale *= k)
        for (num digit = 1; digit < k && task + digit * scale < tasks; digit++)
            if (count++ == wanted) return task + digit * scale;
    return wanted < 0 ? count : -1;
}

MAYBE_UNUSED static num nc_knomial_children(num task, num k, num tasks) { return nc_knomial(task, -1, k, tasks); }

MAYBE_UNUSED static num nc_knomial_child(num task, num child, num k, num tasks) {
    return child < 0 ? -1 : nc_knomial(task, child, k, tasks);
}

/* Meshes; the first dimension varies fastest */

static int nc_on_mesh(int count, const num *sizes, num task) {
    num all = 1;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 1) NC_UNDEFINED("a mesh with a dimension below 1");
        all = nc_mul(all, sizes[i]);
    }
    return task >= 0 && task < all;
}

MAYBE_UNUSED static num nc_mesh_coordinate(int count, const num *sizes, num task, num axis) {
    if (axis < 0 || axis >= count) NC_UNDEFINED("axis %" PRId64 " of a mesh with %d", axis, count);
    if (!nc_on_mesh(count, sizes, task)) return -1;
    for (int i = 0; i < axis; i++) task /= sizes[i];
    return task % sizes[axis];
}

MAYBE_UNUSED static num nc_mesh_neighbor(int count, const num *sizes, const int *wraps, num task, const num *offsets) {
    num found = 0, scale = 1;
    if (!nc_on_mesh(count, sizes, task)) return -1;
    for (int i = 0; i < count; i++) {
        num there = nc_add(task % sizes[i], offsets[i]);
        if (wraps[i]) there = nc_mod(there, sizes[i]);
        if (there < 0 || there >= sizes[i]) return -1;
        found += there * scale;
        scale *= sizes[i];
        task /= sizes[i];
    }
    return found;
}

MAYBE_UNUSED static num nc_mesh_distance(int count, const num *sizes, const int *wraps, num a, num b) {
    num steps = 0;
    if (!nc_on_mesh(count, sizes, a) || !nc_on_mesh(count, sizes, b)) return -1;
    for (int i = 0; i < count; i++) {
        num apart = nc_abs(a % sizes[i] - b % sizes[i]);
        steps += wraps[i] && sizes[i] - apart < apart ? sizes[i] - apart : apart;
        a /= sizes[i];
        b /= sizes[i];
    }
    return steps;
}

/* Processors */

MAYBE_UNUSED static num nc_processor_of(num task) { return task >= 0 && task < nc.tasks ? nc.processors[task] : -1; }

MAYBE_UNUSED static num nc_task_of(num processor) {
    for (num task = 0; task < nc.tasks; task++)
        if (nc.processors[task] == processor) return task;
    return -1;
}

/* Random numbers: SplitMix64 (Steele, Lea and Flood, 2014) */

static uint64_t nc_random(void) {
    uint64_t *state = nc.running ? &nc.own : &nc.agreed;
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void nc_seed(int running, num task) {
    int before = nc.running;
    uint64_t start = (uint64_t)nc.seed * UINT64_C(0x9E3779B97F4A7C15);
    nc.running = running;
    if (running) {
        nc.own = start + (uint64_t)task + 1;
        nc_random();
    } else {
        nc.agreed = start;
    }
    nc.running = before;
}

MAYBE_UNUSED static num nc_below(num count) { return (num)(nc_random() % (uint64_t)count); }

static double nc_unit(void) { return (double)(nc_random() >> 11) / 9007199254740992.0; }

MAYBE_UNUSED static double nc_drandom_uniform(double low, double high) {
    if (low >= high) NC_UNDEFINED("RANDOM_UNIFORM(%g, %g)", low, high);
    return low + nc_unit() * (high - low);
}

MAYBE_UNUSED static num nc_random_uniform(num low, num high) {
    if (low >= high) NC_UNDEFINED("RANDOM_UNIFORM(%" PRId64 ", %" PRId64 ")", low, high);
    return low + nc_below(high - low);
}

MAYBE_UNUSED static double nc_random_gaussian(double mean, double deviation) {
    if (deviation < 0) NC_UNDEFINED("RANDOM_GAUSSIAN(%g, %g)", mean, deviation);
    double radius = sqrt(-2.0 * log(1.0 - nc_unit()));
    return mean + deviation * radius * cos(2.0 * 3.14159265358979323846 * nc_unit());
}

MAYBE_UNUSED static double nc_random_poisson(double mean) {
    double total = 0;
    if (mean < 0) NC_UNDEFINED("RANDOM_POISSON(%g)", mean);
    while (mean > 0) {
        double step = mean < 500.0 ? mean : 500.0, product = nc_unit();
        mean -= step;
        for (step = exp(-step); product > step; product *= nc_unit()) total++;
    }
    return total;
}

MAYBE_UNUSED static double nc_random_pareto(double shape, double low, double high) {
    if (shape <= 0 || low <= 0 || low > high) NC_UNDEFINED("RANDOM_PARETO(%g, %g, %g)", shape, low, high);
    double unit = 1.0 - nc_unit();
    if (low == high) return low / pow(unit, 1.0 / shape);
    return low / pow(1.0 - (1.0 - unit) * (1.0 - pow(low / high, shape)), 1.0 / shape);
}

/* Ranges */

/* By how much the ratios of a geometric progression may differ: terms that were computed are rounded. */
#define NC_LIKENESS 1e-3

struct numbers {
    num *values;
    size_t count;
};

typedef void nc_ranges(struct numbers *numbers, const num *v);

MAYBE_UNUSED static void nc_append(struct numbers *numbers, num value) {
    if (numbers->count == 10000000) nc_fail(nc.at, "more than 10,000,000 numbers in a range");
    numbers->values = nc_grown(numbers->values, numbers->count, sizeof(num));
    numbers->values[numbers->count++] = value;
}

static int nc_same_steps(int count, const num *leading) {
    for (int i = 2; i < count; i++)
        if (leading[i] - leading[i - 1] != leading[1] - leading[0]) return 0;
    return 1;
}

static void nc_geometric(struct numbers *numbers, int count, const num *leading, num final) {
    num a = leading[0], b = leading[1], term = a;
    int fits = a != 0 && b != 0 && nc_abs(a) != nc_abs(b), growing = nc_abs(b) > nc_abs(a);
    double unlike = 0, ratio = 0;
    for (int i = 1; i < count; i++) {
        double wanted = (double)leading[i - 1] * (double)b, found = (double)leading[i] * (double)a;
        double differs = fabs(wanted - found) / fmax(fabs(wanted), 1);
        fits = fits && leading[i] && differs <= NC_LIKENESS;
        unlike = differs > unlike ? differs : unlike;
    }
    if (unlike > 0) ratio = pow((double)leading[count - 1] / (double)a, 1.0 / (count - 1));
    size_t before = numbers->count;
    if (!fits)
        nc_fail(nc.at,
                "%" PRId64 ", %" PRId64 ", %" PRId64 ", ... is neither an arithmetic nor a geometric progression", a, b,
                leading[2]);
    while (term != 0 && (growing ? nc_abs(term) <= nc_abs(final) : nc_abs(term) >= nc_abs(final))) {
        if ((term < 0) != (final < 0) && final != 0 && (a < 0) == (b < 0)) break;
        nc_append(numbers, term);
        if (nc_abs(term) > INT64_MAX / nc_abs(b)) break;
        if (unlike > 0)
            term = nc_rounded((double)a * pow(ratio, (double)(numbers->count - before)));
        else
            term = term * b / a;
    }
}

/* {a, ..., z}, {a, b, ..., z}, or what three or more terms have in common. */
MAYBE_UNUSED static void nc_progression(struct numbers *numbers, int count, const num *leading, num final) {
    num term = leading[0];
    num step = count > 1 ? nc_sub(leading[1], term) : final < term ? -1 : 1;
    if (!nc_same_steps(count, leading)) {
        nc_geometric(numbers, count, leading, final);
    } else if (step == 0) {
        nc_append(numbers, term);
    } else {
        for (; step > 0 ? term <= final : term >= final; term = nc_add(term, step)) {
            nc_append(numbers, term);
            if (step > 0 ? term > INT64_MAX - step : term < INT64_MIN - step) break;
        }
    }
}

/* The numbers of a loop: `values`, or `count` numbers from `first` in steps of `step`. */
struct series {
    num first, step;
    size_t count;
    num *values;
};

MAYBE_UNUSED static void nc_series(struct series *series, int count, const num *leading, num final) {
    num first = leading[0], step = count > 1 ? nc_sub(leading[1], first) : final < first ? -1 : 1;
    memset(series, 0, sizeof *series);
    if (!nc_same_steps(count, leading)) {
        struct numbers numbers = {0};
        nc_geometric(&numbers, count, leading, final);
        series->values = numbers.values;
        series->count = numbers.count;
        return;
    }
    series->first = first;
    series->step = step;
    if (step == 0)
        series->count = 1;
    else if (step > 0 && first <= final)
        series->count = ((uint64_t) final - (uint64_t)first) / (uint64_t)step + 1;
    else if (step < 0 && first >= final)
        series->count = ((uint64_t)first - (uint64_t) final) / (0 - (uint64_t)step) + 1;
}

MAYBE_UNUSED static num nc_term(const struct series *series, size_t index) {
    if (series->values) return series->values[index];
    return (num)((uint64_t)series->first + (uint64_t)index * (uint64_t)series->step);
}

MAYBE_UNUSED static int nc_among(num value, int count, const num *values) {
    for (int i = 0; i < count; i++)
        if (values[i] == value) return 1;
    return 0;
}

MAYBE_UNUSED static int nc_between(num value, num a, num b) {
    return a <= b ? a <= value && value <= b : b <= value && value <= a;
}

MAYBE_UNUSED static int nc_within(num value, nc_ranges *ranges, const num *v) {
    struct numbers numbers = {0};
    ranges(&numbers, v);
    int found = 0;
    for (size_t i = 0; i < numbers.count && !found; i++) found = numbers.values[i] == value;
    free(numbers.values);
    return found;
}

MAYBE_UNUSED static int nc_dwithin(double value, nc_ranges *ranges, const num *v) {
    return value == floor(value) && nc_within(nc_trunc(value), ranges, v);
}

MAYBE_UNUSED static int nc_dbetween(double value, double a, double b) {
    return a <= b ? a <= value && value <= b : b <= value && value <= a;
}

/* Data from files */

/* The next part between separators; `end` is where it stops, NULL when there are no more. */
static const char *nc_part(const char *text, const char *stop, const char *separators, const char **end) {
    while (text < stop && *separators && strchr(separators, *text)) text++;
    *end = text;
    while (*end < stop && !(*separators && strchr(separators, **end))) ++*end;
    return text < stop ? text : NULL;
}

static const char *nc_pick(const char *text, const char *stop, const char *separators, num wanted, const char **end) {
    num count = 0;
    const char *part = text, *next;
    while ((part = nc_part(part, stop, separators, &next))) {
        count++;
        part = next;
    }
    if (wanted < 0) wanted += count + 1;
    if (wanted < 1 || wanted > count) return NULL;
    for (part = text; wanted > 0; wanted--) {
        part = nc_part(part, stop, separators, end);
        if (wanted > 1) part = *end;
    }
    return part;
}

MAYBE_UNUSED static double nc_file_data(const char *path, num column, num row, const char *columns, const char *rows) {
    char cell[64], *rest, *text = NULL;
    size_t size = 0;
    const char *end = NULL, *line_end = NULL;
    FILE *file = fopen(path, "r");
    if (!file) nc_fail(nc.at, "%s: cannot read: %s", path, strerror(errno));
    for (size_t more = 1; more;) {
        text = nc_need(realloc(text, size + 65536));
        size += more = fread(text + size, 1, 65536, file);
    }
    fclose(file);
    const char *line = nc_pick(text, text + size, rows, row, &line_end);
    const char *found = line ? nc_pick(line, line_end, columns, column, &end) : NULL;
    if (!found || (size_t)(end - found) >= sizeof cell)
        nc_fail(nc.at, "%s has no row %" PRId64 ", column %" PRId64, path, row, column);
    memcpy(cell, found, (size_t)(end - found));
    cell[end - found] = '\0';
    double value = strtod(cell, &rest);
    if (rest == cell || rest[strspn(rest, " \t\r\n")])
        nc_fail(nc.at, "%s: row %" PRId64 ", column %" PRId64 " is '%s', no number", path, row, column, cell);
    free(text);
    return value;
}
