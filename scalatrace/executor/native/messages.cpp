/* messages.cpp - messages of the engine: eager and rendezvous, matching, probes, one-sided transfers. */
#include "engine.hpp"

#include <algorithm>

namespace sim {

namespace {

bool fits(const Envelope &wanted, const Envelope &message) {
    return wanted.family == message.family && (wanted.tag == message.tag || wanted.tag == ST_SIM_ANY_TAG) &&
           (wanted.peer == message.peer || wanted.peer == ST_SIM_ANY_SOURCE);
}

bool is_wild(const Envelope &wanted) { return wanted.peer == ST_SIM_ANY_SOURCE; }

/* The transfer of a message over links of which it has a part. */
int64_t shared_ps(const Cost &cost, int64_t nbytes, float link_per_byte) {
    return link_per_byte == 0
               ? cost.transfer
               : std::max(cost.transfer, rounded(static_cast<double>(nbytes) * static_cast<double>(link_per_byte)));
}

/* When a message can be received at the earliest. */
int64_t arrival_ps(const Message &m) { return plus(m.at.t, m.eager ? m.transfer : m.latency); }

} // namespace

void Engine::start_send(int32_t r, int32_t request) {
    Rank &rank = ranks_[r];
    Request &send = requests_[request];
    send.busy_from = rank.clock.t;
    if (send.to.peer < 0 || (choices_ && !choices_->is_there(send.to.peer))) {
        send.clock = rank.clock;
        send.state = Request::kDone;
        return;
    }
    if (send.to.peer >= program_.nranks)
        throw TraceError("rank " + std::to_string(r) + " sends to rank " + std::to_string(send.to.peer));
    const int32_t flags = program_.nodes[send.node].flags;
    const Cost &cost = network_.message(home(r), send.to.peer, send.nbytes);
    rank.clock.add_overhead(cost.send);
    const int32_t number = messages_.add();
    Message &message = messages_[number];
    message.from = {home(r), send.to.family, send.to.tag};
    message.process = r;
    const bool waits = choices_ ? choices_->p.synchronous : !cost.eager;
    message.eager = (!waits || flags & ST_SIM_BUFFERED) && !(flags & ST_SIM_SYNCHRONOUS);
    message.node = send.node;
    message.transfer = shared_ps(cost, send.nbytes, send.link_per_byte);
    message.latency = plus(cost.latency, network_.route_latency(home(r), send.to.peer));
    message.handshake = cost.handshake;
    message.recv = cost.recv;
    message.at = rank.clock;
    if (path_) {
        sending_ends_.resize(std::max(sending_ends_.size(), static_cast<size_t>(number) + 1));
        sending_ends_[number] = origins_[request].own = {r, rank.calls, rank.clock.t};
    }
    const bool flows = is_flow(home(r), send.to.peer, send.nbytes);
    if (platform_.serializes && !flows) {
        /* In the order of the sends: those that wait for a rendezvous keep their place, too, so that times do not
         * depend on the order in which ranks are simulated. */
        message.at = later(message.at, rank.interface_free);
        rank.interface_free = message.at;
        rank.interface_free.add_bandwidth(std::max(message.transfer, cost.gap));
    }
    message.busy_from = message.at.t;
    if (message.eager) {
        message.at.add_latency(message.latency);
        send.clock = rank.clock;
        send.state = Request::kDone;
        if (flows) {
            FlowOwner owner;
            owner.start = message.at;
            owner.dest = send.to.peer;
            message.flow = start_flow(home(r), send.to.peer, send.nbytes, message.transfer, owner, send.node);
        }
    } else {
        message.request = request;
        send.state = Request::kPending;
    }
    deliver(send.to.peer, number);
}

void Engine::start_recv(int32_t r, int32_t request) {
    Rank &rank = ranks_[r], &box = ranks_[home(r)];
    Request &receive = requests_[request];
    receive.clock = rank.clock;
    receive.busy_from = rank.clock.t;
    receive.transfer = receive.recv = 0;
    if (choices_ ? !prepare_receive(request) : receive.to.peer < 0 && !is_wild(receive.to)) {
        receive.state = Request::kMatched;
        return;
    }
    receive.state = Request::kPending;
    if (is_wild(receive.to)) {
        note_wild(home(r));
        ++box.nopen;
    } else if (take(home(r), request, box.posted.size())) {
        return;
    }
    box.posted.push_back({receive.to, request});
}

/* A receive that no message has matched is complete at once. Other requests go on. */
void Engine::cancel(int32_t r, int32_t request) {
    Rank &rank = ranks_[r], &box = ranks_[home(r)];
    if (find_posted(box, request) == box.posted.end()) return;
    close(box, request);
    Request &receive = requests_[request];
    if (choices_) {
        choices_->fill(choices_->asked[request].slot, ST_SIM_PROC_NULL, 0);
        choices_->fill(choices_->asked[request].creator, ST_SIM_PROC_NULL, 0);
    }
    receive.state = Request::kMatched;
    receive.clock = rank.clock;
    receive.busy_from = rank.clock.t;
    take_matches(home(r));
    note_wild(home(r)); /* what is known of its wildcards is not true any more */
}

/* Match a receive with a message that has been sent, unless an earlier receive from any source may want that one. */
bool Engine::take(int32_t r, int32_t request, size_t posted_before) {
    Rank &rank = ranks_[r];
    const Envelope wanted = requests_[request].to;
    for (size_t i = 0; i < rank.arrived.size(); ++i) {
        const Envelope &from = rank.arrived[i].envelope;
        if (!fits(wanted, from)) continue;
        if (is_wanted(rank, from, posted_before)) return false;
        if (platform_.match_entry > 0)
            ranks_[requests_[request].owner].clock.add_overhead(
                rounded(platform_.match_entry * static_cast<double>(i + 1)));
        match_arrived(r, request, i);
        return true;
    }
    return false;
}

std::vector<QueueEntry>::iterator Engine::find_posted(Rank &rank, int32_t request) const {
    return std::find_if(rank.posted.begin(), rank.posted.end(),
                        [&](const QueueEntry &entry) { return entry.number == request; });
}

/* Remove a receive from those that are posted. */
void Engine::close(Rank &rank, int32_t request) {
    if (is_wild(requests_[request].to)) --rank.nopen;
    rank.posted.erase(find_posted(rank, request));
}

/* Match a receive with a message that has arrived, which a probe leaves. */
void Engine::match_arrived(int32_t dest, int32_t request, size_t place) {
    Rank &rank = ranks_[dest];
    const int32_t number = rank.arrived[place].number;
    const bool stays = requests_[request].probes;
    if (!stays) rank.arrived.erase(rank.arrived.begin() + static_cast<std::ptrdiff_t>(place));
    match(dest, request, number);
    if (!stays) messages_.drop(number);
}

/* A message is sent: it is matched, or kept. */
void Engine::deliver(int32_t dest, int32_t number) {
    Rank &rank = ranks_[dest];
    Message &message = messages_[number];
    bool wild = false;
    for (size_t i = 0; i < rank.posted.size(); ++i) {
        const auto [wanted, request] = rank.posted[i];
        if (!fits(wanted, message.from)) continue;
        wild = is_wild(wanted);
        if (wild) break; /* the message that arrives first is not known yet */
        if (is_overtaking(rank, wanted, message.from)) break;
        rank.posted.erase(rank.posted.begin() + static_cast<std::ptrdiff_t>(i));
        const bool stays = requests_[request].probes;
        if (platform_.match_entry > 0 && !stays)
            message.at.add_overhead(rounded(platform_.match_entry * static_cast<double>(i + 1)));
        match(dest, request, number);
        if (stays) break;
        messages_.drop(number);
        return;
    }
    rank.arrived.push_back({message.from, number});
    if (message.flow >= 0) flow_owners_[message.flow].message = number;
    if (choices_) {
        choices_->sent.resize(std::max(choices_->sent.size(), static_cast<size_t>(number) + 1));
        if (choices_->box(message.from.family, dest)) choices_->sent[number] = when(message.process);
    }
    if (wild) note_wild(dest);
    wake_probes(dest);
}

/* A message may be what probes of a rank wait for. */
void Engine::wake_probes(int32_t dest) {
    if (ranks_[dest].probes) wake(dest);
    if (threads_.empty()) return;
    for (const int32_t thread : threads_[dest])
        if (ranks_[thread].probes) wake(thread);
}

/* Whether an earlier message of the same sender fits a receive; it is left since a receive from any source may want it. */
bool Engine::is_overtaking(const Rank &rank, const Envelope &wanted, const Envelope &from) const {
    return std::any_of(rank.arrived.begin(), rank.arrived.end(), [&](const QueueEntry &earlier) {
        return earlier.envelope.peer == from.peer && fits(wanted, earlier.envelope);
    });
}

void Engine::match(int32_t dest, int32_t request, int32_t number) {
    const Message &message = messages_[number];
    Request &receive = requests_[request];
    const int32_t source = message.from.peer;
    receive.transfer = message.transfer;
    receive.recv = message.recv;
    receive.state = Request::kMatched;
    if (choices_) note_match(dest, request, message);
    if (receive.probes) {
        done(request);
        return;
    }
    if (path_) origins_[request].other = sending_ends_[number];
    if (message.eager) {
        receive.clock = message.at;
        receive.busy_from = message.busy_from;
        if (message.flow >= 0) { /* it ends with the flow */
            flow_owners_[message.flow].message = -1;
            flow_owners_[message.flow].request = request;
            receive.state = Request::kPending;
            return;
        }
    } else {
        receive.clock = later(message.at, receive.clock);
        receive.busy_from = receive.clock.t;
        receive.clock.add_latency(message.handshake);
        receive.clock.add_latency(message.latency);
        Request &send = requests_[message.request];
        send.busy_from = receive.busy_from;
        if (path_) origins_[message.request].other = origins_[request].own;
        if (is_flow(source, dest, send.nbytes)) {
            FlowOwner owner;
            owner.start = receive.clock;
            owner.dest = dest;
            owner.request = request;
            owner.send = message.request;
            start_flow(source, dest, send.nbytes, message.transfer, owner, send.node);
            receive.state = Request::kPending;
            return;
        }
        send.clock = receive.clock;
        send.clock.add_bandwidth(receive.transfer);
        send.state = Request::kDone;
        done(message.request);
    }
    steady_.depends(source, dest, !message.eager);
    done(request);
}

/* The rank has the message: it waits for the sender, then for the transfer, then copies. */
void Engine::receive(int32_t r, int32_t number, int64_t *parts) {
    Rank &rank = ranks_[r];
    const Request &request = requests_[number];
    Clock arrival = request.clock;
    if (platform_.serializes && request.transfer > 0) {
        if (plus(arrival.t, request.transfer) > rank.receives_from) arrival = later(arrival, rank.receives_until);
        rank.receives_from = arrival.t;
    }
    arrival.add_bandwidth(request.transfer);
    if (platform_.serializes && request.transfer > 0) rank.receives_until = arrival;
    const int64_t gap = arrival.t - rank.clock.t;
    if (gap > 0) {
        const int64_t wait = std::clamp<int64_t>(request.busy_from - rank.clock.t, 0, gap);
        parts[ST_SIM_WAITING] += wait;
        parts[ST_SIM_TRANSFER] += gap - wait;
        hop(r, request.clock, number);
        rank.clock = arrival;
        rank.clock.rank = r;
    }
    rank.clock.add_overhead(request.recv);
    parts[ST_SIM_TRANSFER] += request.recv;
}

/* Match posted receives with messages that wildcards before them have left. */
void Engine::take_matches(int32_t r) {
    Rank &rank = ranks_[r];
    for (size_t k = 0; k < rank.posted.size();) {
        const auto [wanted, request] = rank.posted[k];
        if (!is_wild(wanted) && take(r, request, k))
            rank.posted.erase(rank.posted.begin() + static_cast<std::ptrdiff_t>(k));
        else
            ++k;
    }
}

/* Where the message is that arrives first, at `arrival`, of those that fit; SIZE_MAX: none. Of one sender only the first
 * one counts, since no later one may overtake it. What one of the first `posted_before` receives may take is not given
 * to a later one. */
size_t Engine::first_message(const Rank &rank, const Envelope &wanted, size_t posted_before, int64_t &arrival) {
    size_t first = SIZE_MAX;
    arrival = INT64_MAX;
    seen_.resize(ranks_.size());
    ++nsearches_;
    for (size_t i = 0; i < rank.arrived.size(); ++i) {
        const auto &[from, number] = rank.arrived[i];
        if (!fits(wanted, from) || seen_[from.peer] == nsearches_) continue;
        seen_[from.peer] = nsearches_;
        const Message &message = messages_[number];
        if (message.flow >= 0) continue; /* it arrives after all that is known */
        if (arrival_ps(message) >= arrival || is_wanted(rank, from, posted_before)) continue;
        arrival = arrival_ps(message), first = i;
    }
    return first;
}

/* Whether one of the first `count` posted receives fits a message. */
bool Engine::is_wanted(const Rank &rank, const Envelope &from, size_t count) const {
    return std::any_of(rank.posted.begin(), rank.posted.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const QueueEntry &entry) { return fits(entry.envelope, from); });
}

/* The receive from any source of a rank that can be matched first, and the message that it takes. All of them are tried:
 * the one that was posted first may get its message last. Equal ones are tried once. */
Engine::Candidate Engine::candidate(int32_t r) {
    const Rank &rank = ranks_[r];
    Candidate best{INT64_MAX, 0, 0};
    tried_.clear();
    for (size_t k = 0; k < rank.posted.size(); ++k) {
        const auto &[wanted, request] = rank.posted[k];
        if (!is_wild(wanted)) continue;
        const bool again =
            std::any_of(tried_.begin(), tried_.end(), [&](const Envelope &earlier) { return fits(earlier, wanted); });
        if (again) continue;
        tried_.push_back(wanted);
        int64_t arrival;
        const size_t message = first_message(rank, wanted, k, arrival);
        if (message == SIZE_MAX) continue;
        const int64_t at = std::max(arrival, requests_[request].clock.t);
        if (at < best.at) best = {at, k, message};
    }
    return best;
}

/* The candidate of a rank may be another one now. */
void Engine::note_wild(int32_t r) {
    if (ranks_[r].wild_changed) return;
    ranks_[r].wild_changed = true;
    wild_changed_.push_back(r);
}

/* Match receives from any source, when no rank can run otherwise. A message that is not sent yet arrives after the
 * earliest match here by at least the latency, so all matches before that are certain. Candidates are kept by their
 * time: those of most ranks do not change from one call to the next. */
bool Engine::match_wildcards() {
    find_candidates();
    int64_t certain = INT64_MAX;
    bool any = false;
    while (!wild_.empty() && wild_.top().at <= certain) {
        const WildMatch first = wild_.top();
        wild_.pop();
        Rank &rank = ranks_[first.rank];
        if (first.version != rank.wild_version) continue;
        if (!any) certain = flows_ ? first.at : plus(first.at, lookahead_);
        any = true;
        const Candidate found = candidate(first.rank);
        if (found.at == INT64_MAX) continue;
        const int32_t request = rank.posted[found.posted].number;
        close(rank, request);
        match_arrived(first.rank, request, found.message);
        take_matches(first.rank);
        note_wild(first.rank);
    }
    return any;
}

/* The time of the first candidate; INT64_MAX: none. */
int64_t Engine::first_candidate() {
    while (!wild_.empty() && wild_.top().version != ranks_[wild_.top().rank].wild_version) wild_.pop();
    return wild_.empty() ? INT64_MAX : wild_.top().at;
}

/* Find the candidates of ranks where they may be others. */
void Engine::find_candidates() {
    for (const int32_t r : wild_changed_) {
        Rank &rank = ranks_[r];
        rank.wild_changed = false;
        ++rank.wild_version;
        const Candidate found = candidate(r);
        if (found.at < INT64_MAX) wild_.push({found.at, r, rank.wild_version});
    }
    wild_changed_.clear();
}

bool Engine::probe(int32_t r, const st_sim_node &node) {
    Rank &rank = ranks_[r];
    Envelope wanted;
    wanted.peer = static_cast<int32_t>(field(node.peer, r));
    wanted.tag = static_cast<int32_t>(field(node.tag, r));
    wanted.family = channel_of(field(node.family, r), node);
    if (wanted.peer < 0 && wanted.peer != ST_SIM_ANY_SOURCE) return true;
    const Rank &box = ranks_[home(r)];
    int64_t arrival_of_first;
    const size_t place = first_message(box, wanted, 0, arrival_of_first);
    rank.probes = place == SIZE_MAX;
    if (rank.probes) return false;
    const int32_t number = box.arrived[place].number;
    const Message *first = &messages_[number];
    Clock arrival = first->at;
    if (first->eager)
        arrival.add_bandwidth(first->transfer);
    else
        arrival.add_latency(first->latency);
    if (arrival.t > rank.clock.t) {
        const int64_t gap = arrival.t - rank.clock.t;
        const int64_t wait = std::clamp<int64_t>(first->busy_from - rank.clock.t, 0, gap);
        add(result_.by_node[rank.node * ST_SIM_PARTS + ST_SIM_WAITING], wait);
        result_.by_rank[home(r) * ST_SIM_PARTS + ST_SIM_WAITING] += wait;
        add(result_.by_node[rank.node * ST_SIM_PARTS + ST_SIM_TRANSFER], gap - wait);
        result_.by_rank[home(r) * ST_SIM_PARTS + ST_SIM_TRANSFER] += gap - wait;
        if (path_ && !path_->found()) path_->hop(r, rank.calls, sending_ends_[number]);
        rank.clock = arrival;
        rank.clock.rank = r;
    }
    steady_.depends(first->from.peer, r, false);
    return true;
}

/* A put ends with its acknowledgement, a get with the data: one more latency. */
void Engine::one_sided(int32_t r, const st_sim_node &node, bool get) {
    Rank &rank = ranks_[r];
    const int64_t target = field(node.peer, r);
    if (target >= 0 && target < program_.nranks) {
        const int64_t nbytes = std::max<int64_t>(field(node.nbytes, r), 0);
        const Cost &cost = network_.message(home(r), static_cast<int32_t>(target), nbytes);
        const int64_t transfer = shared_ps(cost, nbytes, link_per_byte(r, node));
        const int64_t latency = plus(cost.latency, network_.route_latency(home(r), static_cast<int32_t>(target)));
        rank.clock.add_overhead(cost.send);
        if (is_flow(home(r), static_cast<int32_t>(target), nbytes)) {
            start_transfer(r, node, cost, latency);
            return;
        }
        Clock end = rank.clock;
        if (platform_.serializes && !get) {
            end = later(end, rank.interface_free);
            rank.interface_free = end;
            rank.interface_free.add_bandwidth(std::max(transfer, cost.gap));
        }
        end.add_latency(latency);
        end.add_bandwidth(transfer);
        end.add_latency(latency);
        rank.one_sided = later(rank.one_sided, end);
    }
    if (node.flags & ST_SIM_NONBLOCKING) own_done(r, rank.one_sided, node);
}

} // namespace sim
