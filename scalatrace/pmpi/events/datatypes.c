/* datatypes.c - describe datatypes. */
#include "events/datatypes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fortran.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/state.h"

/* A zero-terminated string that grows. */
struct text {
    char *bytes;
    size_t length, capacity;
    int depth;   /* constructors around the datatype that is described next */
    bool failed; /* out of memory: the text is incomplete */
};

/* Levels of a description (scalatrace/trace/model/typetree.py has the same number); the last one is opaque. */
enum { MAX_TYPE_DEPTH = 64 };

static struct st_map types; /* handle -> name in the core */
/* The datatype of the call before: consecutive calls often use the same one. */
static struct {
    MPI_Datatype handle;
    uint64_t name;
    bool valid;
} last;

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append formatted text. */
static void put(struct text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int more = vsnprintf(NULL, 0, format, arguments);
    if (text->length + (size_t)more + 1 > text->capacity) {
        size_t capacity = 2 * (text->length + (size_t)more + 64);
        char *bytes = realloc(text->bytes, capacity);
        if (bytes)
            text->bytes = bytes, text->capacity = capacity;
        else
            text->failed = true;
    }
    if (!text->failed) text->length += (size_t)vsnprintf(text->bytes + text->length, (size_t)more + 1, format, again);
    va_end(again);
    va_end(arguments);
}

static void describe(struct text *text, MPI_Datatype type);
static void free_parts(MPI_Datatype *parts, int n);

/* Size and extent in bytes. */
static void extent_of(MPI_Datatype type, int64_t *size, int64_t *extent) {
    MPI_Count size_x = 0, lower = 0, extent_x = 0;
    PMPI_Type_size_x(type, &size_x);
    PMPI_Type_get_extent_x(type, &lower, &extent_x);
    *size = (int64_t)size_x;
    *extent = (int64_t)extent_x;
}

static void put_opaque(struct text *text, MPI_Datatype type) {
    int64_t size, extent;
    extent_of(type, &size, &extent);
    put(text, "opaque(%lld,%lld)", (long long)size, (long long)extent);
}

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* Predefined datatypes have names that begin with MPI_; others without a constructor (user names) are opaque. */
static void put_name(struct text *text, MPI_Datatype type) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    if (length > 0 && !strncmp(name, "MPI_", 4) && name[strspn(name, NAME_CHARACTERS)] == '\0')
        put(text, "%s", name);
    else
        put_opaque(text, type);
}

static void put_ints(struct text *text, const int *values, int n) {
    put(text, "[");
    for (int i = 0; i < n; i++) put(text, i ? ",%d" : "%d", values[i]);
    put(text, "],");
}

static void put_aints(struct text *text, const MPI_Aint *values, int n) {
    put(text, "[");
    for (int i = 0; i < n; i++) put(text, i ? ",%lld" : "%lld", (long long)values[i]);
    put(text, "],");
}

/* Types of MPI_Type_create_f90_*: found by precision and range, which may be MPI_UNDEFINED. Like predefined ones they
 * are never committed or freed. */
static bool is_f90(int combiner) {
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

/* f90_real(15,307,8), f90_complex(6,UNDEFINED,8), f90_integer(9,4); the last number is the size in bytes. */
static void put_f90(struct text *text, MPI_Datatype type, int combiner, const int *i, int n) {
    int64_t size, extent;
    extent_of(type, &size, &extent);
    put(text, combiner == MPI_COMBINER_F90_REAL      ? "f90_real("
              : combiner == MPI_COMBINER_F90_COMPLEX ? "f90_complex("
                                                     : "f90_integer(");
    for (int k = 0; k < n; k++) {
        if (i[k] == MPI_UNDEFINED)
            put(text, "UNDEFINED,");
        else
            put(text, "%d,", i[k]);
    }
    put(text, "%lld)", (long long)size);
}

static const char *order_name(int order) { return order == MPI_ORDER_FORTRAN ? "Fortran" : "C"; }

/* Write the datatypes of a structure, and the end of its text. */
static void put_types(struct text *text, const MPI_Datatype *types, int64_t n) {
    put(text, "[");
    for (int64_t k = 0; k < n; k++) {
        if (k) put(text, ",");
        describe(text, types[k]);
    }
    put(text, "])");
}

/* Write the constructor of a datatype. i, a, t: integers, addresses and datatypes of MPI_Type_get_contents; the MPI
 * standard defines their order for each combiner. */
static void put_contents(struct text *text, MPI_Datatype type, int combiner, const int *i, const MPI_Aint *a,
                         const MPI_Datatype *t) {
    if (combiner == MPI_COMBINER_CONTIGUOUS) {
        put(text, "contiguous(%d,", i[0]);
    } else if (combiner == MPI_COMBINER_VECTOR) {
        put(text, "vector(%d,%d,%d,", i[0], i[1], i[2]);
    } else if (combiner == MPI_COMBINER_HVECTOR) {
        put(text, "hvector(%d,%d,%lld,", i[0], i[1], (long long)a[0]);
    } else if (combiner == MPI_COMBINER_INDEXED) {
        put(text, "indexed(");
        put_ints(text, i + 1, i[0]);
        put_ints(text, i + 1 + i[0], i[0]);
    } else if (combiner == MPI_COMBINER_HINDEXED) {
        put(text, "hindexed(");
        put_ints(text, i + 1, i[0]);
        put_aints(text, a, i[0]);
    } else if (combiner == MPI_COMBINER_INDEXED_BLOCK) {
        put(text, "indexed_block(%d,", i[1]);
        put_ints(text, i + 2, i[0]);
    } else if (combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        put(text, "hindexed_block(%d,", i[1]);
        put_aints(text, a, i[0]);
    } else if (combiner == MPI_COMBINER_STRUCT) {
        put(text, "struct(");
        put_ints(text, i + 1, i[0]);
        put_aints(text, a, i[0]);
        put_types(text, t, i[0]);
        return;
    } else if (combiner == MPI_COMBINER_SUBARRAY) {
        int n = i[0];
        put(text, "subarray(");
        put_ints(text, i + 1, n);
        put_ints(text, i + 1 + n, n);
        put_ints(text, i + 1 + 2 * n, n);
        put(text, "%s,", order_name(i[1 + 3 * n]));
    } else if (combiner == MPI_COMBINER_DARRAY) {
        int n = i[2];
        put(text, "darray(%d,%d,", i[0], i[1]);
        for (int k = 0; k < 4; k++) put_ints(text, i + 3 + k * n, n);
        put(text, "%s,", order_name(i[3 + 4 * n]));
    } else if (combiner == MPI_COMBINER_RESIZED) {
        put(text, "resized(%lld,%lld,", (long long)a[0], (long long)a[1]);
    } else if (combiner == MPI_COMBINER_DUP) {
        put(text, "dup(");
    } else {
        put_opaque(text, type);
        return;
    }
    describe(text, t[0]);
    put(text, ")");
}

#if MPI_VERSION >= 4
static void put_counts(struct text *text, const MPI_Count *values, int64_t n) {
    put(text, "[");
    for (int64_t i = 0; i < n; i++) put(text, i ? ",%lld" : "%lld", (long long)values[i]);
    put(text, "],");
}

/* The same for a type constructed with large counts: `c` has the counts and displacements, `i` the other integers. */
static void put_large(struct text *text, MPI_Datatype type, int combiner, const int *i, const MPI_Count *c,
                      const MPI_Datatype *t) {
    if (combiner == MPI_COMBINER_CONTIGUOUS) {
        put(text, "contiguous(%lld,", (long long)c[0]);
    } else if (combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR) {
        put(text, combiner == MPI_COMBINER_VECTOR ? "vector(%lld,%lld,%lld," : "hvector(%lld,%lld,%lld,",
            (long long)c[0], (long long)c[1], (long long)c[2]);
    } else if (combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED) {
        put(text, combiner == MPI_COMBINER_INDEXED ? "indexed(" : "hindexed(");
        put_counts(text, c + 1, c[0]);
        put_counts(text, c + 1 + c[0], c[0]);
    } else if (combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        put(text, combiner == MPI_COMBINER_INDEXED_BLOCK ? "indexed_block(%lld," : "hindexed_block(%lld,",
            (long long)c[1]);
        put_counts(text, c + 2, c[0]);
    } else if (combiner == MPI_COMBINER_STRUCT) {
        put(text, "struct(");
        put_counts(text, c + 1, c[0]);
        put_counts(text, c + 1 + c[0], c[0]);
        put_types(text, t, c[0]);
        return;
    } else if (combiner == MPI_COMBINER_SUBARRAY) {
        for (int k = 0; k < 3; k++) {
            if (k == 0) put(text, "subarray(");
            put_counts(text, c + k * i[0], i[0]);
        }
        put(text, "%s,", order_name(i[1]));
    } else if (combiner == MPI_COMBINER_DARRAY) {
        int n = i[2];
        put(text, "darray(%d,%d,", i[0], i[1]);
        put_counts(text, c, n);
        for (int k = 0; k < 3; k++) put_ints(text, i + 3 + k * n, n);
        put(text, "%s,", order_name(i[3 + 3 * n]));
    } else if (combiner == MPI_COMBINER_RESIZED) {
        put(text, "resized(%lld,%lld,", (long long)c[0], (long long)c[1]);
    } else {
        put_opaque(text, type);
        return;
    }
    describe(text, t[0]);
    put(text, ")");
}

/* Describe a type constructed with large counts, for which MPI_Type_get_envelope is an error. Return false, and write
 * nothing, for any other type. */
static bool describe_large(struct text *text, MPI_Datatype type) {
    MPI_Count ni = 0, na = 0, nc = 0, nt = 0;
    int combiner = MPI_COMBINER_NAMED;
    if (PMPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &combiner) != MPI_SUCCESS || nc == 0) return false;
    int *ints = calloc((size_t)ni + 1, sizeof *ints);
    MPI_Aint *addresses = calloc((size_t)na + 1, sizeof *addresses);
    MPI_Count *counts = calloc((size_t)nc + 1, sizeof *counts);
    MPI_Datatype *parts = calloc((size_t)nt + 1, sizeof *parts);
    if (ints && addresses && counts && parts &&
        PMPI_Type_get_contents_c(type, ni, na, nc, nt, ints, addresses, counts, parts) == MPI_SUCCESS) {
        put_large(text, type, combiner, ints, counts, parts);
        free_parts(parts, (int)nt);
    } else {
        put_opaque(text, type);
    }
    free(ints), free(addresses), free(counts), free(parts);
    return true;
}

static int combiner_of(MPI_Datatype type) {
    MPI_Count ni, na, nc, nt;
    int combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &combiner);
    return combiner;
}
#else
static bool describe_large(struct text *text, MPI_Datatype type) {
    (void)text, (void)type;
    return false;
}

static int combiner_of(MPI_Datatype type) {
    int ni, na, nt, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
    return combiner;
}
#endif

/* Free what MPI_Type_get_contents returned; predefined types must not be freed. */
static void free_parts(MPI_Datatype *parts, int n) {
    for (int k = 0; k < n; k++) {
        int combiner = combiner_of(parts[k]);
        if (combiner != MPI_COMBINER_NAMED && !is_f90(combiner)) PMPI_Type_free(&parts[k]);
    }
}

/* Write the constructor of a datatype and what it is made of, or its name. */
static void describe_parts(struct text *text, MPI_Datatype type) {
    if (describe_large(text, type)) return;
    int ni = 0, na = 0, nt = 0, combiner = MPI_COMBINER_NAMED;
    if (PMPI_Type_get_envelope(type, &ni, &na, &nt, &combiner) != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) {
        put_name(text, type);
        return;
    }
    int *ints = calloc((size_t)ni + 1, sizeof *ints);
    MPI_Aint *addresses = calloc((size_t)na + 1, sizeof *addresses);
    MPI_Datatype *parts = calloc((size_t)nt + 1, sizeof *parts);
    if (ints && addresses && parts && PMPI_Type_get_contents(type, ni, na, nt, ints, addresses, parts) == MPI_SUCCESS) {
        if (is_f90(combiner))
            put_f90(text, type, combiner, ints, ni);
        else
            put_contents(text, type, combiner, ints, addresses, parts);
        free_parts(parts, nt);
    } else {
        put_opaque(text, type);
    }
    free(ints), free(addresses), free(parts);
}

/* Write the description of a datatype, recursively. */
static void describe(struct text *text, MPI_Datatype type) {
    if (text->depth == MAX_TYPE_DEPTH - 1 && combiner_of(type) != MPI_COMBINER_NAMED) {
        put_opaque(text, type);
        return;
    }
    text->depth++;
    describe_parts(text, type);
    text->depth--;
}

/* Describe a datatype and define it in the core. */
static uint64_t define(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return st_define_type(st_shared.core, "MPI_DATATYPE_NULL", 0, 0);
    struct text text = {0};
    int64_t size = 0, extent = 0;
    describe(&text, type);
    extent_of(type, &size, &extent);
    uint64_t name =
        st_define_type(st_shared.core, text.failed || !text.bytes ? "opaque(0,0)" : text.bytes, size, extent);
    free(text.bytes);
    return name;
}

uint64_t st_type(MPI_Datatype type) {
    if (last.valid && last.handle == type) return last.name;
    uint64_t *known = st_map_find(&types, ST_KEY(type)), name = known ? *known : define(type);
    if (!known) st_map_put(&types, ST_KEY(type), name);
    last.handle = type, last.name = name, last.valid = true;
    return name;
}

/* Its size is the sum of the sizes, its extent the largest one. */
uint64_t st_types(struct st_call *call, const MPI_Datatype *array, int64_t n) {
    struct text text = {.depth = 1};
    int64_t sum = 0, size, extent, widest = 0;
    put(&text, "struct([");
    for (int64_t i = 0; i < n; i++) put(&text, i ? ",1" : "1");
    put(&text, "],[");
    for (int64_t i = 0; i < n; i++) put(&text, i ? ",0" : "0");
    put(&text, "],[");
    for (int64_t i = 0; i < n; i++) {
        MPI_Datatype type = call->fortran ? PMPI_Type_f2c(((const MPI_Fint *)(const void *)array)[i]) : array[i];
        if (i) put(&text, ",");
        if (type == MPI_DATATYPE_NULL) {
            put(&text, "MPI_DATATYPE_NULL");
            continue;
        }
        describe(&text, type);
        extent_of(type, &size, &extent);
        sum += size;
        widest = extent > widest ? extent : widest;
    }
    put(&text, "])");
    uint64_t name = st_define_type(st_shared.core, text.failed ? "opaque(0,0)" : text.bytes, sum, widest);
    free(text.bytes);
    return name;
}

void st_type_forget(MPI_Datatype type) {
    bool before;
    if (!st_hold(&before)) return;
    st_map_drop(&types, ST_KEY(type), NULL);
    last.valid = false;
    st_release(before);
}
