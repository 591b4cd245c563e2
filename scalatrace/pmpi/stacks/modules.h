/* modules.h - the program and the libraries that hold native frames, for the trace's header.
 *
 *     "3b0c5e... /home/u/solver\n- /home/u/lib/libown.so\n"       build ID or "-", path
 *
 * With them, names of call sites are looked up in the same files, and only while these are unchanged.
 */
#ifndef ST_MODULES_H
#define ST_MODULES_H

#include <link.h>

/* Remember the module of a frame. `first_address`: of the module in memory. The caller excludes other threads. */
void st_module_seen(const struct link_map *map, const void *first_address);

/* Set the header's entry "modules" to those seen. The caller holds the lock. */
void st_modules_publish(void);

#endif
