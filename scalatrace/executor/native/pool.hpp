/* pool.hpp - objects with numbers; the number of an object that was dropped is used again.
 *
 * All ranks share a pool: it is as large as the most objects that exist at one time, not as the sum of each rank's most.
 * References stay valid while objects are added.
 */
#ifndef ST_SIM_POOL_HPP
#define ST_SIM_POOL_HPP

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace sim {

template <class T> class Pool {
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    T &operator[](int32_t number) { return chunks_[number >> kBits][number & kMask]; }
    const T &operator[](int32_t number) const { return chunks_[number >> kBits][number & kMask]; }

    /* Add a new object; return its number. */
    int32_t add() {
        int32_t number = size_;
        if (unused_.empty()) {
            if (!(size_++ & kMask)) chunks_.push_back(std::make_unique<T[]>(kMask + 1));
        } else {
            number = unused_.back();
            unused_.pop_back();
        }
        ::new (static_cast<void *>(&(*this)[number])) T; /* `= T{}` would make a temporary object and copy it */
        return number;
    }
    void drop(int32_t number) { unused_.push_back(number); }

  private:
    static constexpr int kBits = 10;
    static constexpr int32_t kMask = (1 << kBits) - 1;

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<int32_t> unused_;
    int32_t size_ = 0;
};

} // namespace sim
#endif
