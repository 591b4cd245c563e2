/* plugins_load.c - the plug-ins that SCALATRACE_STATS asks for: entries "windows kind which", separated by 0x1f. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins.h"

static void refuse(struct st_plug *plug, const char *why) {
    plug->plugin = NULL;
    snprintf(plug->why, sizeof plug->why, "%s", why ? why : "no reason given");
}

static void load_library(struct st_plug *plug, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    plug->plugin = library ? dlsym(library, "st_plugin") : NULL;
    if (!plug->plugin) refuse(plug, dlerror());
}

static void load(struct st_plug *plug, const char *kind, const char *which) {
    const char *hint = "its open() failed";
    if (!strcmp(kind, "builtin"))
        plug->plugin = st_builtin(which, &hint);
    else if (!strcmp(kind, "library"))
        load_library(plug, which);
    else if (!strcmp(kind, "python") && (plug->python = true) && st_python_plugin(plug, which))
        plug->plugin = &plug->own;
    if (plug->plugin && !plug->python) snprintf(plug->why, sizeof plug->why, "%s", hint); /* if it comes to that */
    if (!plug->plugin && !*plug->why) refuse(plug, "there is no such plug-in");
}

/* What a plug-in says of itself must be usable, and its stats must not be those of another one. */
static void check(struct st_plug *plugs, int n) {
    static const char *const taken[] = {"compute_ns", "comm_ns", "source", "polls"};
    struct st_plug *plug = &plugs[n];
    const struct st_plugin *is = plug->plugin;
    if (!is) return;
    if (is->version != ST_PLUGIN_VERSION) {
        refuse(plug, "it is made for another version of st_plugin.h; compile it again");
        return;
    }
    if (!is->end || !is->name || !*is->name || strlen(is->name) >= ST_STAT_NAME - sizeof ST_STAT_SUFFIX ||
        !(is->resolution > 0)) {
        refuse(plug, "it lacks a name (of at most 55 characters), a resolution above 0 or end()");
        return;
    }
    for (int i = 0; i < 4; i++)
        if (!strcmp(is->name, taken[i])) refuse(plug, "its name is that of a stat of the tracer's own");
    for (int i = 0; i < n; i++)
        if (plugs[i].plugin && !strcmp(is->name, plugs[i].name)) refuse(plug, "another plug-in has its name");
    if (plug->plugin) strcpy(plug->name, is->name);
}

int st_plugins_load(struct st_plug *plugs, int max) {
    const char *value = getenv("SCALATRACE_STATS");
    char *all = value ? strdup(value) : NULL, *state = NULL;
    int n = 0;
    for (char *entry = all ? strtok_r(all, "\x1f", &state) : NULL; entry; entry = strtok_r(NULL, "\x1f", &state)) {
        char kind[16];
        int used = 0;
        struct st_plug *plug = &plugs[n];
        if (n == max) {
            st_complain("more than %d plug-ins; the others are not used", max);
            break;
        }
        if (sscanf(entry, "%u %15s %n", &plug->windows, kind, &used) < 2 || !used) continue;
        plug->windows &= ST_BEFORE_CALL | ST_IN_CALL;
        plug->entry = strdup(entry);
        if (!plug->entry) break;
        const char *which = entry + used, *slash = strrchr(which, '/');
        snprintf(plug->name, sizeof plug->name, "%s", slash ? slash + 1 : which);
        load(plug, kind, which);
        check(plugs, n++);
    }
    free(all);
    return n;
}
