/* choices.cpp - see choices.hpp. */
#include "choices.hpp"

#include "random.hpp"

#include <algorithm>
#include <tuple>

namespace sim {

namespace {

constexpr size_t kMaxDecisions = 64;

bool is_open(const Kind &kind) { return kind.first == ST_SIM_ANY_SOURCE || kind.second == ST_SIM_ANY_TAG; }

template <class Map, class Key> int64_t count(const Map &counts, const Key &key) {
    const auto at = counts.find(key);
    return at == counts.end() ? 0 : at->second;
}

} // namespace

int64_t Choices::Box::spare(int32_t source, int32_t tag) const {
    return std::min(count(left, source), count(left_of_tag, Kind{source, tag}));
}

Choices::Choices(const st_sim_matching &parameters, const st_sim_program &program)
    : p(parameters), nranks_(program.nranks), log_of_(static_cast<size_t>(program.nnodes), -1) {
    for (const st_sim_certain *c = p.certain; c < p.certain + p.ncertain; ++c)
        certain_[{{c->channel, c->dest}, {c->source, c->tag}}] = {c->only_source, c->only_tag};
    for (const st_sim_kind *k = p.sent; k < p.sent + p.nsent; ++k) {
        Box &box = boxes[{k->channel, k->dest}];
        box.left[k->source] += k->count;
        box.left_of_tag[{k->source, k->tag}] += k->count;
        box.sent[{k->source, k->tag}] += k->count;
    }
    std::map<std::pair<int32_t, int32_t>, Counts> wanted;
    for (const st_sim_kind *k = p.wanted; k < p.wanted + p.nwanted; ++k) {
        wanted[{k->channel, k->dest}][{k->source, k->tag}] += k->count;
        if (k->source == ST_SIM_ANY_SOURCE) continue;
        Box &box = boxes[{k->channel, k->dest}];
        box.left[k->source] -= k->count;
        if (k->tag != ST_SIM_ANY_TAG) box.left_of_tag[{k->source, k->tag}] -= k->count;
    }
    for (auto &[key, kinds] : wanted)
        if (std::any_of(kinds.begin(), kinds.end(), [](const auto &entry) { return is_open(entry.first); })) {
            Box &box = boxes[key];
            box.quota.emplace(box.sent, std::move(kinds));
        }
    int32_t n = 0;
    for (int32_t i = 0; p.recording && i < program.nnodes; ++i)
        if (program.nodes[i].flags & ST_SIM_RECORDED) log_of_[i] = n++;
    logs_.resize(static_cast<size_t>(n) * static_cast<size_t>(nranks_));
}

Kind Choices::certain(int32_t channel, int32_t dest, const Kind &kind) const {
    if (!is_open(kind)) return kind;
    const auto at = certain_.find({{channel, dest}, kind});
    return at == certain_.end() ? kind : at->second;
}

Choices::Box *Choices::box(int32_t channel, int32_t dest) {
    const auto at = boxes.find({channel, dest});
    return at == boxes.end() ? nullptr : &at->second;
}

bool Choices::before(const SenderOption &a, const SenderOption &b) const {
    switch (p.policy) {
    case ST_SIM_CAREFUL: /* the recorded run where that shows, else the order of the program's text, and in turns */
        return std::forward_as_tuple(!a.hinted, *a.when, a.chosen, a.distance) <
               std::forward_as_tuple(!b.hinted, *b.when, b.chosen, b.distance);
    case ST_SIM_IN_TURNS:
        return std::make_tuple(!a.hinted, a.chosen, a.distance) < std::make_tuple(!b.hinted, b.chosen, b.distance);
    case ST_SIM_FAIR:
        return std::forward_as_tuple(*a.when, a.chosen, a.distance) <
               std::forward_as_tuple(*b.when, b.chosen, b.distance);
    case ST_SIM_ADVERSE: /* what other receives need */
        return std::make_pair(a.spare, a.source) < std::make_pair(b.spare, b.source);
    case ST_SIM_HIGHEST:
        return a.source > b.source;
    default:
        return a.source < b.source;
    }
}

const SenderOption *Choices::best(const std::vector<SenderOption> &candidates, bool forced) {
    const bool spares = p.policy <= ST_SIM_FAIR || p.policy == ST_SIM_DRAWN;
    const SenderOption *result = nullptr;
    std::pair<bool, double> least;
    for (const SenderOption &each : candidates) {
        if (spares && !forced && !each.allowed) continue;
        if (p.policy == ST_SIM_DRAWN) {
            const uint64_t draw = mixed(p.seed) + 2 * draws_++;
            const std::pair<bool, double> drawn{!each.hinted && unit(draw) < 0.5, unit(draw + 1)};
            if (!result || drawn < least) result = &each, least = drawn;
        } else if (!result || before(each, *result)) {
            result = &each;
        }
    }
    return result;
}

void Choices::note_decision(int32_t rank, int32_t source, int32_t node) {
    decisions.push_back({rank, source, node});
    if (decisions.size() > kMaxDecisions) decisions.pop_front();
}

int32_t Choices::add_slot(int32_t node, int32_t rank, int32_t family) {
    const auto slot = static_cast<int32_t>(slots.size());
    slots.push_back({0, 0, family, ST_SIM_UNFILLED});
    if (records(node)) log(node, rank).entries.push_back(slot);
    return slot;
}

void Choices::add_start(int32_t node, int32_t rank, const std::vector<int32_t> &started) {
    if (!records(node)) return;
    std::vector<int32_t> &entries = log(node, rank).entries;
    entries.push_back(static_cast<int32_t>(slots.size()));
    slots.push_back({static_cast<int32_t>(started.size()), 0, 0, ST_SIM_STARTED});
    entries.insert(entries.end(), started.begin(), started.end());
}

/* A message has come; of a persistent request, messages of several starts may differ. */
void Choices::fill(int32_t slot, int32_t source, int32_t tag) {
    if (slot < 0) return;
    st_sim_slot &s = slots[slot];
    if (s.state == ST_SIM_UNFILLED)
        s.source = source, s.tag = tag, s.state = ST_SIM_FILLED;
    else if (s.source != source || s.tag != tag)
        s.state = ST_SIM_DIFFERS;
}

} // namespace sim
