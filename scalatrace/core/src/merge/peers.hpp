/* peers.hpp - the encodings of a peer, and the conversion to an encoding that was given up before.
 *
 *     ring of 4, peers of ranks 0..3     absolute     1  2  3  0
 *                                        relative     1  1  1 -3
 *                                        modulo       1  1  1  1       one group: the encoding of the file
 *                                        exclusive-or 1  3  1  3
 *
 * All encodings are kept until a merge shows that one needs far more groups than another. When two nodes have no common
 * encoding left, one is computed from another with the ranks' places in the communicator.
 */
#ifndef ST_PEERS_HPP
#define ST_PEERS_HPP

#include "tree/node.hpp"
#include "tree/tables.hpp"

#include <unordered_map>

namespace st {

enum Encoding { kAbsolute, kRelative, kModulo, kExclusive };

/* A rank's place in its communicator; `size` counts the remote group of an intercommunicator. */
struct Place {
    int64_t self, size;
};

inline int64_t encode_peer(int encoding, int64_t peer, Place p) {
    if (peer < ST_SPECIAL_MAX || encoding == kAbsolute) return peer;
    if (encoding == kExclusive) return peer ^ p.self;
    int64_t difference = peer - p.self;
    if (encoding == kRelative || p.size < 1) return difference;
    if (difference < 0) difference += p.size;
    if (difference >= p.size)
        return difference % p.size; // self may exceed the size: it is a rank of the other group of an intercommunicator
    return difference < 0 ? (difference % p.size + p.size) % p.size : difference;
}

inline int64_t decode_peer(int encoding, int64_t value, Place p) {
    if (value < ST_SPECIAL_MAX || encoding == kAbsolute) return value;
    if (encoding == kExclusive) return value ^ p.self;
    if (encoding == kRelative || p.size < 1) return p.self + value;
    return (p.self + value) % p.size;
}

/* Can the peer be encoded? A peer that is no rank of the communicator has no value modulo its size. */
inline bool has_encoding(int encoding, int64_t peer, Place p) {
    return encoding != kModulo || peer < ST_SPECIAL_MAX || (peer >= 0 && peer < p.size);
}

/* Finds places of ranks and converts encodings, during one merge. */
class Peers {
  public:
    Peers(const Tables &tables, const std::vector<OpSchema> &ops, int nprocs)
        : tables_(tables), ops_(ops), nprocs_(nprocs) {}

    /* Make sure that x and y have a common encoding of the peer whose encodings start at `slot`. */
    void share_encoding(Node *x, Node *y, size_t slot);

    /* Find a rank's place in the communicator of a node's calls. Return false where the communicator changes or is
     * unknown. */
    bool place_in(const Node *n, int32_t rank, Place &out);

    /* Can the absolute ranks be out again from another encoding? */
    bool recoverable(const Node *n);

  private:
    using Places = std::unordered_map<int32_t, Place>;

    const Tables &tables_;
    const std::vector<OpSchema> &ops_;
    int nprocs_;
    std::unordered_map<uint64_t, Places> families_;

    const Elastic *communicator(const Node *n) const;
    const Places &places(uint64_t family);
    bool place(uint64_t family, int32_t rank, Place &out);
    int best(const Node *n, size_t slot) const;
    bool recode(Node *n, size_t slot, int to);
    bool recode_rank(const Node *n, size_t slot, int from, int to, int32_t rank, Vec &out);
};

} // namespace st
#endif
