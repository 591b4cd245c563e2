/* plugin_kinds.h - a plug-in that the user asked for, and the three kinds of them: built in, shared library, Python
 * class.
 *
 *     SCALATRACE_STATS="1 builtin cpu" 0x1f "3 library /home/me/libmine.so" 0x1f "1 python app.stats:Queue"
 *                       | |       |
 *                       | kind    which
 *                       windows: sum of enum st_plugin_window
 */
#ifndef ST_PLUGIN_KINDS_H
#define ST_PLUGIN_KINDS_H

#include <stdbool.h>

#include "st_core.h"
#include "st_plugin.h"

#define ST_MAX_PLUGINS (ST_MAX_STATS - 4) /* the tracer's own stats: enum st_stat */
#define ST_STAT_NAME 64                   /* bytes of a stat's name, with the terminating zero */
#define ST_STAT_SUFFIX ".call"            /* of the stat inside the call */

struct st_plugin_entry {
    char *spec;                     /* entry of SCALATRACE_STATS, equal on all ranks that were asked for it */
    unsigned windows;               /* of enum st_plugin_window */
    const struct st_plugin *plugin; /* NULL: it cannot be used here, `why` has the reason */
    struct st_plugin own;           /* the interface of a Python class */
    struct object *factory;         /* Python callable that returns an instance of it */
    char name[ST_STAT_NAME];        /* a copy: Python's strings do not outlive the interpreter */
    char why[512];                  /* reason why it cannot be used, or may turn out to be unusable */
    bool python;
    bool agreed;        /* the ranks have agreed about it */
    bool off;           /* it failed while recording */
    int before, inside; /* numbers of its stats, -1: none */
};

/* Load the plug-ins of SCALATRACE_STATS into `plugins`, at most `max`. Return their number; those that could not be
 * loaded count. */
int st_plugins_load(struct st_plugin_entry *plugins, int max);

/* Return a built-in plug-in, and in `*hint` why its open() may fail; NULL: no such plug-in. */
const struct st_plugin *st_builtin_plugin(const char *name, const char **hint);

/* Make `entry->own` serve a class of the program's Python. Return false with the reason in `why`. */
bool st_python_plugin(struct st_plugin_entry *entry, const char *which);

#endif
