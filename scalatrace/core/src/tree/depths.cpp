/* depths.cpp - fold the tree at several depths. */
#include "tree/depths.hpp"

#include <algorithm>
#include <set>

namespace st {
namespace {

constexpr size_t kMinNodes = 1000;      // event nodes of a tree for which there is advice
constexpr size_t kMaxNodes = 50000;     // ... that is examined
constexpr size_t kMinNodesPerSite = 50; // event nodes per operation and innermost frame
constexpr double kMaxShare = 0.5;       // of the nodes, which are left at the recommended depth
constexpr size_t kMaxCandidates = 12;   // earlier places of a symbol at which a repeated block may have begun

using Numbers = std::vector<uint32_t>;

/* The frames of all signatures as numbers. */
class Frames {
  public:
    explicit Frames(const Tables &tables) {
        std::unordered_map<std::string, uint32_t> number_of;
        for (const auto &[name, frames] : tables.signatures.items()) {
            Numbers &numbers = signatures_[name];
            for (const std::string &frame : frames)
                numbers.push_back(number_of.try_emplace(frame, static_cast<uint32_t>(number_of.size())).first->second);
            deepest_ = std::max(deepest_, numbers.size());
        }
    }
    size_t deepest() const { return deepest_; }
    /* Operation and innermost frames of an event. */
    Numbers key(const Node *event, size_t depth) const {
        Numbers key{event->op};
        const auto known = signatures_.find(event->signature);
        if (known == signatures_.end()) return key;
        const size_t n = std::min(depth, known->second.size());
        key.insert(key.end(), known->second.begin(), known->second.begin() + static_cast<ptrdiff_t>(n));
        return key;
    }

  private:
    std::unordered_map<uint64_t, Numbers> signatures_;
    size_t deepest_ = 0;
};

/* A list of symbols, of which a block that repeats the one before it is dropped. */
class Folded {
  public:
    void add(uint32_t symbol) {
        Numbers &places = places_[symbol];
        places.push_back(static_cast<uint32_t>(kept_.size()));
        kept_.push_back(symbol);
        for (size_t n = repeated(places); n > 0; --n) {
            places_[kept_.back()].pop_back();
            kept_.pop_back();
        }
    }
    const Numbers &symbols() const { return kept_; }

  private:
    /* Length of the shortest block at the end that equals the block before it. */
    size_t repeated(const Numbers &places) const {
        const size_t n = kept_.size(), ncandidates = std::min(places.size() - 1, kMaxCandidates);
        for (size_t i = 0; i < ncandidates; ++i) {
            const size_t length = n - 1 - places[places.size() - 2 - i];
            if (2 * length > n) return 0;
            const auto end = kept_.end();
            const auto size = static_cast<ptrdiff_t>(length);
            if (std::equal(end - size, end, end - 2 * size)) return length;
        }
        return 0;
    }

    Numbers kept_;
    std::unordered_map<uint32_t, Numbers> places_;
};

/* Numbers of subtrees: two have the same number if they are equal at the depth. */
class Folding {
  public:
    Folding(const Frames &frames, size_t depth) : frames_(frames), depth_(depth) {}

    size_t count(const std::vector<Node *> &nodes) { return size_of(folded(nodes)); }

  private:
    Numbers folded(const std::vector<Node *> &nodes) {
        Folded list;
        for (const Node *node : nodes) list.add(symbol(node));
        return list.symbols();
    }
    uint32_t symbol(const Node *node) {
        if (node->leaf()) return number(frames_.key(node, depth_), 1, events_);
        Numbers inner = folded(node->kids);
        if (inner.size() == 1) return inner[0]; // a loop around a loop is one loop
        const size_t size = size_of(inner);
        return number(std::move(inner), size, sequences_);
    }
    uint32_t number(Numbers &&key, size_t size, std::map<Numbers, uint32_t> &numbers) {
        const auto [it, fresh] = numbers.try_emplace(std::move(key), static_cast<uint32_t>(sizes_.size()));
        if (fresh) sizes_.push_back(size);
        return it->second;
    }
    size_t size_of(const Numbers &symbols) const {
        size_t n = 0;
        for (uint32_t symbol : symbols) n += sizes_[symbol];
        return n;
    }

    const Frames &frames_;
    const size_t depth_;
    std::map<Numbers, uint32_t> events_, sequences_;
    std::vector<size_t> sizes_; // event nodes below, by number
};

/* Count the event nodes, and collect operation and innermost frame of each. */
size_t collect(const std::vector<Node *> &nodes, const Frames &frames, std::set<Numbers> &sites) {
    size_t n = 0;
    for (const Node *node : nodes) {
        if (node->leaf()) sites.insert(frames.key(node, 1));
        n += node->leaf() ? 1 : collect(node->kids, frames, sites);
    }
    return n;
}

} // namespace

DepthAdvice advised_depth(const std::vector<Node *> &roots, const Tables &tables) {
    size_t nleaves = 0;
    for (const Node *root : roots) nleaves += root->nleaves;
    if (nleaves < kMinNodes || nleaves > kMaxNodes) return {};
    const Frames frames(tables);
    std::set<Numbers> sites;
    DepthAdvice advice;
    advice.nodes_now = collect(roots, frames, sites);
    if (advice.nodes_now < kMinNodesPerSite * sites.size()) return {};
    size_t low = 0, high = frames.deepest(); // the number of nodes grows with the depth
    const auto limit = static_cast<size_t>(kMaxShare * static_cast<double>(Folding(frames, high).count(roots)));
    while (high > low + 1) {
        const size_t middle = (low + high) / 2, n = Folding(frames, middle).count(roots);
        if (n <= limit)
            low = middle, advice.nodes = n;
        else
            high = middle;
    }
    advice.depth = static_cast<int>(low);
    return advice;
}

} // namespace st
