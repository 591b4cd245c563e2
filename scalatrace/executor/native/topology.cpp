/* topology.cpp - see topology.hpp. A link's number is twice that of its two directions, plus the direction. */
#include "topology.hpp"

#include "sums.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

namespace sim {

namespace {

int32_t checked(int64_t nlinks) {
    if (nlinks > INT32_MAX) throw std::bad_alloc();
    return static_cast<int32_t>(nlinks);
}

} // namespace

Topology::Topology(const st_sim_topology &topology) : t_(topology) {
    std::vector<int64_t> counts;
    int32_t nclasses = 1;
    const int64_t nnodes = t_.nnodes;
    switch (t_.kind) {
    case ST_SIM_FAT_TREE: {
        nclasses = levels();
        int64_t below = 1; /* switches of a level, or nodes */
        for (int32_t l = 0; l < levels(); ++l) below *= down(l);
        for (int32_t l = 0; l < levels(); ++l) {
            counts.push_back(2 * below * up(l) * cables(l));
            below = below / down(l) * up(l);
        }
        break;
    }
    case ST_SIM_TORUS:
    case ST_SIM_MESH:
        counts = {2 * nnodes * t_.nshape};
        break;
    case ST_SIM_DRAGONFLY: {
        nclasses = 4;
        const int64_t groups = t_.shape[0], chassis = t_.shape[1], blades = t_.shape[2];
        counts = {2 * nnodes, groups * chassis * blades * blades, groups * blades * chassis * chassis, groups * groups};
        break;
    }
    case ST_SIM_GRAPH: {
        nclasses = t_.nshape / 2;
        counts = {t_.nshape};
        next_.resize(static_cast<size_t>(nnodes));
        edge_starts_.resize(static_cast<size_t>(t_.nvertices) + 2);
        for (int32_t i = 0; i < t_.nshape; ++i) ++edge_starts_[t_.shape[i] + 2];
        std::partial_sum(edge_starts_.begin(), edge_starts_.end(), edge_starts_.begin());
        edges_.resize(static_cast<size_t>(t_.nshape));
        for (int32_t i = 0; i < t_.nshape; ++i) edges_[edge_starts_[t_.shape[i] + 1]++] = i;
        break;
    }
    default:
        counts = {2 * nnodes};
    }
    starts_ = {0};
    for (const int64_t count : counts) starts_.push_back(checked(starts_.back() + count));
    nlinks_ = starts_.back();
    has_latency_ = std::any_of(t_.latency, t_.latency + nclasses, [](double ps) { return ps > 0; });
}

int32_t Topology::class_of(int32_t link) const {
    if (t_.kind == ST_SIM_GRAPH) return link / 2;
    int32_t at = 0;
    while (link >= starts_[at + 1]) ++at;
    return at;
}

bool Topology::route(int32_t from, int32_t to, std::vector<int32_t> &links) const {
    links.clear();
    if (from == to) return true;
    switch (t_.kind) {
    case ST_SIM_FAT_TREE:
        climb(from, to, links);
        return true;
    case ST_SIM_TORUS:
    case ST_SIM_MESH:
        walk(from, to, links);
        return true;
    case ST_SIM_DRAGONFLY:
        fly(from, to, links);
        return true;
    case ST_SIM_GRAPH:
        return follow(from, to, links);
    default:
        links = {2 * from, 2 * to + 1};
        return true;
    }
}

int64_t Topology::latency_ps(int32_t from, int32_t to) const {
    if (!has_latency_ || from == to) return 0;
    route(from, to, links_);
    double ps = -t_.own_latency;
    for (const int32_t link : links_) ps += t_.latency[class_of(link)];
    return rounded(std::max(ps, 0.0));
}

/* Up to the first switch above both nodes, then down. A switch of level l has the digits 0 to l - 1 of its number from the
 * ports upwards, and the others from the children of the levels above. */
void Topology::climb(int32_t from, int32_t to, std::vector<int32_t> &links) const {
    int32_t top = 0;
    for (int32_t a = from, b = to; a != b; ++top) a /= down(top), b /= down(top);
    const auto add = [&](int32_t level, int64_t lower, int32_t port, int32_t direction) {
        links.push_back(
            static_cast<int32_t>(starts_[level] + 2 * (lower * up(level) * cables(level) + port) + direction));
    };
    int64_t rest = to, low = 0, scale = 1; /* low: digits of ports so far; scale: their range */
    int32_t above = from;
    for (int32_t l = 0; l < top; ++l) {
        const int32_t ports = up(l) * cables(l);
        const auto port = static_cast<int32_t>(rest % ports);
        rest /= ports;
        add(l, low + scale * above, port, 0);
        low += scale * (port % up(l));
        scale *= up(l);
        above /= down(l);
    }
    int64_t below = 1; /* nodes of a child */
    for (int32_t l = 0; l + 1 < top; ++l) below *= down(l);
    for (int32_t l = top - 1; l >= 0; --l) {
        scale /= up(l);
        const auto digit = static_cast<int32_t>(low / scale);
        low %= scale;
        above = static_cast<int32_t>(to / below);
        if (l > 0) below /= down(l - 1);
        add(l, low + scale * above, digit + from % cables(l) * up(l), 1);
    }
}

/* In a torus, half the way round is gone upwards, but not from the middle. */
void Topology::walk(int32_t from, int32_t to, std::vector<int32_t> &links) const {
    int64_t scale = 1, at = from;
    for (int32_t d = 0; d < t_.nshape; ++d) {
        const int64_t size = t_.shape[d], half = size / 2;
        const int64_t start = from / scale % size, target = to / scale % size;
        const bool wraps = t_.kind == ST_SIM_TORUS;
        const bool upwards =
            wraps ? (target > start && target <= start + half) || (start > half && (start + half) % size >= target)
                  : target > start;
        for (int64_t x = start; x != target;) {
            const int64_t next = upwards ? (x + 1) % size : (x + size - 1) % size;
            const int64_t other = at + (next - x) * scale;
            links.push_back(static_cast<int32_t>(2 * ((upwards ? at : other) * t_.nshape + d) + !upwards));
            at = other;
            x = next;
        }
        scale *= size;
    }
}

int32_t Topology::green(const Router &at, int32_t blade) const {
    const int32_t chassis = t_.shape[1], blades = t_.shape[2];
    return starts_[1] + ((at.group * chassis + at.chassis) * blades + at.blade) * blades + blade;
}

int32_t Topology::black(const Router &at, int32_t chassis) const {
    const int32_t nchassis = t_.shape[1], blades = t_.shape[2];
    return starts_[2] + ((at.group * blades + at.blade) * nchassis + at.chassis) * nchassis + chassis;
}

/* Groups i and j are linked by router j of the first chassis of i, and router i of that of j. */
void Topology::fly(int32_t from, int32_t to, std::vector<int32_t> &links) const {
    const int32_t chassis = t_.shape[1], blades = t_.shape[2], nodes = t_.shape[3];
    const auto router = [&](int32_t node) {
        const int32_t r = node / nodes;
        return Router{r / blades / chassis, r / blades % chassis, r % blades};
    };
    Router at = router(from);
    const Router target = router(to);
    const auto go = [&](int32_t blade, int32_t to_chassis) {
        if (at.blade != blade) links.push_back(green(at, blade));
        at.blade = blade;
        if (at.chassis != to_chassis) links.push_back(black(at, to_chassis));
        at.chassis = to_chassis;
    };
    links.push_back(2 * from);
    if (at.group != target.group) {
        const int32_t group = at.group;
        go(target.group, 0);
        links.push_back(starts_[3] + group * t_.shape[0] + target.group);
        at = {target.group, 0, group};
    }
    go(target.blade, target.chassis);
    links.push_back(2 * to + 1);
}

/* Find the first of the shortest ways from all vertices to a node. */
void Topology::search(int32_t to) const {
    std::vector<int32_t> distance(static_cast<size_t>(t_.nvertices), -1);
    std::vector<int32_t> &next = next_[to];
    next.assign(static_cast<size_t>(t_.nvertices), -1);
    std::deque<int32_t> open = {to};
    distance[to] = 0;
    while (!open.empty()) {
        const int32_t v = open.front();
        open.pop_front();
        for (int32_t i = edge_starts_[v]; i < edge_starts_[v + 1]; ++i) {
            const int32_t back = edges_[i] ^ 1, other = t_.shape[back]; /* the link from `other` */
            if (distance[other] < 0) {
                distance[other] = distance[v] + 1;
                next[other] = back;
                open.push_back(other);
            } else if (distance[other] == distance[v] + 1) {
                next[other] = std::min(next[other], back);
            }
        }
    }
}

bool Topology::follow(int32_t from, int32_t to, std::vector<int32_t> &links) const {
    if (next_[to].empty()) search(to);
    const std::vector<int32_t> &next = next_[to];
    if (next[from] < 0) return false;
    for (int32_t at = from; at != to; at = t_.shape[links.back() ^ 1]) links.push_back(next[at]);
    return true;
}

} // namespace sim
