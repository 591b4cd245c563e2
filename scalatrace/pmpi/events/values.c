/* values.c - convert parameter values. */
#include "events/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fortran.h"
#include "base/state.h"

/* An MPI constant and its name. */
struct named_op {
    MPI_Op op;
    const char *name;
};
struct named_flag {
    int value;
    const char *name;
};

static int64_t *scratch; /* for the conversion of arrays; under the lock */
static int64_t scratch_size;

/* The scratch array, with room for n values; NULL: out of memory. */
static int64_t *scratch_room(int64_t n) {
    if (n > scratch_size) {
        int64_t *bigger = realloc(scratch, (size_t)(2 * n) * sizeof *bigger);
        if (!bigger) return NULL;
        scratch = bigger;
        scratch_size = 2 * n;
    }
    return scratch;
}

static __thread bool as_any_source;

/* For replay/: the next calls of this thread stand for calls with MPI_ANY_SOURCE. */
ST_EXPORT void scalatrace_as_any_source(int on) { as_any_source = on; }
int st_requested_source(int source) { return as_any_source ? MPI_ANY_SOURCE : source; }

uint64_t st_text(const char *text) { return st_string(st_shared.core, text, strlen(text)); }
uint64_t st_no_array(void) { return st_array(st_shared.core, NULL, 0); }

/* Handles of predefined operations are no constants in Open MPI: the table is filled at run time. */
static const char *op_text(MPI_Op op) {
    const struct named_op ops[] = {
        {MPI_SUM, "MPI_SUM"},     {MPI_MAX, "MPI_MAX"},         {MPI_MIN, "MPI_MIN"},        {MPI_PROD, "MPI_PROD"},
        {MPI_LAND, "MPI_LAND"},   {MPI_BAND, "MPI_BAND"},       {MPI_LOR, "MPI_LOR"},        {MPI_BOR, "MPI_BOR"},
        {MPI_LXOR, "MPI_LXOR"},   {MPI_BXOR, "MPI_BXOR"},       {MPI_MINLOC, "MPI_MINLOC"},  {MPI_MAXLOC, "MPI_MAXLOC"},
        {MPI_NO_OP, "MPI_NO_OP"}, {MPI_REPLACE, "MPI_REPLACE"}, {MPI_OP_NULL, "MPI_OP_NULL"}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].op == op) return ops[i].name;
    return "user";
}

/* Consecutive calls often use the same operation. */
uint64_t st_op_name(MPI_Op op) {
    static MPI_Op last;
    static uint64_t name;
    if (name && last == op) return name;
    last = op;
    return name = st_text(op_text(op));
}

/* Name of one value; an unknown one as a number. */
static uint64_t flag_name(const struct named_flag *flags, size_t n, int value) {
    char text[32];
    for (size_t i = 0; i < n; i++)
        if (flags[i].value == value) return st_text(flags[i].name);
    snprintf(text, sizeof text, "%d", value);
    return st_text(text);
}

#define CLASS(name) {MPI_ERR_##name, "MPI_ERR_" #name}

uint64_t st_error_name(int error) {
    /* clang-format off */
    static const struct named_flag classes[] = {
        CLASS(BUFFER), CLASS(COUNT), CLASS(TYPE), CLASS(TAG), CLASS(COMM), CLASS(RANK), CLASS(REQUEST), CLASS(ROOT),
        CLASS(GROUP), CLASS(OP), CLASS(TOPOLOGY), CLASS(DIMS), CLASS(ARG), CLASS(UNKNOWN), CLASS(TRUNCATE),
        CLASS(OTHER), CLASS(INTERN), CLASS(IN_STATUS), CLASS(PENDING), CLASS(KEYVAL), CLASS(NO_MEM), CLASS(BASE),
        CLASS(INFO_KEY), CLASS(INFO_VALUE), CLASS(INFO_NOKEY), CLASS(SPAWN), CLASS(PORT), CLASS(SERVICE), CLASS(NAME),
        CLASS(WIN), CLASS(SIZE), CLASS(DISP), CLASS(INFO), CLASS(LOCKTYPE), CLASS(ASSERT), CLASS(RMA_CONFLICT),
        CLASS(RMA_SYNC), CLASS(RMA_RANGE), CLASS(RMA_ATTACH), CLASS(RMA_SHARED), CLASS(RMA_FLAVOR), CLASS(FILE),
        CLASS(NOT_SAME), CLASS(AMODE), CLASS(UNSUPPORTED_DATAREP), CLASS(UNSUPPORTED_OPERATION), CLASS(NO_SUCH_FILE),
        CLASS(FILE_EXISTS), CLASS(BAD_FILE), CLASS(ACCESS), CLASS(NO_SPACE), CLASS(QUOTA), CLASS(READ_ONLY),
        CLASS(FILE_IN_USE), CLASS(DUP_DATAREP), CLASS(CONVERSION), CLASS(IO)};
    /* clang-format on */
    int class = error;
    PMPI_Error_class(error, &class);
    return flag_name(classes, sizeof classes / sizeof *classes, class);
}

/* Names of all bits that are set. */
static uint64_t bits_name(const struct named_flag *flags, size_t n, int value) {
    char text[512] = "";
    for (size_t i = 0; i < n; i++)
        if (value & flags[i].value) {
            if (*text) strcat(text, "|");
            strcat(text, flags[i].name);
        }
    return st_text(*text ? text : "0");
}

#define FLAG(name) {name, #name}
#define NAME(function, flags, value) function(flags, sizeof flags / sizeof *flags, value)

uint64_t st_lock_name(int lock) {
    const struct named_flag flags[] = {FLAG(MPI_LOCK_SHARED), FLAG(MPI_LOCK_EXCLUSIVE)};
    return NAME(flag_name, flags, lock);
}

uint64_t st_whence_name(int whence) {
    const struct named_flag flags[] = {FLAG(MPI_SEEK_SET), FLAG(MPI_SEEK_CUR), FLAG(MPI_SEEK_END)};
    return NAME(flag_name, flags, whence);
}

uint64_t st_amode_name(int amode) {
    const struct named_flag flags[] = {
        FLAG(MPI_MODE_RDONLY),      FLAG(MPI_MODE_RDWR),       FLAG(MPI_MODE_WRONLY),
        FLAG(MPI_MODE_CREATE),      FLAG(MPI_MODE_EXCL),       FLAG(MPI_MODE_DELETE_ON_CLOSE),
        FLAG(MPI_MODE_UNIQUE_OPEN), FLAG(MPI_MODE_SEQUENTIAL), FLAG(MPI_MODE_APPEND)};
    return NAME(bits_name, flags, amode);
}

uint64_t st_assert_name(int assertion) {
    const struct named_flag flags[] = {FLAG(MPI_MODE_NOCHECK), FLAG(MPI_MODE_NOSTORE), FLAG(MPI_MODE_NOPUT),
                                       FLAG(MPI_MODE_NOPRECEDE), FLAG(MPI_MODE_NOSUCCEED)};
    return NAME(bits_name, flags, assertion);
}

uint64_t st_split_name(int split) {
    const struct named_flag flags[] = {FLAG(MPI_COMM_TYPE_SHARED)};
    return split == MPI_UNDEFINED ? st_text("MPI_UNDEFINED") : NAME(flag_name, flags, split);
}

/* Define a function that names an array of values of one type. */
#define ARRAY_OF(function, type, convert)                                                                              \
    uint64_t function(const type *values, int64_t n) {                                                                 \
        int64_t *wide = n > 0 && values ? scratch_room(n) : NULL;                                                      \
        if (!wide) return st_no_array();                                                                               \
        for (int64_t i = 0; i < n; i++) wide[i] = convert;                                                             \
        return st_array(st_shared.core, wide, (size_t)n);                                                              \
    }

ARRAY_OF(st_ints, int, values[i])
ARRAY_OF(st_ranks, int, st_rank(values[i]))
ARRAY_OF(st_aints, MPI_Aint, (int64_t)values[i])
ARRAY_OF(st_counts_array, MPI_Count, (int64_t)values[i])

uint64_t st_weights(const int *weights, int64_t n) {
    if (weights == MPI_UNWEIGHTED || st_fortran_is(weights, ST_F_UNWEIGHTED)) return st_no_array();
    const MPI_Aint none = ST_UNDEFINED;
    return n > 0 && weights != MPI_WEIGHTS_EMPTY ? st_ints(weights, n) : st_aints(&none, 1);
}

int64_t st_sum(const int *values, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += values[i];
    return sum;
}

int64_t st_sum_counts(const MPI_Count *values, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (int64_t)values[i];
    return sum;
}

uint64_t st_group(struct st_call *call, MPI_Group group) {
    int n = 0;
    if (group == MPI_GROUP_NULL) return st_no_array();
    PMPI_Group_size(group, &n);
    int *ranks = malloc(2 * ((size_t)n + 1) * sizeof *ranks); /* of the group, then of the base group */
    if (!ranks) return st_no_array();
    for (int i = 0; i < n; i++) ranks[i] = i;
    PMPI_Group_translate_ranks(group, n, ranks, call->base_group, ranks + n);
    uint64_t name = st_ranks(ranks + n, n);
    free(ranks);
    return name;
}
