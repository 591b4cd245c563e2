/* quota.cpp - see quota.hpp. */
#include "quota.hpp"

#include "st_sim.h"

#include <algorithm>

namespace sim {

namespace {

int64_t count(const Counts &counts, const Kind &kind) {
    const auto at = counts.find(kind);
    return at == counts.end() ? 0 : at->second;
}

} // namespace

bool fits(const Kind &receive, const Kind &message) {
    return (receive.first == ST_SIM_ANY_SOURCE || receive.first == message.first) &&
           (receive.second == ST_SIM_ANY_TAG || receive.second == message.second);
}

Quota::Quota(Counts messages, Counts receives)
    : messages_(std::move(messages)), receives_(std::move(receives)), left_(messages_) {
    /* Those that name their sender first: they have no choice. */
    for (auto at = receives_.rbegin(); at != receives_.rend() && whole_; ++at) whole_ = give(at->first, at->second);
}

/* Breadth first search over kinds of messages: from those at the start along receives that could take another kind. */
template <class Ends>
bool Quota::search(std::vector<Kind> queue, const Kind *without, Ends &&ends, Kind &first, Moves &moves) const {
    std::map<Kind, Move> came;
    for (const Kind &kind : queue) came.emplace(kind, Move{kind, kind, kind});
    for (size_t i = 0; i < queue.size(); ++i) {
        const Kind kind = queue[i];
        if (ends(kind)) {
            moves.clear();
            for (first = kind; came.at(first).from != first; first = came.at(first).from)
                moves.push_back(came.at(first));
            std::reverse(moves.begin(), moves.end());
            return true;
        }
        for (const auto &[receive, plan] : plan_) {
            if ((without && receive == *without) || count(plan, kind) <= 0) continue;
            for (const auto &[to, n] : left_)
                if (fits(receive, to) && came.emplace(to, Move{receive, kind, to}).second) queue.push_back(to);
        }
    }
    return false;
}

/* Plan messages for n more receives of a kind. */
bool Quota::give(const Kind &receive, int64_t n) {
    while (n > 0) {
        std::vector<Kind> starts;
        for (const auto &[kind, left] : left_)
            if (fits(receive, kind)) starts.push_back(kind);
        Kind first;
        Moves moves;
        if (!search(starts, nullptr, [&](const Kind &kind) { return left_.at(kind) > 0; }, first, moves)) return false;
        int64_t many = std::min(n, left_.at(moves.empty() ? first : moves.back().to));
        for (const Move &m : moves) many = std::min(many, plan_.at(m.receive).at(m.from));
        move(moves, many);
        left_[first] -= many;
        plan_[receive][first] += many;
        n -= many;
    }
    return true;
}

void Quota::move(const Moves &moves, int64_t n) {
    for (auto at = moves.rbegin(); at != moves.rend(); ++at) {
        plan_[at->receive][at->from] -= n;
        left_[at->from] += n;
        plan_[at->receive][at->to] += n;
        left_[at->to] -= n;
    }
}

/* Moves after which such a message is left, if `receive` gives one of its own. */
bool Quota::free_for(const Kind &message, const Kind &receive, Moves &moves) const {
    const auto plan = plan_.find(receive);
    const auto ends = [&](const Kind &kind) {
        return kind != message && (count(left_, kind) > 0 || (plan != plan_.end() && count(plan->second, kind) > 0));
    };
    Kind first;
    return search({message}, &receive, ends, first, moves);
}

bool Quota::allows(const Kind &receive, const Kind &message) const {
    const auto plan = plan_.find(receive);
    Moves moves;
    return !whole_ || (plan != plan_.end() && count(plan->second, message) > 0) || count(left_, message) > 0 ||
           free_for(message, receive, moves);
}

void Quota::take(const Kind &receive, const Kind &message) {
    --messages_[message];
    --receives_[receive];
    if (whole_ && count(plan_[receive], message) <= 0) whole_ = exchange(receive, message);
    if (whole_) --plan_[receive][message];
}

/* Mend the plan so that it gives this message to a receive of this kind. */
bool Quota::exchange(const Kind &receive, const Kind &message) {
    Counts &own = plan_[receive];
    const auto planned = std::find_if(own.begin(), own.end(), [](const auto &entry) { return entry.second > 0; });
    if (planned == own.end()) return false;
    Kind given = planned->first;
    Moves moves;
    if (count(left_, message) <= 0) {
        if (!free_for(message, receive, moves)) return false;
        if (!moves.empty() && count(own, moves.back().to) > 0) given = moves.back().to;
    }
    --own[given];
    ++left_[given];
    move(moves, 1);
    --left_[message];
    ++own[message];
    return true;
}

Quota Quota::later(const Takings &taken, int64_t times) const {
    Counts messages = messages_, receives = receives_;
    for (const auto &[kinds, n] : taken) {
        receives[kinds.first] -= n * times;
        messages[kinds.second] -= n * times;
    }
    return Quota(std::move(messages), std::move(receives));
}

} // namespace sim
