/* flow_rounds.cpp - messages of the engine as flows: their ends, and collective calls whose rounds are flows. */
#include "flow_rounds.hpp"

#include "engine.hpp"
#include "schedules.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int64_t kMaxSteps = 1 << 26; /* of all members of a call: 2 GB */

} // namespace

/* Links of the topology, then of the ranks' interfaces: up and down. */
void Engine::make_flows() {
    const Topology &topology = *network_.topology();
    std::vector<double> per_byte;
    for (int32_t i = 0; i < topology.nlinks(); ++i) per_byte.push_back(topology.per_byte(i));
    if (platform_.serializes) {
        const st_sim_network &n = platform_.network;
        per_byte.resize(per_byte.size() + 2 * static_cast<size_t>(program_.nranks),
                        n.segments[n.nsegments - 1].per_byte);
    }
    flows_ = std::make_unique<Flows>(per_byte);
}

bool Engine::is_flow(int32_t from, int32_t to, int64_t nbytes) const {
    return flows_ && nbytes > 0 && from != to && network_.node_of(from) != network_.node_of(to);
}

/* Start a message whose first byte arrives at the owner's start. */
int32_t Engine::start_flow(int32_t from, int32_t to, int64_t nbytes, int64_t alone_ps, const FlowOwner &owner,
                           int32_t node) {
    const Topology &topology = *network_.topology();
    topology.route(network_.node_of(from), network_.node_of(to), route_);
    if (result_.link_bytes)
        for (const int32_t link : route_)
            link_uses_[static_cast<uint64_t>(link) << 32 | static_cast<uint32_t>(node)] += static_cast<double>(nbytes);
    if (platform_.serializes) {
        route_.push_back(topology.nlinks() + 2 * from);
        route_.push_back(topology.nlinks() + 2 * to + 1);
    }
    const int32_t flow = flows_->add(route_, static_cast<double>(nbytes), alone_ps, owner.start.t);
    flow_owners_.resize(std::max(flow_owners_.size(), static_cast<size_t>(flow) + 1));
    flow_owners_[flow] = owner;
    return flow;
}

/* Add up the bytes of each link. */
void Engine::report_links() {
    const auto use = [&](int32_t link, int32_t node, double nbytes) {
        result_.link_bytes[link] += nbytes;
        if (nbytes < result_.link_most[link] ||
            (nbytes == result_.link_most[link] && result_.link_node[link] >= 0 && node > result_.link_node[link]))
            return;
        result_.link_most[link] = nbytes;
        result_.link_node[link] = node;
    };
    if (round_loads_) {
        std::unordered_map<uint64_t, double> uses;
        round_loads_->each_use(result_.calls, [&](int32_t link, int32_t node, double nbytes) {
            uses[static_cast<uint64_t>(link) << 32 | static_cast<uint32_t>(node)] += nbytes;
        });
        link_uses_.swap(uses);
    }
    for (const auto &[key, nbytes] : link_uses_)
        use(static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & UINT32_MAX), nbytes);
}

/* Go on to the next end of flows, or match receives from any source, what comes first. False: neither is there. Every
 * rank waits: what a rank sends from now on starts later. */
bool Engine::advance_flows() {
    find_candidates();
    const int64_t first = first_candidate();
    if (!flows_->advance(first, flow_ends_)) return first < INT64_MAX && match_wildcards();
    std::vector<FlowOwner> owners; /* what follows may use the numbers of the flows again */
    for (const Flows::End &end : flow_ends_) owners.push_back(flow_owners_[end.flow]);
    for (size_t i = 0; i < owners.size(); ++i) end_flow(owners[i], flow_ends_[i].at);
    return true;
}

void Engine::end_flow(const FlowOwner &owner, int64_t at) {
    Clock clock = owner.start;
    clock.add_bandwidth(std::max<int64_t>(at - clock.t, 0));
    if (owner.call) {
        arrive(*owner.call, owner.to, owner.from, clock, owner.send >= 0);
        run_rounds();
        return;
    }
    if (owner.message >= 0) {
        Message &message = messages_[owner.message];
        message.at = clock;
        message.transfer = 0;
        message.flow = -1;
        wake_probes(owner.dest);
        note_wild(owner.dest);
    }
    for (const int32_t number : {owner.send, owner.request}) {
        if (number < 0) continue;
        Request &request = requests_[number];
        request.clock = clock;
        request.transfer = 0;
        request.state = number == owner.send ? Request::kDone : Request::kMatched;
        done(number);
    }
}

/* Collective calls. */

/* A member enters a call. Algorithm and size are those of the member that is first here, since the others are not known. */
void Engine::enter_rounds(Group &group, size_t number, int32_t position, int32_t size, int32_t request,
                          const int32_t *ranks) {
    while (group.calls_under_way.size() <= number) {
        group.calls_under_way.push_back(std::make_unique<RoundCall>());
        group.calls_under_way.back()->members.resize(static_cast<size_t>(size));
        group.calls_under_way.back()->nleft = size;
    }
    RoundCall &call = *group.calls_under_way[number];
    const Request &own = requests_[request];
    const st_sim_node &node = program_.nodes[own.node];
    if (call.algorithm < 0) {
        call.call = {node.collective, size_of_call(node, own.nbytes), std::clamp(own.to.peer, 0, size - 1),
                     (node.flags & ST_SIM_BLOCK_LISTS) != 0};
        const int32_t chosen = choose_algorithm(platform_.rules, platform_.nrules, call.call, size);
        call.algorithm = usable_algorithm(chosen, size, true);
        call.ranks = ranks;
    } else if (call.call.collective != node.collective) {
        throw TraceError("members of a communicator make different collective calls, one of them rank " +
                         std::to_string(own.owner));
    }
    RoundCall::Member &member = call.members[position];
    member.entered = true;
    member.request = request;
    member.clock = ranks_[own.owner].clock;
    call.last = std::max(call.last, member.clock.t);
    if (path_) {
        member.origin = origins_[request].own;
        call.positions[own.owner] = position;
    }
    member.steps =
        list_steps(call.algorithm, position, call.call.root, Sizes(size, call.call.nbytes, position, nullptr, nullptr));
    if (static_cast<int64_t>(member.steps.size()) * size > kMaxSteps)
        throw TraceError("collective calls of so many ranks have too many messages for flows: use loads");
    requests_[request].state = Request::kPending;
    rounds_.push_back({&call, position});
    run_rounds();
    while (!group.calls_under_way.empty() && group.calls_under_way.front()->nleft == 0) {
        group.calls_under_way.pop_front();
        ++group.ended;
    }
}

/* The size of a call that all members know: the largest one where it depends on the rank only. */
int64_t Engine::size_of_call(const st_sim_node &node, int64_t own) const {
    if (node.nbytes.kind != ST_SIM_PER_RANK) return own;
    return std::max<int64_t>(*std::max_element(node.nbytes.values, node.nbytes.values + program_.nranks), 0);
}

void Engine::run_rounds() {
    while (!rounds_.empty()) {
        const auto [call, position] = rounds_.front();
        rounds_.pop_front();
        run_steps(*call, position);
    }
}

void Engine::run_steps(RoundCall &call, int32_t i) {
    RoundCall::Member &member = call.members[i];
    if (!member.entered) return;
    for (; member.at < member.steps.size(); ++member.at) {
        const st_sim_step &step = member.steps[member.at];
        if (!member.begun) begin_step(call, i, step);
        if (member.sends) return;
        if (step.from >= 0) {
            const auto arrival = member.arrived.find({step.round, step.from});
            if (arrival == member.arrived.end()) return;
            const Cost &cost = network_.cost(call.world(step.from), call.world(i), step.received);
            member.clock = later(member.clock, arrival->second);
            member.arrived.erase(arrival);
            member.clock.add_overhead(cost.recv);
            if (step.reduces)
                member.clock.add_compute(rounded(platform_.reduce_per_byte * static_cast<double>(step.received)));
        }
        member.begun = false;
    }
    member.entered = false;
    --call.nleft;
    Request &request = requests_[member.request];
    request.clock = member.clock;
    request.busy_from = std::min(call.last, member.clock.t);
    if (path_ && member.clock.rank >= 0)
        origins_[member.request].other = call.members[call.positions[member.clock.rank]].origin;
    request.state = Request::kDone;
    done(member.request);
}

/* Send the message of a step. One that is not eager starts when its receiver has begun the round, too. */
void Engine::begin_step(RoundCall &call, int32_t i, const st_sim_step &step) {
    RoundCall::Member &member = call.members[i];
    member.begun = true;
    member.step = member.clock;
    if (step.from >= 0) {
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
    member.sends = true;
    RoundCall::Member &other = call.members[step.to];
    const bool is_there =
        other.entered && other.begun && other.steps[other.at].round == step.round && other.steps[other.at].from == i;
    if (is_there)
        send_part(call, i, step.to, step.round, step.sent, later(member.clock, other.step), true);
    else
        other.offered[{step.round, i}] = member.clock;
}

void Engine::send_part(RoundCall &call, int32_t i, int32_t to, int32_t round, int64_t nbytes, Clock start, bool waits) {
    const int32_t from = call.world(i), dest = call.world(to);
    const Cost cost = network_.message(from, dest, nbytes);
    if (waits && cost.handshake) start.add_latency(cost.handshake);
    start.add_latency(plus(cost.latency, network_.route_latency(from, dest)));
    if (!is_flow(from, dest, nbytes)) {
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
    start_flow(from, dest, nbytes, cost.transfer, owner, requests_[call.members[i].request].node);
}

/* A message of a round is there; its sender may have waited for that. */
void Engine::arrive(RoundCall &call, int32_t to, const RoundCall::From &from, const Clock &at, bool sends) {
    call.members[to].arrived[from] = at;
    rounds_.push_back({&call, to});
    if (!sends) return;
    RoundCall::Member &sender = call.members[from.second];
    sender.sends = false;
    sender.clock = later(sender.clock, at);
    rounds_.push_back({&call, from.second});
}

} // namespace sim
