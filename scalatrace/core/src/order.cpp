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

bool CodeOrder::before(uint64_t a, uint64_t b) {
    if (a == b || !a || !b) return false;
    const Path &x = path(a), &y = path(b);
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        if (x[i].function != y[i].function) return false;
        if (x[i].number != y[i].number) return x[i].number < y[i].number;
    }
    return false;
}

} // namespace st
