/* tables.hpp - the things that event values refer to: communicators, datatypes, strings, arrays, stack signatures.
 *
 *     event value  0x8f3a...  -->  Table: name -> index  -->  items: (name, thing), in the order of insertion
 *
 * A name is a hash of the content (hash.hpp), so a thing has the same name on all ranks, and merging tables is a union.
 */
#ifndef ST_TABLES_HPP
#define ST_TABLES_HPP

#include "values/vec.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace st {

/* Things by name, in the order of insertion. */
template <class T> class Table {
  public:
    bool has(uint64_t name) const { return index_.count(name) != 0; }
    /* Insert a thing unless the name is there; return the one of that name. */
    T &add(uint64_t name, T &&thing) {
        auto [it, fresh] = index_.try_emplace(name, items_.size());
        if (fresh) items_.emplace_back(name, std::move(thing));
        return items_[it->second].second;
    }
    T *find(uint64_t name) {
        auto it = index_.find(name);
        return it == index_.end() ? nullptr : &items_[it->second].second;
    }
    const T *find(uint64_t name) const { // null: no such name
        auto it = index_.find(name);
        return it == index_.end() ? nullptr : &items_[it->second].second;
    }
    int64_t index(uint64_t name) const { // -1: no such name
        auto it = index_.find(name);
        return it == index_.end() ? -1 : static_cast<int64_t>(it->second);
    }
    void pop_back() {
        index_.erase(items_.back().first);
        items_.pop_back();
    }
    size_t size() const { return items_.size(); }
    const std::vector<std::pair<uint64_t, T>> &items() const { return items_; }

  private:
    std::vector<std::pair<uint64_t, T>> items_;
    std::unordered_map<uint64_t, size_t> index_;
};

struct Datatype {
    std::string description;
    int64_t size, extent;
};

struct Array {
    uint64_t length;
    Vec values;
};

/* One communicator of a family; world ranks in communicator order, ST_UNDEFINED for a process of another world. */
struct Instance {
    uint64_t nmembers = 0, nremote = 0;
    Vec members, remote;
};

/* The communicators that one collective call created, as far as known here. */
struct Family {
    std::string kind;
    uint64_t parent = 0;
    std::map<int64_t, Instance> instances; // by the first member of this world
};

/* All tables of a core. */
struct Tables {
    Table<Family> comms;
    Table<Datatype> types;
    Table<std::string> strings;
    Table<Array> arrays;
    Table<std::vector<std::string>> signatures; // frames, innermost first

    void merge(Tables &&other);
    size_t nbytes() const;
};

} // namespace st
#endif
