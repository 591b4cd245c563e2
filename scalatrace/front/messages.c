/* messages.c - lines on standard error, once for all ranks of a node.
 *
 * Ranks meet the same error at about the same time. The first one binds a socket to a name without a file, which is
 * taken from then on; it is free again when the process ends. The name is that of is_first_to_report() in
 * scalatrace/launched.py: user, launcher, checksum of the text.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "front.h"

enum { HIGH_DESCRIPTOR = 500 }; /* programs expect the low numbers */

static const char *find_rank(void) {
    static const char *const ranks[] = {
#define ST_LAUNCHER(rank, nranks, ranks_here, nnodes, run) rank,
#include "launchers.def"
    };
    const char *rank = NULL;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && !rank; i++) rank = getenv(ranks[i]);
    return rank;
}

bool front_is_first_rank(void) {
    const char *rank = find_rank();
    return !rank || atoi(rank) == 0;
}

uint32_t front_crc32(const void *data, size_t n) {
    const unsigned char *bytes = data;
    uint32_t table[256], crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        table[i] = value;
    }
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return ~crc;
}

/* Does no other rank of the launcher on this node print the text? True without a launcher. */
static bool is_first_to_report(const char *text) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (!find_rank()) return true;
    int low = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), file = low;
    if (low < 0) return true;
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "scalatrace-%ld-%ld-%x", (long)geteuid(),
                     (long)getppid(), front_crc32(text, strlen(text)));
    if (bind(low, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n))) {
        close(low);
        return false;
    }
    file = fcntl(low, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR); /* it stays open */
    if (file >= 0) close(low);
    return true;
}

void front_print(const char *format, ...) {
    const char *quiet = getenv("SCALATRACE_QUIET");
    va_list arguments;
    char *text;
    if (quiet && atoi(quiet)) return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    if (text && is_first_to_report(text)) dprintf(STDERR_FILENO, "scalatrace: %s\n", text);
    free(text);
}
