/* engine_flows.cpp - messages of the engine as flows: their ends, and the members of collective calls. */
#include "engine.hpp"
#include "schedules.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int64_t kMaxSteps = 1 << 26; /* of all members of a call: 2 GB */

} // namespace

void Engine::make_flows() {
    flows_ = std::make_unique<Flows>();
    for (int32_t link = 0; link < nflow_links(network_, program_.nranks); ++link)
        flows_->add_link(flow_per_byte(network_, link));
    transfers_.resize(ranks_.size());
    flow_rounds_ = std::make_unique<FlowRounds>(
        network_, true,
        [this](const FlowOwner &owner, const RoundMessage &message) {
            const RoundCall &call = *owner.call;
            const int32_t node = requests_[call.members[owner.from.second].request].node;
            start_flow(call.world(owner.from.second), call.world(owner.to), message.nbytes, message.alone_ps, owner,
                       node);
        },
        [this](RoundCall &call, int32_t i) { leave_rounds(call, call.members[i]); });
}

bool Engine::is_flow(int32_t from, int32_t to, int64_t nbytes) const {
    return flows_ && network_.uses_links(from, to, nbytes);
}

/* Start a message whose first byte arrives at the owner's start. */
int32_t Engine::start_flow(int32_t from, int32_t to, int64_t nbytes, int64_t alone_ps, const FlowOwner &owner,
                           int32_t node) {
    find_flow_links(network_, from, to, route_);
    if (result_.link_bytes)
        for (const int32_t link : route_)
            if (link < network_.topology()->nlinks())
                link_uses_[static_cast<uint64_t>(link) << 32 | static_cast<uint32_t>(node)] +=
                    static_cast<double>(nbytes);
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
        flow_rounds_->arrive(owner, clock);
        return;
    }
    if (owner.reply) clock.add_latency(owner.reply);
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

/* One-sided transfers. */

/* The bytes of a one-sided transfer are a flow, from the rank's clock on. */
void Engine::start_transfer(int32_t r, const st_sim_node &node, const Cost &cost, int64_t latency) {
    const auto add = [&] {
        const int32_t request = make_request(r, Request::kSend, node);
        requests_[request].busy_from = ranks_[r].clock.t;
        requests_[request].state = Request::kPending;
        return request;
    };
    const bool gets = node.op == ST_SIM_GET;
    const auto target = static_cast<int32_t>(field(node.peer, r));
    FlowOwner owner;
    owner.start = ranks_[r].clock;
    owner.start.add_latency(latency);
    if (gets)
        owner.start.add_latency(latency);
    else
        owner.reply = latency;
    owner.send = add();
    transfers_[r].push_back(owner.send);
    if (node.flags & ST_SIM_NONBLOCKING) {
        owner.request = add();
        own(r, owner.request);
    }
    start_flow(gets ? target : home(r), gets ? home(r) : target, cost.nbytes, cost.transfer, owner, ranks_[r].node);
}

/* The current call waits for the rank's one-sided transfers. False: all have ended. */
bool Engine::await_transfers(int32_t r) {
    Rank &rank = ranks_[r];
    rank.clock = later(rank.clock, rank.one_sided);
    if (!flows_ || transfers_[r].empty()) return false;
    for (const int32_t request : transfers_[r]) await(r, request);
    transfers_[r].clear();
    return true;
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
    flow_rounds_->enter(call, position);
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

/* A member has made all steps of a call. */
void Engine::leave_rounds(RoundCall &call, const RoundCall::Member &member) {
    Request &request = requests_[member.request];
    request.clock = member.clock;
    request.busy_from = std::min(call.last, member.clock.t);
    if (path_ && member.clock.rank >= 0)
        origins_[member.request].other = call.members[call.positions[member.clock.rank]].origin;
    request.state = Request::kDone;
    done(member.request);
}

} // namespace sim
