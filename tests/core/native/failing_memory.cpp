/* failing_memory.cpp - repeat a session while its first, second, third ... allocation fails.
 *
 *     failing_memory FOLDER              one session without failures: prints the number of allocations
 *     failing_memory FOLDER FIRST STEP   allocations FIRST, FIRST + STEP, ... fail, each in a session of its own
 *     ... sticky                         all later allocations fail, too
 *
 * operator new is replaced here, malloc, its relatives and realpath by the linker's --wrap. Both count what is in use: after a
 * session that is as much as before it. The exit status is 1 where it is not, or where a session reports nothing
 * although an allocation failed and its trace differs from the first one. Errors are ST_E_MEMORY, or ST_E_IO where the C
 * library runs out of memory for a path.
 */
#include "session.h"

#include "st_core.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#define API extern "C" __attribute__((used))

namespace {

constexpr long kNever = -1;

long allocations = 0;  // in this session
long in_use = 0;       // allocations that were not freed
long failing = kNever; // number of the allocation that fails
bool sticky = false;   // do all later ones fail, too?
bool counting = false; // inside a session?

bool fails() {
    if (!counting) return false;
    const long number = allocations++;
    return failing != kNever && (number == failing || (sticky && number > failing));
}

std::string contents(const std::string &path) {
    std::string all;
    if (FILE *file = std::fopen(path.c_str(), "rb")) {
        char block[4096];
        for (size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) all.append(block, n);
        std::fclose(file);
    }
    return all;
}

struct Outcome {
    session_result result;
    long allocations, left;
};

Outcome run(const char *folder, long number) {
    Outcome outcome;
    allocations = 0;
    failing = number;
    const long before = in_use;
    counting = true;
    session(folder, &outcome.result);
    counting = false;
    outcome.allocations = allocations;
    outcome.left = in_use - before;
    return outcome;
}

} // namespace

API void *__real_malloc(size_t n);
API void *__real_calloc(size_t n, size_t size);
API void *__real_realloc(void *old, size_t n);
API void __real_free(void *block);

API void *__wrap_malloc(size_t n) {
    void *block = fails() ? nullptr : __real_malloc(n);
    in_use += block != nullptr;
    return block;
}
API void *__wrap_calloc(size_t n, size_t size) {
    void *block = fails() ? nullptr : __real_calloc(n, size);
    in_use += block != nullptr;
    return block;
}
API void *__wrap_realloc(void *old, size_t n) {
    void *block = fails() ? nullptr : __real_realloc(old, n);
    in_use += block && !old;
    return block;
}
API void __wrap_free(void *block) {
    in_use -= block != nullptr;
    __real_free(block);
}

API char *__real_realpath(const char *path, char *resolved);
API char *__wrap_realpath(const char *path, char *resolved) {
    char *real = fails() ? nullptr : __real_realpath(path, resolved);
    in_use += real && !resolved;
    if (!real) errno = ENOMEM;
    return real;
}

void *operator new(size_t n) {
    if (void *block = __wrap_malloc(n)) return block;
    throw std::bad_alloc();
}
void *operator new[](size_t n) { return operator new(n); }
void operator delete(void *block) noexcept { __wrap_free(block); }
void operator delete(void *block, size_t) noexcept { __wrap_free(block); }
void operator delete[](void *block) noexcept { __wrap_free(block); }
void operator delete[](void *block, size_t) noexcept { __wrap_free(block); }

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const std::string folder = argv[1], trace = folder + "/trace.st";
    run(argv[1], kNever); // caches of the C library
    const Outcome whole = run(argv[1], kNever);
    const std::string expected = contents(trace);
    std::printf("%ld allocations, %ld left, %d errors, %llu events\n", whole.allocations, whole.left,
                whole.result.memory_errors + (whole.result.other_error != 0),
                static_cast<unsigned long long>(whole.result.nevents));
    if (!whole.result.written || whole.result.memory_errors || whole.result.other_error || whole.left) return 1;
    if (argc < 4) return 0;
    sticky = argc > 4 && std::strcmp(argv[4], "sticky") == 0;
    int wrong = 0, sessions = 0, survived = 0;
    for (long n = std::atol(argv[2]); n < whole.allocations; n += std::atol(argv[3]), ++sessions) {
        const Outcome outcome = run(argv[1], n);
        const session_result &r = outcome.result;
        const bool complete = r.written && contents(trace) == expected;
        survived += complete;
        const bool reported = r.memory_errors || r.other_error == ST_E_IO;
        const bool good = outcome.left == 0 && (!r.other_error || r.other_error == ST_E_IO) && (reported || complete);
        if (!good)
            std::printf("allocation %ld: %ld left, %d reports, error %d, %s\n", n, outcome.left, r.memory_errors,
                        r.other_error,
                        complete    ? "complete"
                        : r.written ? "trace differs"
                                    : "no trace");
        wrong += !good;
    }
    std::printf("%d sessions, %d wrong, %d with the whole trace\n", sessions, wrong, survived);
    return wrong ? 1 : 0;
}
