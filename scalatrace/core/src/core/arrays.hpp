/* arrays.hpp - the arrays of a trace file: those in use, and shorter forms for arrays that differ by rank.
 *
 *   counts of a halo exchange over Alltoallv, by rank        relative to the rank's place
 *        0: . 8 . 8                                            . 8 . 8   the same on every rank
 *        1: 8 . 8 .
 *        2: . 8 . 8   ...                                    displacements: the sums of the counts before them
 */
#ifndef ST_ARRAYS_HPP
#define ST_ARRAYS_HPP

#include "io/msgpack.hpp"
#include "merge/peers.hpp"

#include <optional>

namespace st {

/* Write vectors in the form of the file. put_closed: read to its end. put_vec: read as far as executions go. */
void put_closed(Packer &p, const Vec &v);
void put_vec(Packer &p, const Vec &v);
void put_terms(Packer &p, const std::vector<Term> &terms, bool open);

class ArrayTable {
  public:
    ArrayTable(const Tables &tables, Peers &peers) : tables_(tables), peers_(peers) {}

    /* Index in the file of an array of the core's tables or one derived here, -1 when there is none. */
    int64_t index(uint64_t name);

    /* Return the index of an array that stands for averaged ones: all its elements are the average; displacements
     * rise to twice the average. */
    int64_t average_array(Averaged a, bool displacements);

    /* Return a node's arrays relative to the places of its ranks, if these are at most half as many. */
    std::optional<Elastic> relative(const Node *n, const Elastic &arrays);
    /* Return arrays that are, on every rank in every execution, the sums of `counts`, as sums of `shorter`: the form
     * that relative() gave the counts. */
    std::optional<Elastic> sums(const Node *n, const Elastic &arrays, const Elastic &counts, const Elastic &shorter);

    void put(Packer &p);

  private:
    using Runs = std::vector<std::pair<int64_t, uint64_t>>;
    struct DerivedArray { // an array that no rank recorded
        Array array;
        bool relative = false;
        uint64_t sums_of = 0; // name of the relative array whose sums are its elements; 0: none
    };

    const Tables &tables_;
    Peers &peers_;
    std::unordered_map<uint64_t, int64_t> index_;
    std::vector<uint64_t> used_;
    std::unordered_map<uint64_t, DerivedArray> derived_;

    const Array *find(uint64_t name) const;
    static Runs runs_of(const Array &array);
    uint64_t rotated(uint64_t name, Place place); // name of the derived array; 0: it has another length
    uint64_t add(DerivedArray &&derived);
    uint64_t sums_name(uint64_t name);
    bool are_sums(uint64_t sums, uint64_t counts) const;
};

} // namespace st
#endif
