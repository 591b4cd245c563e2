/* peers.hpp - a peer in its encodings, and from one encoding to another when the merge needs one that was given up. */
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
    if (difference >= p.size) return difference % p.size; // self is a rank of another group (an intercommunicator's)
    return difference < 0 ? (difference % p.size + p.size) % p.size : difference;
}

inline int64_t decode_peer(int encoding, int64_t value, Place p) {
    if (value < ST_SPECIAL_MAX || encoding == kAbsolute) return value;
    if (encoding == kExclusive) return value ^ p.self;
    if (encoding == kRelative || p.size < 1) return p.self + value;
    return (p.self + value) % p.size;
}

/* Peers that no rank of the communicator is have no value modulo its size. */
inline bool has_encoding(int encoding, int64_t peer, Place p) {
    return encoding != kModulo || peer < ST_SPECIAL_MAX || (peer >= 0 && peer < p.size);
}

/* Finds places, and values in another encoding, for the ranks of one merge. */
class Peers {
  public:
    Peers(const Tables &tables, const std::vector<OpSchema> &ops, int nprocs)
        : tables_(tables), ops_(ops), nprocs_(nprocs) {}

    /* The slot of a peer's four encodings starts at `slot`. Make sure that x and y share one that is alive. */
    void share_encoding(Node *x, Node *y, size_t slot);

    /* A rank's place in the communicator of a node's calls; false where that is not always the same one. */
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
