/* modules.c - the modules of native frames, described in modules.h. */
#define _GNU_SOURCE
#include "stacks/modules.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/state.h"

#define MAX_MODULES 256 /* more are not remembered */
#define MAX_ID 64       /* bytes of a build ID */

static const void *seen[MAX_MODULES]; /* first addresses */
static char *lines[MAX_MODULES];
static int nmodules;

/* A search for the build ID of the module at an address. */
struct search {
    const void *address;
    char text[2 * MAX_ID + 1];
};

/* Write the build ID among the notes at `note` as hexadecimal digits. */
static void read_notes(struct search *search, const char *note, size_t size, size_t align) {
    const char *end = note + size;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
        const char *name = note + sizeof *head;
        const char *id = name + ((head->n_namesz + align - 1) & ~(align - 1));
        if (id > end || head->n_descsz > (size_t)(end - id)) return;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            for (size_t i = 0; i < head->n_descsz && i < MAX_ID; i++)
                snprintf(search->text + 2 * i, 3, "%02x", (unsigned char)id[i]);
            return;
        }
        note = id + ((head->n_descsz + align - 1) & ~(align - 1));
    }
}

/* Called by the dynamic linker for each module. Return 1 at the wanted one. */
static int look(struct dl_phdr_info *info, size_t size, void *argument) {
    struct search *search = argument;
    bool here = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !here; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, at = (uintptr_t)search->address;
        here = part->p_type == PT_LOAD && start <= at && at - start < part->p_memsz;
    }
    for (int i = 0; here && i < info->dlpi_phnum && !*search->text; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            read_notes(search, (const char *)(info->dlpi_addr + part->p_vaddr), part->p_memsz,
                       part->p_align == 8 ? 8 : 4);
    }
    return here;
}

void st_module_seen(const struct link_map *map, const void *first_address) {
    for (int i = 0; i < nmodules; i++)
        if (seen[i] == first_address) return;
    if (nmodules == MAX_MODULES) return;
    char program[PATH_MAX] = "", *absolute = NULL;
    const char *path = map && *map->l_name ? map->l_name : program;
    if (path == program && readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return;
    if (*path != '/') path = absolute = realpath(path, NULL);
    struct search search = {.address = first_address};
    dl_iterate_phdr(look, &search);
    if (path && !strchr(path, '\n')) {
        size_t n = strlen(path) + sizeof search.text + 3;
        char *line = malloc(n);
        if (line) {
            snprintf(line, n, "%s %s\n", *search.text ? search.text : "-", path);
            seen[nmodules] = first_address, lines[nmodules++] = line;
        }
    }
    free(absolute);
}

void st_modules_publish(void) {
    size_t n = 1;
    for (int i = 0; i < nmodules; i++) n += strlen(lines[i]);
    char *all = nmodules ? malloc(n) : NULL;
    if (!all) return;
    *all = 0;
    for (int i = 0; i < nmodules; i++) strcat(all, lines[i]);
    st_core_check(st_set_meta(st_shared.core, "modules", all));
    free(all);
}
