/* symbols.c - let the stubs exist only where the functions do that they stand for.
 *
 * A library may refer to MPI functions weakly, and see by their addresses which of them this MPI has: mpi4py does so for
 * those of MPI 4 and 5, others with MPI as an option for all. A stub is always there. So
 *
 *     before main()   slots of weak references to functions that nobody else defines become null, as they would be
 *     from then on    each stub's dynamic symbol is of type STT_GNU_IFUNC: where a library is loaded or dlsym looks it
 *                     up, the dynamic linker calls front_address for the address, null if nobody else defines it
 *
 * The symbols are no IFUNCs in the file, since the dynamic linker relocates other libraries before this one.
 */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "front.h"

/* The tables that the dynamic section of an object names. */
struct tables {
    uintptr_t load;
    const ElfW(Sym) * symbols;
    const char *texts;
    const uint32_t *gnu_hash;
    const ElfW(Word) * hash;
    const ElfW(Rela) * relocations[2]; /* of data, of calls */
    size_t nbytes[2];
};

extern void *front_stubs[][2] __attribute__((visibility("hidden")));
void *front_address(int number) __attribute__((visibility("hidden")));

static bool exists[FRONT_MAX_NAMES]; /* a name that was defined once is not looked for again */

static bool read_tables(struct tables *tables, const struct dl_phdr_info *info) {
    const ElfW(Dyn) *entry = NULL;
    *tables = (struct tables){.load = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr; /* the C library relocates it, or does not */
        const void *table = (const void *)(value < tables->load ? value + tables->load : value);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables->symbols = table;
            break;
        case DT_STRTAB:
            tables->texts = table;
            break;
        case DT_GNU_HASH:
            tables->gnu_hash = table;
            break;
        case DT_HASH:
            tables->hash = table;
            break;
        case DT_RELA:
            tables->relocations[0] = table;
            break;
        case DT_JMPREL:
            tables->relocations[1] = table;
            break;
        case DT_RELASZ:
            tables->nbytes[0] = entry->d_un.d_val;
            break;
        case DT_PLTRELSZ:
            tables->nbytes[1] = entry->d_un.d_val;
            break;
        }
    }
    return tables->symbols && tables->texts;
}

/* -- definitions ----------------------------------------------------------------------------------------- */

static const ElfW(Sym) * find_by_gnu_hash(const struct tables *tables, const char *name) {
    const uint32_t *table = tables->gnu_hash, nbuckets = table[0], offset = table[1], nwords = table[2];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + nwords), *chains = buckets + nbuckets;
    const uint32_t bits = 8 * sizeof *bloom;
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    ElfW(Addr) word = bloom[hash / bits % nwords];
    if (!(word >> hash % bits & word >> (hash >> table[3]) % bits & 1)) return NULL;
    uint32_t i = buckets[hash % nbuckets];
    for (; i >= offset; i++) {
        const ElfW(Sym) *symbol = &tables->symbols[i];
        if ((chains[i - offset] | 1) == (hash | 1) && !strcmp(tables->texts + symbol->st_name, name)) return symbol;
        if (chains[i - offset] & 1) break;
    }
    return NULL;
}

static const ElfW(Sym) * find_by_hash(const struct tables *tables, const char *name) {
    const ElfW(Word) *table = tables->hash, nbuckets = table[0], *chains = table + 2 + nbuckets;
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    for (ElfW(Word) i = table[2 + hash % nbuckets]; i; i = chains[i])
        if (!strcmp(tables->texts + tables->symbols[i].st_name, name)) return &tables->symbols[i];
    return NULL;
}

static const ElfW(Sym) * find_symbol(const struct tables *tables, const char *name) {
    if (tables->gnu_hash) return find_by_gnu_hash(tables, name);
    return tables->hash ? find_by_hash(tables, name) : NULL;
}

static bool is_front(const struct dl_phdr_info *info) { return front_contains(info, (uintptr_t)exists); }

/* Called for each object: stop at one that defines a name. */
static int look_for_definition(struct dl_phdr_info *info, size_t size, void *name) {
    struct tables tables;
    (void)size;
    if (is_front(info) || !read_tables(&tables, info)) return 0;
    const ElfW(Sym) *symbol = find_symbol(&tables, name);
    return symbol && symbol->st_shndx != SHN_UNDEF;
}

/* dl_iterate_phdr, since the dynamic linker, which is loading a library, allows no dlsym. */
static bool is_defined(int number) {
    if (front_is_own(number)) return true;
    if (!exists[number]) exists[number] = dl_iterate_phdr(look_for_definition, (void *)front_names[number]) != 0;
    return exists[number];
}

void *front_address(int number) { return is_defined(number) ? front_stubs[number][0] : NULL; }

/* -- before main() --------------------------------------------------------------------------------------- */

static bool set_writable(uintptr_t from, uintptr_t to, bool writable) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = from & ~(page - 1);
    return !mprotect((void *)start, to - start, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

/* Called for each object: make null what nobody else defines. A slot is written only where it has another value: it may
 * be in memory that is read-only by now, and stays writable then. */
static int clear_weak_references(struct dl_phdr_info *info, size_t size, void *unused) {
    struct tables tables;
    (void)size, (void)unused;
    if (is_front(info) || !read_tables(&tables, info)) return 0;
    for (int kind = 0; kind < 2; kind++) {
        const ElfW(Rela) *end = tables.relocations[kind] + tables.nbytes[kind] / sizeof *end;
        for (const ElfW(Rela) *r = tables.relocations[kind]; r && r < end; r++) {
            const ElfW(Sym) *symbol = &tables.symbols[ELF64_R_SYM(r->r_info)];
            void **slot = (void **)(tables.load + r->r_offset);
            if (!ELF64_R_SYM(r->r_info) || symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
                continue;
            int number = front_number(tables.texts + symbol->st_name);
            if (number < 0 || *slot != front_stubs[number][0] || is_defined(number)) continue;
            if (set_writable((uintptr_t)slot, (uintptr_t)(slot + 1), true)) *slot = NULL;
        }
    }
    return 0;
}

/* Called for each object: of this library, make the stubs' symbols IFUNCs. */
static int make_conditional(struct dl_phdr_info *info, size_t size, void *unused) {
    struct tables tables;
    ElfW(Sym) *first = NULL, *last = NULL;
    (void)size, (void)unused;
    if (!is_front(info) || !read_tables(&tables, info)) return 0;
    for (int i = 0; i < front_nnames; i++) {
        ElfW(Sym) *symbol = (ElfW(Sym) *)find_symbol(&tables, front_names[i]);
        if (symbol && (!first || symbol < first)) first = symbol;
        if (symbol && symbol > last) last = symbol;
    }
    if (!first || !set_writable((uintptr_t)first, (uintptr_t)(last + 1), true)) return 1;
    for (int i = 0; i < front_nnames; i++) {
        ElfW(Sym) *symbol = (ElfW(Sym) *)find_symbol(&tables, front_names[i]);
        if (!symbol || front_is_own(i)) continue;
        symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
        symbol->st_value = (uintptr_t)front_stubs[i][1] - tables.load;
    }
    set_writable((uintptr_t)first, (uintptr_t)(last + 1), false);
    return 1;
}

void front_make_conditional(void) {
    dl_iterate_phdr(clear_weak_references, NULL);
    dl_iterate_phdr(make_conditional, NULL);
}
