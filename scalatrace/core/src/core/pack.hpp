/* pack.hpp - a finished core as bytes, for the messages of the radix tree and for part files.
 *
 *     version, rank, nprocs, nevents
 *     meta       [key, value, ...]                  counts  [operation, calls, ...]
 *     operations [[name, parameter, kind, limit, ...], ...]
 *     statistics [name, resolution, ...]            totals  as in values/loads.cpp
 *     tables     communicators, datatypes, strings, arrays, signatures; each entry begins with its name (hash)
 *     ranks      [box, ...]
 *     nodes      [node, ...]                 of stream 0
 *     streams    [[node, ...], ...]          of streams 1, 2, ...; it and what follows only where there are any
 *     turns      [name, ranks, value, ...]   of shared communicators
 *
 *     node       event     [runs, flags, ranks, repeat, operation, signature, [value, ..., stats, ...]]
 *                sequence  [runs, flags, ranks, [repeat, node, ...]]
 *     ranks      nil: those of the node around it
 *     value      []                          a peer encoding that was given up
 *                [vector]                    one vector for all ranks of the node
 *                [ranks, vector, ...]        one for each group of ranks
 *                [limit, histogram, length]  a histogram in place of the values
 *                [limit, value, nil, nil, nil]
 *
 * All in msgpack (io/msgpack.hpp). Unlike the trace file it keeps all peer encodings, histograms as they are in memory,
 * and names as hashes, so that a merge needs no translation.
 */
#ifndef ST_PACK_HPP
#define ST_PACK_HPP

#include "core/core.hpp"

namespace st {

Bytes pack_core(const st_core &core);

/* Read packed bytes, which are not trusted. `known`: the core that will merge the result; entries that its tables have
 * are skipped. null: for a core without content. Throws FormatError. */
std::unique_ptr<Incoming> unpack(const void *data, size_t nbytes, NodePool &pool, const st_core *known);
/* Return a core with this content. Throws FormatError. */
std::unique_ptr<st_core> unpack_core(const void *data, size_t nbytes);

} // namespace st
#endif
