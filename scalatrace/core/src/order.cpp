#include "order.hpp"

#include "similar.hpp"

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
            it->second.push_back({hash_bytes(site.after.data(), site.after.size(), function), site.number});
        }
        std::reverse(it->second.begin(), it->second.end());
    }
    return it->second;
}

CodeStep CodeOrder::step(uint64_t a, uint64_t b) {
    if (!a || !b) return CodeStep{};
    const Path &x = path(a), &y = path(b);
    const size_t common = std::min(x.size(), y.size());
    for (size_t i = 0; i < common; ++i) {
        const auto depth = static_cast<uint32_t>(i);
        if (x[i].function != y[i].function) return CodeStep{CodeStep::kUnknown, depth, 0, 0};
        if (x[i].number != y[i].number)
            return CodeStep{x[i].number < y[i].number ? CodeStep::kAhead : CodeStep::kBack, depth, x[i].number,
                            y[i].number};
    }
    if (x.size() != y.size() || !common) return CodeStep{CodeStep::kUnknown, static_cast<uint32_t>(common), 0, 0};
    return CodeStep{CodeStep::kBack, static_cast<uint32_t>(common - 1), x.back().number, y.back().number};
}

} // namespace st
