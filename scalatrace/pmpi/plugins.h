/* plugins.h - what the parts of plugins*.c share. */
#ifndef ST_PLUGINS_H
#define ST_PLUGINS_H

#include "shim.h"
#include "st_plugin.h"

#define ST_MAX_PLUGS (ST_MAX_STATS - 4)
#define ST_STAT_NAME 64
#define ST_STAT_SUFFIX ".call" /* of the stat inside the call */

/* A plug-in as the user asked for it, and what became of it. */
struct st_plug {
    char *entry;                    /* "1 builtin cpu": windows, kind, which */
    unsigned windows;               /* of enum st_plugin_window */
    const struct st_plugin *plugin; /* NULL: it cannot be used, `why` says the reason */
    struct st_plugin own;           /* of a Python class */
    struct object *make;            /* what makes an instance of it */
    char name[ST_STAT_NAME];        /* a copy: Python's strings do not outlive the interpreter */
    char why[512];
    bool python;
    bool settled;       /* the ranks have agreed about it */
    bool off;           /* it failed */
    int before, inside; /* numbers of its stats, -1: none */
};

/* plugins_load.c: the plug-ins asked for, loaded or with the reason why not; how many. */
int st_plugins_load(struct st_plug *plugs, int max);

/* plugins_builtin.c */
const struct st_plugin *st_builtin(const char *name, const char **hint); /* NULL: no such */

/* plugins_python.c: make `plug->own` serve a class of the program's Python, or say why not. */
bool st_python_plugin(struct st_plug *plug, const char *which);

#endif
