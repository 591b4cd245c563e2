/* turns.hpp - the order in which threads of a rank make collective calls on one communicator.
 *
 *     thread 0   Barrier(world)  Allreduce(c)  Allreduce(c)    Barrier(world)
 *     thread 1                           Barrier(world)
 *
 *     turns      world: 0 1 0            c: only thread 0, no entry
 *
 * MPI has the program make these calls one after the other, and all ranks in the same order. The streams of the threads do
 * not have this order. It counts all calls that every member makes and that name the communicator.
 */
#ifndef ST_TURNS_HPP
#define ST_TURNS_HPP

#include "values/elastic.hpp"

#include <map>
#include <unordered_map>

namespace st {

/* What several threads use, after finish(): threads in the order of calls, for each rank. */
struct Shared {
    RankSet ranks;
    Elastic order;
};

/* The communicators of one rank. */
class Turns {
  public:
    void note(uint64_t comm, int32_t thread) {
        if (!last_ || last_name_ != comm) last_ = &comms_[comm], last_name_ = comm;
        if (last_->thread != thread && last_->ncalls) leave(*last_);
        last_->thread = thread;
        ++last_->ncalls;
    }
    Turns() = default;
    Turns(const Turns &o) : comms_(o.comms_) {}
    Turns &operator=(const Turns &o) {
        comms_ = o.comms_;
        last_ = nullptr;
        return *this;
    }
    /* f(name, order) for each communicator with several threads. */
    template <class F> void each_shared(F f) const {
        for (const auto &[name, calls] : comms_)
            if (calls.before.size() > 0) {
                Vec order = calls.before;
                order.append_run(calls.thread, calls.ncalls);
                f(name, std::move(order));
            }
    }

  private:
    struct Calls {
        int32_t thread = 0;
        uint64_t ncalls = 0; // of this thread, since another one made calls
        Vec before;          // threads of the calls before
    };
    std::unordered_map<uint64_t, Calls> comms_;
    Calls *last_ = nullptr; // of the call before
    uint64_t last_name_ = 0;

    static void leave(Calls &calls) {
        calls.before.append_run(calls.thread, calls.ncalls);
        calls.ncalls = 0;
    }
};

/* Add the orders of other ranks. */
template <class Name> void unite_shared(std::map<Name, Shared> &mine, std::map<Name, Shared> &&theirs) {
    for (auto &[name, other] : theirs) {
        auto [known, is_new] = mine.try_emplace(name, std::move(other));
        if (is_new) continue;
        known->second.order.unite(known->second.ranks, std::move(other.order), other.ranks);
        known->second.ranks.unite(other.ranks);
    }
}

} // namespace st
#endif
