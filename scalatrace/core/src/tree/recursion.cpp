/* recursion.cpp - the folding that recursion.hpp draws. */
#include "tree/recursion.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace st {

/* Length of the shortest sequence that ends the first `n` frames twice; 0: there is none. */
static size_t repeated_at_end(const std::vector<std::string> &frames, size_t n) {
    const auto end = frames.begin() + static_cast<std::ptrdiff_t>(n);
    for (size_t length = 1; 2 * length <= n; ++length) {
        const auto last = end - static_cast<std::ptrdiff_t>(length);
        if (std::equal(last, end, last - static_cast<std::ptrdiff_t>(length))) return length;
    }
    return 0;
}

/* The first `n` frames hold no repetition before a frame is added, so only one at their end is possible. After its
 * outer copy is removed, they are a beginning that was checked before. */
void fold_recursion(std::vector<std::string> &frames) {
    size_t n = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
        if (n != i) frames[n] = std::move(frames[i]);
        ++n;
        n -= repeated_at_end(frames, n);
    }
    frames.resize(n);
}

} // namespace st
