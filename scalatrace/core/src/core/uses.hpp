/* uses.hpp - the order in which threads of a rank use one persistent request, window or file.
 *
 *     thread 0   Fence          Put  Put          Fence
 *     thread 1            Put          Put
 *
 *     uses       0 |  0x2 1x2 (at the same time)  | 0
 *
 * A program has its threads use such an object one after the other, but for calls that may overlap: these are sorted by
 * thread, since their order is that of chance. An entry is 2 * thread, plus 1 for calls that may overlap.
 *
 * The objects of one name (a thread that made requests, a communicator of windows or files) are one vec. For each object
 * that several threads use it has the objects between it and the last one, the number of entries, and the entries: so
 * objects that each iteration of a loop makes compress as loops do.
 */
#ifndef ST_USES_HPP
#define ST_USES_HPP

#include "core/turns.hpp"

#include <map>
#include <utility>

namespace st {

enum class UseKind : int32_t { kRequest, kWindow, kFile };

/* Kind, and the creating thread of requests or the communicator of windows and files. */
using UseName = std::pair<int32_t, uint64_t>;

/* The objects of one rank. */
class Uses {
  public:
    void note(UseName name, int64_t ordinal, int32_t thread, bool overlaps) {
        Object *object = find(name, ordinal);
        object->shared |= object->first >= 0 && object->first != thread;
        object->first = object->first < 0 ? thread : object->first;
        if (overlaps) {
            ++object->overlapping[thread];
            return;
        }
        settle(object->order, object->overlapping);
        object->overlapping.clear();
        object->order.append(2 * int64_t{thread});
    }
    /* Forget an object that is gone, unless several threads used it. */
    void end(UseName name, int64_t ordinal) {
        auto objects = objects_.find(name);
        if (objects == objects_.end()) return;
        auto object = objects->second.find(ordinal);
        if (object == objects->second.end() || object->second.shared) return;
        objects->second.erase(object);
        last_ = nullptr;
    }
    Uses() = default;
    Uses(const Uses &o) : objects_(o.objects_) {}
    Uses &operator=(const Uses &o) {
        objects_ = o.objects_;
        last_ = nullptr;
        return *this;
    }
    /* f(name, vec) for each name with shared objects. */
    template <class F> void each_shared(F f) const {
        for (const auto &[name, objects] : objects_) {
            Vec all;
            int64_t next = 0;
            for (const auto &[ordinal, object] : objects) {
                if (!object.shared) continue;
                Vec order = object.order;
                settle(order, object.overlapping);
                all.append(ordinal - next);
                all.append(static_cast<int64_t>(order.size()));
                all.concat(order);
                next = ordinal + 1;
            }
            if (all.size() > 0) f(name, std::move(all));
        }
    }

  private:
    struct Object {
        int32_t first = -1; // the thread that used it first
        bool shared = false;
        Vec order;
        std::map<int32_t, uint64_t> overlapping; // by thread: calls since the last entry of `order`
    };
    std::map<UseName, std::map<int64_t, Object>> objects_;
    Object *last_ = nullptr; // the object of the use before
    UseName last_name_{};
    int64_t last_ordinal_ = 0;

    Object *find(UseName name, int64_t ordinal) {
        if (!last_ || last_ordinal_ != ordinal || last_name_ != name)
            last_ = &objects_[name][ordinal], last_name_ = name, last_ordinal_ = ordinal;
        return last_;
    }
    static void settle(Vec &order, const std::map<int32_t, uint64_t> &overlapping) {
        for (const auto &[thread, ncalls] : overlapping) order.append_run(2 * int64_t{thread} + 1, ncalls);
    }
};

} // namespace st
#endif
