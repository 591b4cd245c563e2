/* loader.c - the look-up of loader.h. */
#define _GNU_SOURCE
#include "stacks/loader.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/state.h"
#include "base/wait.h"

static pthread_mutex_t searching = PTHREAD_MUTEX_INITIALIZER;
static __thread bool holds_search __attribute__((tls_model("initial-exec"))); /* this thread forks */

struct search {
    const void *address;
    struct st_module *module;
    bool ok;
};

/* Write the build ID among the notes at `note` as hexadecimal digits. */
static void read_notes(char *digits, const char *note, size_t size, size_t align) {
    const char *end = note + size;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
        const char *name = note + sizeof *head;
        const char *id = name + ((head->n_namesz + align - 1) & ~(align - 1));
        if (id > end || head->n_descsz > (size_t)(end - id)) return;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            for (size_t i = 0; i < head->n_descsz && i < ST_MAX_BUILD_ID; i++)
                snprintf(digits + 2 * i, 3, "%02x", (unsigned char)id[i]);
            return;
        }
        note = id + ((head->n_descsz + align - 1) & ~(align - 1));
    }
}

/* Number of symbols by the GNU hash table: the last chain ends with the last symbol. */
static size_t count_by_gnu_hash(const uint32_t *table) {
    const uint32_t nbuckets = table[0], offset = table[1], bloom_words = table[2];
    const uint32_t *buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *chains = buckets + nbuckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < nbuckets; i++)
        if (buckets[i] > last) last = buckets[i];
    if (last < offset) return offset;
    while (!(chains[last - offset] & 1)) last++;
    return last + 1;
}

/* Does the symbol's range hold the address? */
static bool covers(const ElfW(Sym) * symbol, uintptr_t at) {
    int type = symbol->st_info & 0xf;
    if (symbol->st_shndx == SHN_UNDEF || type == STT_TLS || !symbol->st_name) return false;
    if (symbol->st_size == 0) return at == symbol->st_value;
    return symbol->st_value <= at && at - symbol->st_value < symbol->st_size;
}

/* Dynamic symbols of a module. */
struct symbols {
    const ElfW(Sym) * all;
    const char *texts;
    size_t n;
};

static struct symbols symbols_of(const ElfW(Dyn) * entry, uintptr_t load) {
    const ElfW(Sym) *symbols = NULL;
    const char *texts = NULL;
    size_t n = 0;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr; /* the C library relocates it, or does not */
        const void *table = (const void *)(value < load ? value + load : value);
        if (entry->d_tag == DT_SYMTAB) symbols = table;
        if (entry->d_tag == DT_STRTAB) texts = table;
        if (entry->d_tag == DT_HASH && !n) n = ((const ElfW(Word) *)table)[1];
        if (entry->d_tag == DT_GNU_HASH) n = count_by_gnu_hash(table);
    }
    return (struct symbols){symbols, texts, symbols && texts ? n : 0};
}

/* The name of the function at an address of a module; NULL: none. `at`: the address in the file. */
static const char *symbol_at(const ElfW(Dyn) * dynamic, uintptr_t load, uintptr_t at) {
    const struct symbols symbols = symbols_of(dynamic, load);
    const ElfW(Sym) *best = NULL;
    for (size_t i = 0; i < symbols.n; i++)
        if (covers(&symbols.all[i], at) && (!best || symbols.all[i].st_value > best->st_value)) best = &symbols.all[i];
    return best ? symbols.texts + best->st_name : NULL;
}

/* Set low and high, and return whether the address lies in a segment. */
static bool holds(const struct dl_phdr_info *info, const void *address, struct st_module *module) {
    bool here = false;
    module->low = UINTPTR_MAX, module->high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, at = (uintptr_t)address;
        if (part->p_type != PT_LOAD) continue;
        here |= start <= at && at - start < part->p_memsz;
        if (start < module->low) module->low = start;
        if (start + part->p_memsz > module->high) module->high = start + part->p_memsz;
    }
    return here;
}

/* Called by the dynamic linker for each module. Return 1 at the wanted one. */
static int look(struct dl_phdr_info *info, size_t size, void *argument) {
    struct search *search = argument;
    struct st_module *module = search->module;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    if (!holds(info, search->address, module)) return 0;
    module->load = info->dlpi_addr;
    module->is_program = !info->dlpi_name || !*info->dlpi_name;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const void *start = (const void *)(info->dlpi_addr + part->p_vaddr);
        if (part->p_type == PT_DYNAMIC) dynamic = start;
        if (part->p_type == PT_NOTE && !*module->build_id)
            read_notes(module->build_id, start, part->p_memsz, part->p_align == 8 ? 8 : 4);
    }
    const char *symbol = symbol_at(dynamic, module->load, (uintptr_t)search->address - module->load);
    module->path = strdup(module->is_program ? program_invocation_name : info->dlpi_name);
    module->symbol = symbol ? strdup(symbol) : NULL;
    search->ok = module->path != NULL;
    return 1;
}

bool st_module_find(const void *address, struct st_module *module) {
    *module = (struct st_module){.path = NULL};
    struct search search = {.address = address, .module = module};
    bool locked = st_try_mutex(&searching);
    dl_iterate_phdr(look, &search);
    if (locked) pthread_mutex_unlock(&searching);
    return search.ok;
}

static int read_count(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

unsigned long long st_loader_count(void) {
    unsigned long long count = 0;
    dl_iterate_phdr(read_count, &count);
    return count;
}

struct function_search {
    const char *library, *function;
    void *address;
};

static int look_for_function(struct dl_phdr_info *info, size_t size, void *argument) {
    struct function_search *search = argument;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    if (!info->dlpi_name || strncmp(st_file_name(info->dlpi_name), search->library, strlen(search->library)) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const struct symbols symbols = symbols_of(dynamic, info->dlpi_addr);
    for (size_t i = 0; i < symbols.n && !search->address; i++) {
        const ElfW(Sym) *symbol = &symbols.all[i];
        if (symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 0xf) == STT_FUNC &&
            !strcmp(symbols.texts + symbol->st_name, search->function))
            search->address = (void *)(info->dlpi_addr + symbol->st_value);
    }
    return search->address != NULL;
}

void *st_loader_function(const char *library, const char *function) {
    struct function_search search = {library, function, NULL};
    bool locked = st_try_mutex(&searching);
    dl_iterate_phdr(look_for_function, &search);
    if (locked) pthread_mutex_unlock(&searching);
    return search.address;
}

void st_loader_before_fork(void) { holds_search = !st_thread.busy && st_try_mutex(&searching); }
void st_loader_after_fork(void) {
    if (holds_search) pthread_mutex_unlock(&searching);
    holds_search = false;
}

void st_module_free(struct st_module *module) {
    free(module->path), free(module->symbol);
    module->path = module->symbol = NULL;
}

const char *st_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
