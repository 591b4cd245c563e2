/* plugins_load.c - parse SCALATRACE_STATS, load the plug-ins and check them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/state.h"
#include "plugins/plugin_kinds.h"

/* The plug-in cannot be used; note the reason. */
static void refuse(struct st_plugin_entry *entry, const char *why) {
    entry->plugin = NULL;
    snprintf(entry->why, sizeof entry->why, "%s", why ? why : "no reason given");
}

static void load_library(struct st_plugin_entry *entry, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    entry->plugin = library ? dlsym(library, "st_plugin") : NULL;
    if (!entry->plugin) refuse(entry, dlerror());
}

/* Load a plug-in of any kind. A built-in one or a library may still fail in open(), for which the hint is noted. */
static void load(struct st_plugin_entry *entry, const char *kind, const char *which) {
    const char *hint = "its open() failed";
    if (!strcmp(kind, "builtin"))
        entry->plugin = st_builtin_plugin(which, &hint);
    else if (!strcmp(kind, "library"))
        load_library(entry, which);
    else if (!strcmp(kind, "python") && (entry->python = true) && st_python_plugin(entry, which))
        entry->plugin = &entry->own;
    if (entry->plugin && !entry->python) snprintf(entry->why, sizeof entry->why, "%s", hint); /* in case open() fails */
    if (!entry->plugin && !*entry->why) refuse(entry, "there is no such plug-in");
}

/* Check the last plug-in's description of itself; its name must differ from those of the stats before. */
static void check(struct st_plugin_entry *plugins, int n) {
    static const char *const own_names[] = {"compute_ns", "comm_ns", "source", "polls"};
    struct st_plugin_entry *entry = &plugins[n];
    const struct st_plugin *plugin = entry->plugin;
    if (!plugin) return;
    if (plugin->version != ST_PLUGIN_VERSION) {
        refuse(entry, "it is made for another version of st_plugin.h; compile it again");
        return;
    }
    if (!plugin->end || !plugin->name || !*plugin->name ||
        strlen(plugin->name) >= ST_STAT_NAME - sizeof ST_STAT_SUFFIX ||
        !(plugin->resolution > 0 && plugin->resolution <= ST_MAX_RESOLUTION)) {
        refuse(entry, "it lacks a name (of at most 55 characters), a resolution above 0 and up to 1e30, or end()");
        return;
    }
    for (int i = 0; i < 4; i++)
        if (!strcmp(plugin->name, own_names[i])) refuse(entry, "its name is that of a stat of the tracer's own");
    for (int i = 0; i < n; i++)
        if (plugins[i].plugin && !strcmp(plugin->name, plugins[i].name)) refuse(entry, "another plug-in has its name");
    if (entry->plugin) strcpy(entry->name, plugin->name);
}

int st_plugins_load(struct st_plugin_entry *plugins, int max) {
    const char *value = getenv("SCALATRACE_STATS");
    char *all = value ? strdup(value) : NULL, *state = NULL;
    int n = 0;
    for (char *text = all ? strtok_r(all, "\x1f", &state) : NULL; text; text = strtok_r(NULL, "\x1f", &state)) {
        char kind[16];
        int used = 0;
        struct st_plugin_entry *entry = &plugins[n];
        if (n == max) {
            st_warn_once("more than %d plug-ins; the others are not used", max);
            break;
        }
        if (sscanf(text, "%u %15s %n", &entry->windows, kind, &used) < 2 || !used) continue;
        entry->windows &= ST_BEFORE_CALL | ST_IN_CALL;
        entry->spec = strdup(text);
        if (!entry->spec) break;
        const char *which = text + used, *slash = strrchr(which, '/');
        snprintf(entry->name, sizeof entry->name, "%s", slash ? slash + 1 : which);
        load(entry, kind, which);
        check(plugins, n++);
    }
    free(all);
    return n;
}
