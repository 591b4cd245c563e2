/* modules.h - the program and the libraries that hold native frames, for the trace's header.
 *
 *     "3b0c5e... /home/u/solver\n- /home/u/lib/libown.so\n"       build ID or "-", path
 *
 * With them, names of call sites are looked up in the same files, and only while these are unchanged.
 */
#ifndef ST_MODULES_H
#define ST_MODULES_H

#include "stacks/loader.h"

/* Remember the module of a frame. The caller excludes other threads. */
void st_module_seen(const struct st_module *module);

/* Set the header's entry "modules" to those seen. The caller holds the lock. */
void st_modules_publish(void);

#endif
