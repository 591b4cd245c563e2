//: log_2 |
/* The exponent of a power of two, rounded down; -1 of what is below 1. */
static long log_2(long n) {
    long k = -1;
    for (; n > 0; n >>= 1) k++;
    return k;
}

//: shift_left |
/* a times a power of two; amounts are limited to 0 ... 62. */
static long shift_left(long a, long by) {
    for (long k = by > 62 ? 62 : by; k > 0; k--) a += a;
    return a;
}

//: shift_right |
/* a divided by a power of two, rounded down; amounts are limited to 0 ... 62. */
static long shift_right(long a, long by) { return a >> (by < 0 ? 0 : by > 62 ? 62 : by); }

//: ceil_log2 | log_2
/* The exponent of a power of two, rounded up; -1 below 1. */
static long ceil_log2(long n) { return n < 1 ? -1 : n == 1 ? 0 : log_2(n - 1) + 1; }

//: trailing_zeros |
/* The exponent of the largest power of two that divides n; 64 for 0. */
static long trailing_zeros(long n) {
    unsigned long bits = (unsigned long)n;
    long k = 0;
    for (; k < 64 && !(bits & 1); bits >>= 1) k++;
    return k;
}

//: popcount |
/* The number of one bits. */
static long popcount(long n) {
    long k = 0;
    for (unsigned long bits = (unsigned long)n; bits; bits &= bits - 1) k++;
    return k;
}

//: block | floored mod
/* The size of part k of n elements: the first n % parts parts have one element more. */
static long block(long n, long parts, long k) { return floored(n, parts) + (mod(k, parts) < mod(n, parts)); }

//: block_start | floored mod smaller
/* The first element of part k of n elements. */
static long block_start(long n, long parts, long k) { return k * floored(n, parts) + smaller(k, mod(n, parts)); }

//: diagonal | block
/* The points of a diagonal of cells. */
static long diagonal(long n, long parts, long shift, long sign) {
    long sum = 0;
    for (long c = 0; c < parts; c++) sum += block(n, parts, c) * block(n, parts, shift + sign * c);
    return sum;
}

//: smaller |
static long smaller(long a, long b) { return a < b ? a : b; }

//: larger |
static long larger(long a, long b) { return a > b ? a : b; }

//: floored |
/* The quotient, rounded down also where it is negative. */
static long floored(long a, long b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

//: lg |
/* The logarithm to the base of 2, without a library. */
static double lg(double p) {
    double whole = 0, bit = 1;
    for (; p >= 2; p /= 2) whole++;
    for (int i = 0; i < 40; i++) {
        p *= p, bit /= 2;
        if (p >= 2) p /= 2, whole += bit;
    }
    return whole;
}

//: raised | lg
/* p to the power of e. */
static double raised(double p, double e) {
    double x = e * lg(p) * 0.69314718055994531, sum = 1, term = 1;
    int halved = 0;
    for (; x > 0.5 || x < -0.5; x /= 2) halved++;
    for (int i = 1; i < 16; i++) sum += term *= x / i;
    while (halved--) sum *= sum;
    return sum;
}

//: arrange | base
/* The sides as close to each other as can be, the largest first. */
static void balance(long ranks, int n, long *sides) {
    long best[4] = {0}, some[4];
    if (n == 1) {
        sides[0] = ranks;
        return;
    }
    for (long d = 1; d <= ranks; d++) {
        if (ranks % d) continue;
        some[0] = d;
        balance(ranks / d, n - 1, some + 1);
        long low = d, high = d;
        for (int i = 1; i < n; i++) {
            low = some[i] < low ? some[i] : low;
            high = some[i] > high ? some[i] : high;
        }
        if (!best[0] || high - low < best[3]) memcpy(best, some, (size_t)n * sizeof *best), best[3] = high - low;
    }
    for (int i = 0; i < n; i++) {
        int at = 0;
        for (int j = 0; j < n; j++) at += best[j] > best[i] || (best[j] == best[i] && j < i);
        sides[at] = best[i];
    }
}

/* The sides that the application's grids have for so many ranks; 0 where there is no rule. */
static void by_rule(long ranks) {
    long sides[4] = {0}, side = 0, product = 0;
    if (!strcmp(RULE, "square")) {
        for (; product < ranks; side++) {
            product = 1;
            for (int i = 0; i < SIDES; i++) product *= side + 1;
        }
        for (int i = 0; i < SIDES; i++) sides[i] = side;
    } else if (*RULE)
        balance(ranks, SIDES, sides);
    for (int i = 0; i < SIDES; i++) *options[i].value = sides[strcmp(RULE, "rising") ? i : SIDES - 1 - i];
}

/* Reads --x 8 and --x=8; what is wrong with an argument, or NULL. */
static const char *read_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        struct option *found = NULL;
        for (int o = 0; o < OPTIONS; o++)
            if (strlen(options[o].name) == length && !strncmp(options[o].name, argv[i], length)) found = &options[o];
        if (!found && (!strcmp(argv[i], "--profile") || !strcmp(argv[i], "--sleep"))) continue;
        if (!found) return "no such option";
        const char *text = argv[i][length] ? argv[i] + length + 1 : i + 1 < argc ? argv[++i] : "";
        char *end;
        *found->value = strtol(text, &end, 10);
        if (end == text || *end) return "an option wants an integer";
        found->given = 1;
    }
    return NULL;
}

/* The sides that are not given: by rule, or what the others leave. */
static const char *complete(void) {
    int missing = 0, last = 0;
    long product = 1;
    for (int i = 0; i < SIDES; i++) {
        if (options[i].given)
            product *= *options[i].value;
        else
            missing++, last = i;
    }
    if (missing == SIDES)
        by_rule(P);
    else if (missing == 1)
        *options[last].value = product > 0 && P % product == 0 ? P / product : 0;
    else if (missing)
        return "give all sides of the grid, or none";
    for (int i = SIDES; i < OPTIONS; i++)
        if (!options[i].given) return "a parameter is missing";
    if (missing == SIDES && !*RULE) return "the application's grids follow no rule: give the sides";
    return NULL;
}

/* Finds this process's place in the grid. Whether all is well; if not, rank 0 says what is wrong. */
static int arrange(int argc, char **argv, int ranks) {
    int mine = rank;
    P = ranks;
    const char *wrong = read_options(argc, argv);
    if (!wrong) wrong = complete();
    if (!wrong) wrong = refusal();
    rank = mine;
    if (!wrong) stand(rank);
    if (wrong && rank == 0) {
        fprintf(stderr, "%s\n%d ranks;", wrong, ranks);
        for (int i = 0; i < OPTIONS; i++) fprintf(stderr, " %s %ld", options[i].name, *options[i].value);
        fprintf(stderr, "\n");
    }
    return !wrong;
}
