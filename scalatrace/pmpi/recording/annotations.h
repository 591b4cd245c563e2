/* annotations.h - events at which a computation kernel begins and ends.
 *
 *     MPI_Pcontrol(1001, "dgemm(m,n,k)", m, n, k);     event Pcontrol level=1001 kernel="dgemm(m,n,k)" size0=m ...
 *     dgemm(...);
 *     MPI_Pcontrol(1002);                              event Pcontrol level=1002, its computation time: the kernel's
 *
 * Other levels switch events on and off, and are no events. Python programs call scalatrace_kernel (lifecycle.c).
 */
#ifndef ST_ANNOTATIONS_H
#define ST_ANNOTATIONS_H

#include <stdarg.h>
#include <stdint.h>

enum { ST_KERNEL_BEGINS = 1001, ST_KERNEL_ENDS = 1002, ST_MAX_SIZES = 4 };

/* Record an event. `caller`, `frame`: of the exported function. */
void st_annotate(int level, const char *kernel, const int64_t *sizes, int nsizes, void *caller, void *frame);

/* Likewise for a kernel that begins. The text names its sizes: as many ints follow in the list as it has names. Sizes
 * that a kernel does not have are 0. */
void st_annotate_list(const char *kernel, va_list sizes, void *caller, void *frame);

#endif
