/* flow_rounds.cpp - see flow_rounds.hpp. */
#include "flow_rounds.hpp"

#include "flows.hpp"
#include "schedules.hpp"

#include <algorithm>
#include <unordered_map>

namespace sim {

void FlowRounds::enter(RoundCall &call, int32_t i) {
    call.members[i].entered = true;
    waiting_.push_back({&call, i});
    run();
}

void FlowRounds::arrive(const FlowOwner &owner, const Clock &at) {
    arrive(*owner.call, owner.to, owner.from, at, owner.send >= 0);
    run();
}

void FlowRounds::run() {
    while (!waiting_.empty()) {
        const auto [call, i] = waiting_.front();
        waiting_.pop_front();
        run_steps(*call, i);
    }
}

void FlowRounds::run_steps(RoundCall &call, int32_t i) {
    RoundCall::Member &member = call.members[i];
    if (!member.entered) return;
    while (member.at < member.steps.size()) {
        const int32_t round = member.steps[member.at].round;
        for (; member.begun < member.steps.size() && member.steps[member.begun].round == round; ++member.begun)
            begin_step(call, i, member.steps[member.begun]);
        if (member.nsending > 0 || !receive_round(call, i)) return;
        member.at = member.begun;
        member.nexpected = 0;
    }
    member.entered = false;
    --call.nleft;
    leave_(call, i);
}

/* Receive the messages of a round in the order of their arrival. False: one is missing. */
bool FlowRounds::receive_round(RoundCall &call, int32_t i) {
    RoundCall::Member &member = call.members[i];
    if (member.arrived.size() < member.nexpected) return false;
    std::vector<std::pair<const st_sim_step *, std::map<RoundCall::From, Clock>::iterator>> messages;
    for (size_t k = member.at; k < member.begun; ++k) {
        const st_sim_step &step = member.steps[k];
        if (step.from < 0) continue;
        const auto arrival = member.arrived.find({step.round, step.from});
        if (arrival == member.arrived.end()) return false;
        messages.emplace_back(&step, arrival);
    }
    std::stable_sort(messages.begin(), messages.end(),
                     [](const auto &a, const auto &b) { return a.second->second.t < b.second->second.t; });
    for (const auto &[step, arrival] : messages) {
        const Cost &cost = network_.cost(call.world(step->from), call.world(i), step->received);
        member.clock = later(member.clock, arrival->second);
        member.arrived.erase(arrival);
        member.clock.add_overhead(cost.recv);
        if (step->reduces)
            member.clock.add_compute(rounded(network_.platform.reduce_per_byte * static_cast<double>(step->received)));
    }
    return true;
}

/* Send the message of a step. One that is not eager starts when its receiver has begun the round, too. */
void FlowRounds::begin_step(RoundCall &call, int32_t i, const st_sim_step &step) {
    RoundCall::Member &member = call.members[i];
    if (member.begun == member.at) member.step = member.clock;
    if (step.from >= 0) {
        ++member.nexpected;
        const auto offer = member.offered.find({step.round, step.from});
        if (offer != member.offered.end()) {
            const Clock start = later(offer->second, member.step);
            member.offered.erase(offer);
            send_part(call, step.from, i, step.round, step.received, start, true);
        }
    }
    if (step.to < 0) return;
    const Cost cost = network_.cost(call.world(i), call.world(step.to), step.sent);
    member.clock.add_overhead(cost.send);
    if (cost.eager || step.to == i) {
        send_part(call, i, step.to, step.round, step.sent, member.clock, false);
        return;
    }
    ++member.nsending;
    RoundCall::Member &other = call.members[step.to];
    const bool is_there =
        other.entered && std::any_of(other.steps.begin() + static_cast<std::ptrdiff_t>(other.at),
                                     other.steps.begin() + static_cast<std::ptrdiff_t>(other.begun),
                                     [&](const st_sim_step &s) { return s.round == step.round && s.from == i; });
    if (is_there)
        send_part(call, i, step.to, step.round, step.sent, later(member.clock, other.step), true);
    else
        other.offered[{step.round, i}] = member.clock;
}

void FlowRounds::send_part(RoundCall &call, int32_t i, int32_t to, int32_t round, int64_t nbytes, Clock start,
                           bool waits) {
    const int32_t from = call.world(i), dest = call.world(to);
    const Cost cost = draws_ ? network_.message(from, dest, nbytes) : network_.cost(from, dest, nbytes);
    if (waits && cost.handshake) start.add_latency(cost.handshake);
    start.add_latency(plus(cost.latency, network_.route_latency(from, dest)));
    if (!network_.uses_links(from, dest, nbytes)) {
        start.add_bandwidth(cost.transfer);
        arrive(call, to, {round, i}, start, waits);
        return;
    }
    FlowOwner owner;
    owner.start = start;
    owner.call = &call;
    owner.to = to;
    owner.from = {round, i};
    owner.send = waits ? 0 : -1;
    start_(owner, {nbytes, cost.transfer});
}

/* A message of a round is there; its sender may have waited for that. */
void FlowRounds::arrive(RoundCall &call, int32_t to, const RoundCall::From &from, const Clock &at, bool sends) {
    call.members[to].arrived[from] = at;
    waiting_.push_back({&call, to});
    if (!sends) return;
    RoundCall::Member &sender = call.members[from.second];
    --sender.nsending;
    sender.clock = later(sender.clock, at);
    waiting_.push_back({&call, from.second});
}

int32_t nflow_links(const Network &network, int32_t nranks) {
    return network.topology()->nlinks() + (network.platform.serializes ? 2 * nranks : 0);
}

double flow_per_byte(const Network &network, int32_t link) {
    const st_sim_network &n = network.platform.network;
    return link < network.topology()->nlinks() ? network.topology()->per_byte(link)
                                               : n.segments[n.nsegments - 1].per_byte;
}

void find_flow_links(const Network &network, int32_t from, int32_t to, std::vector<int32_t> &links) {
    const Topology &topology = *network.topology();
    topology.route(network.node_of(from), network.node_of(to), links);
    if (!network.platform.serializes) return;
    links.push_back(topology.nlinks() + 2 * from);
    links.push_back(topology.nlinks() + 2 * to + 1);
}

namespace {

RoundCall call_of(const RoundLoads::Key &key) {
    RoundCall call;
    call.ranks = key.members;
    call.members.resize(static_cast<size_t>(key.size));
    return call;
}

/* Run a call, of whose members steps and clocks are set. */
FlowTimes run_call(Network &network, RoundCall &call) {
    struct Place {
        FlowOwner owner;
        size_t at; /* of the sender's messages */
    };
    FlowTimes times(call.members.size());
    Flows flows;
    std::unordered_map<int32_t, int32_t> numbers; /* of the links that the call uses */
    std::vector<int32_t> links;
    std::vector<Place> places; /* by flow */
    const auto start = [&](const FlowOwner &owner, const RoundMessage &message) {
        const int32_t from = owner.from.second;
        find_flow_links(network, call.world(from), call.world(owner.to), links);
        for (int32_t &link : links) {
            const auto [known, is_new] = numbers.try_emplace(link, static_cast<int32_t>(numbers.size()));
            if (is_new) flows.add_link(flow_per_byte(network, link));
            link = known->second;
        }
        const auto flow =
            static_cast<size_t>(flows.add(links, static_cast<double>(message.nbytes), message.alone_ps, owner.start.t));
        places.resize(std::max(places.size(), flow + 1));
        size_t at = 0; /* messages of one round may start in another order */
        for (const st_sim_step &step : call.members[from].steps) {
            if (step.round == owner.from.first && step.to == owner.to) break;
            at += step.to >= 0 && network.uses_links(call.world(from), call.world(step.to), step.sent);
        }
        places[flow] = {owner, at};
        times[from].resize(std::max(times[from].size(), at + 1));
    };
    FlowRounds rounds(network, false, start, [](RoundCall &, int32_t) {});
    for (size_t i = 0; i < call.members.size(); ++i) rounds.enter(call, static_cast<int32_t>(i));
    std::vector<Flows::End> ended;
    std::vector<Place> ends; /* numbers of flows are used again */
    while (flows.advance(INT64_MAX, ended)) {
        ends.clear();
        for (const Flows::End &end : ended) ends.push_back(places[end.flow]);
        for (size_t k = 0; k < ends.size(); ++k) {
            Clock at = ends[k].owner.start;
            at.add_bandwidth(std::max<int64_t>(ended[k].at - at.t, 0));
            times[ends[k].owner.from.second][ends[k].at] = at.bandwidth - ends[k].owner.start.bandwidth;
            rounds.arrive(ends[k].owner, at);
        }
    }
    return times;
}

} // namespace

FlowTimes flow_times(Network &network, const RoundLoads::Key &key, const std::vector<int64_t> &entries, int64_t most) {
    RoundCall call = call_of(key);
    int64_t nsteps = 0;
    for (int32_t i = 0; i < key.size; ++i) {
        call.members[i].steps = list_steps(key.algorithm, i, key.root, Sizes(key.size, key.nbytes));
        call.members[i].clock.t = entries[i];
        nsteps += static_cast<int64_t>(call.members[i].steps.size());
        if (nsteps > most) return {};
    }
    return run_call(network, call);
}

int64_t flow_rounds_ps(Network &network, const RoundLoads::Key &key, int32_t first, int32_t end) {
    RoundCall call = call_of(key);
    for (int32_t i = 0; i < key.size; ++i)
        for (const st_sim_step &step : list_steps(key.algorithm, i, key.root, Sizes(key.size, key.nbytes)))
            if (step.round >= first && step.round < end) call.members[i].steps.push_back(step);
    run_call(network, call);
    int64_t last = 0;
    for (const RoundCall::Member &member : call.members) last = std::max(last, member.clock.t);
    return last;
}

} // namespace sim
