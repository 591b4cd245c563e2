/* loads.cpp - see loads.hpp. */
#include "loads.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sim {

namespace {

constexpr size_t kMaxKept = size_t{1} << 25; /* times of rounds: 256 MB */

/* Routes of messages: links_[starts_[i]] up to links_[starts_[i + 1]]. */
class Routes {
  public:
    Routes(const Network &network, const std::vector<PairMessage> &messages) : starts_{0} {
        std::vector<int32_t> route;
        for (const PairMessage &m : messages) {
            network.topology()->route(network.node_of(m.from), network.node_of(m.to), route);
            links_.insert(links_.end(), route.begin(), route.end());
            starts_.push_back(links_.size());
        }
    }
    size_t begin(size_t i) const { return starts_[i]; }
    size_t end(size_t i) const { return starts_[i + 1]; }
    int32_t operator[](size_t at) const { return links_[at]; }
    size_t size() const { return links_.size(); }

  private:
    std::vector<size_t> starts_;
    std::vector<int32_t> links_;
};

/* For messages of the same rank, key(message), on one link: the sum of their bytes, if it is more than known in `own`. */
template <class K>
void add_own(const std::vector<PairMessage> &messages, const Routes &routes, K &&key, std::vector<double> &sums,
             std::vector<float> &own) {
    std::vector<size_t> order(messages.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(messages[a]) < key(messages[b]); });
    for (size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && key(messages[order[last]]) == key(messages[order[first]])) ++last;
        const auto each = [&](auto &&f) {
            for (size_t k = first; k < last; ++k)
                for (size_t at = routes.begin(order[k]); at < routes.end(order[k]); ++at) f(messages[order[k]], at);
        };
        each([&](const PairMessage &, size_t at) { sums[routes[at]] = 0; });
        each([&](const PairMessage &m, size_t at) { sums[routes[at]] += m.nbytes; });
        each(
            [&](const PairMessage &, size_t at) { own[at] = std::max(own[at], static_cast<float>(sums[routes[at]])); });
    }
}

} // namespace

void LinkLoads::add(int32_t from_node, int32_t to_node, double nbytes) {
    topology_.route(from_node, to_node, route_);
    for (const int32_t link : route_) {
        if (bytes_[link] == 0) used_.push_back(link);
        bytes_[link] += nbytes;
    }
}

double LinkLoads::busy_ps(int32_t from_node, int32_t to_node) {
    topology_.route(from_node, to_node, route_);
    double longest = 0;
    for (const int32_t link : route_) longest = std::max(longest, bytes_[link] * topology_.per_byte(link));
    return longest;
}

void LinkLoads::clear() {
    for (const int32_t link : used_) bytes_[link] = 0;
    used_.clear();
}

void share_links(const Network &network, const std::vector<PairMessage> &messages, float *per_byte) {
    const Topology &topology = *network.topology();
    const Routes routes(network, messages);
    std::vector<double> loads(static_cast<size_t>(topology.nlinks()));
    std::vector<float> own(routes.size());
    if (network.platform.serializes) {
        add_own(messages, routes, [](const PairMessage &m) { return m.from; }, loads, own);
        add_own(messages, routes, [](const PairMessage &m) { return m.to; }, loads, own);
        std::fill(loads.begin(), loads.end(), 0);
    } else {
        for (size_t i = 0; i < messages.size(); ++i)
            std::fill(own.begin() + static_cast<std::ptrdiff_t>(routes.begin(i)),
                      own.begin() + static_cast<std::ptrdiff_t>(routes.end(i)), static_cast<float>(messages[i].own));
    }
    for (size_t i = 0; i < messages.size(); ++i)
        for (size_t at = routes.begin(i); at < routes.end(i); ++at) loads[routes[at]] += messages[i].nbytes;
    for (size_t i = 0; i < messages.size(); ++i) {
        double most = 0;
        for (size_t at = routes.begin(i); at < routes.end(i); ++at)
            if (own[at] > 0)
                most = std::max(most, topology.per_byte(routes[at]) * loads[routes[at]] / static_cast<double>(own[at]));
        per_byte[i] = static_cast<float>(most);
    }
}

bool RoundLoads::Key::operator<(const Key &o) const {
    return std::tie(members, size, algorithm, root, nbytes) <
           std::tie(o.members, o.size, o.algorithm, o.root, o.nbytes);
}

void RoundLoads::begin(const Key &key) {
    std::map<int32_t, int64_t> &calls = calls_[key];
    is_first_ = calls.empty();
    ++calls[node];
    round_.clear();
}

void RoundLoads::take_loads() {
    round_.clear();
    if (!is_first_) return;
    for (const int32_t link : loads.used()) round_.emplace_back(link, loads.bytes(link));
}

void RoundLoads::count(const Key &key, double times) {
    if (!is_first_ || round_.empty()) return;
    std::unordered_map<int32_t, double> &bytes = bytes_[key];
    for (const auto &[link, nbytes] : round_) bytes[link] += times * nbytes;
}

/* Steady loops multiply calls: each counts as often as its node was executed for each call that was run. */
void RoundLoads::each_use(const st_sim_sum *calls, const std::function<void(int32_t, int32_t, double)> &f) const {
    std::map<int32_t, double> run; /* calls of members, by node */
    for (const auto &[key, nodes] : calls_)
        for (const auto &[each, count] : nodes) run[each] += static_cast<double>(count) * key.size;
    for (const auto &[key, bytes] : bytes_)
        for (const auto &[each, count] : calls_.at(key)) {
            const double times = static_cast<double>(count) * static_cast<double>(value(calls[each])) / run[each];
            for (const auto &[link, nbytes] : bytes) f(link, each, times * nbytes);
        }
}

const RoundLoads::Times *RoundLoads::find(const Key &key, int32_t round) const {
    const auto call = kept_.find(key);
    if (call == kept_.end()) return nullptr;
    const auto times = call->second.find(round);
    return times == call->second.end() ? nullptr : &times->second;
}

const RoundLoads::Times *RoundLoads::keep(const Key &key, int32_t round, Times &&times) {
    if (std::all_of(times.begin(), times.end(), [&](int64_t ps) { return ps == times[0]; })) {
        if (times[0] == 0)
            times.clear();
        else
            times.resize(1);
        times.shrink_to_fit();
    }
    if (nkept_ + times.size() > kMaxKept) {
        last_ = std::move(times);
        return &last_;
    }
    nkept_ += times.size();
    return &(kept_[key][round] = std::move(times));
}

} // namespace sim
