/* order.cpp - compare call paths; each is parsed once. */
#include "tree/order.hpp"

#include "tree/hash.hpp"
#include "tree/similar_stacks.hpp"

#include <algorithm>

namespace st {

uint64_t CodeOrder::first_signature(const Node *n) {
    while (!n->leaf()) n = n->kids.front();
    return n->signature;
}

uint64_t CodeOrder::last_signature(const Node *n) {
    while (!n->leaf()) n = n->kids.back();
    return n->signature;
}

const CodeOrder::Path &CodeOrder::path(uint64_t signature) {
    auto [it, fresh] = paths_.try_emplace(signature);
    const std::vector<std::string> *frames = fresh ? tables_.signatures.find(signature) : nullptr;
    if (frames) {
        for (const std::string &frame : *frames) {
            const Site site(frame);
            const uint64_t function = hash_bytes(site.before.data(), site.before.size(), 31);
            it->second.push_back(
                {hash_bytes(site.after.data(), site.after.size(), function), site.number, site.native});
        }
        std::reverse(it->second.begin(), it->second.end());
    }
    return it->second;
}

/* Compilers reorder code, so offsets in a module do not have the order in which code runs; of a frame without a line
 * only the name is known. */
static bool has_no_position(const CodeFrame &frame) { return frame.native || (frame.function && !frame.number); }

/* The last steps are kept: most programs have few different pairs of successive call sites. */
CodeStep CodeOrder::step(uint64_t a, uint64_t b) {
    if (!a || !b) return CodeStep{};
    if (known_.empty()) known_.resize(kMaxKnown);
    Known &known = known_[mix_key(a + 31 * b) % kMaxKnown];
    if (known.a != a || known.b != b) known = {a, b, compare(path(a), path(b))};
    return known.step;
}

CodeStep CodeOrder::compare(const Path &x, const Path &y) const {
    const size_t longest = std::max(x.size(), y.size());
    for (size_t i = 0; i < longest; ++i) {
        const CodeFrame from = i < x.size() ? x[i] : CodeFrame{}, to = i < y.size() ? y[i] : CodeFrame{};
        if (from != to && (has_no_position(from) || has_no_position(to))) return CodeStep{};
        if (from != to)
            return CodeStep{from < to ? CodeStep::kAhead : CodeStep::kBack, static_cast<uint32_t>(i), from, to};
    }
    if (!longest) return CodeStep{};
    return CodeStep{CodeStep::kBack, static_cast<uint32_t>(longest - 1), x.back(), y.back()};
}

} // namespace st
