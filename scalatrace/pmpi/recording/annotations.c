/* annotations.c - append the events of annotations. */
#include "recording/annotations.h"

#include <string.h>

#include "events/values.h"
#include "ops.h"
#include "recording/record.h"

void st_annotate(int level, const char *kernel, const int64_t *sizes, int nsizes, void *caller, void *frame) {
    struct st_call call;
    if (!kernel || !st_enter(&call, ST_OP_Pcontrol, false, caller, frame)) return;
    st_leave(&call, MPI_SUCCESS);
    st_begin(&call, ST_OP_Pcontrol);
    if (call.on) {
        call.event.values[0] = level;
        call.event.values[1] = (int64_t)st_text(kernel);
        for (int i = 0; i < ST_MAX_SIZES; i++) call.event.values[2 + i] = i < nsizes ? sizes[i] : 0;
        st_append(&call, 2 + ST_MAX_SIZES);
    }
    st_end(&call);
    st_exit(&call);
}

void st_annotate_list(const char *kernel, va_list sizes, void *caller, void *frame) {
    int64_t values[ST_MAX_SIZES];
    int n = 0;
    const char *name = kernel ? strchr(kernel, '(') : NULL;
    /* One size per name: "dgemm(m,n,k)" has three, "pause()" and "pause" none. */
    for (; name && *name != ')' && name[1] != ')' && n < ST_MAX_SIZES; name = strpbrk(name + 1, ",)"))
        values[n++] = va_arg(sizes, int);
    st_annotate(ST_KERNEL_BEGINS, kernel, values, n, caller, frame);
}
