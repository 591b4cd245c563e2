/* matching.cpp - executions without time: choices of senders, loops that repeat themselves, collective calls.
 *
 * Receives from any source are decided when no rank can run otherwise, so when most messages are there to choose from.
 * With the senders decided a program has one outcome, whatever the order in which ranks run. A choice is made at first
 * only where it is no risk (see Quota, and hints), then where ranks stand at an edge of a loop, then anyway.
 *
 *   ranks run -> decide -> edges -> decide one anyway -> let polls go on -> deadlock
 *
 * In a loop whose iterations are equal, all ranks stop at the edge of each. When an iteration leaves everything as it
 * was before, all further ones do, and are not executed.
 */
#include "engine.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int kMaxAhead = 16; /* calls after a receive that may suggest whose message it got */

} // namespace

/* Receives. */

/* A request is made: keep what its call asks for. */
void Engine::ask(int32_t r, int32_t request) {
    const Request &made = requests_[request];
    const st_sim_node &node = program_.nodes[made.node];
    choices_->asked.resize(std::max(choices_->asked.size(), static_cast<size_t>(request) + 1));
    Asked &asked = choices_->asked[request] = {};
    if (made.kind == Request::kRecv) {
        asked.kind = {made.to.peer, made.to.tag};
        asked.open =
            made.to.peer == ST_SIM_ANY_SOURCE || made.to.tag == ST_SIM_ANY_TAG || node.flags & ST_SIM_CANCELLABLE;
        if (choices_->records(made.node))
            (made.persistent ? asked.creator : asked.slot) = choices_->add_slot(made.node, home(r), made.to.family / 2);
        if (asked.kind.first == ST_SIM_ANY_SOURCE || choices_->is_there(asked.kind.first))
            asked.kind = choices_->certain(made.to.family, home(r), asked.kind);
    } else if (made.kind == Request::kCollective && made.persistent) {
        asked.stream = created_[{home(r), {made.to.family, made.to.tag, field(node.tag2, r), 0, 0}}]++;
    }
}

/* Requests are started: each receive from any source gets a slot of its own. */
void Engine::note_start(int32_t r, const std::vector<int32_t> &requests) {
    const int32_t node = ranks_[r].node;
    if (!choices_->records(node)) return;
    std::vector<int32_t> slots;
    for (const int32_t request : requests) {
        Asked &asked = choices_->asked[request];
        const Request &started = requests_[request];
        asked.slot = -1;
        if (started.kind == Request::kRecv && asked.open) {
            asked.slot = static_cast<int32_t>(choices_->slots.size());
            choices_->slots.push_back({0, 0, started.to.family / 2, ST_SIM_UNFILLED});
        }
        slots.push_back(asked.slot);
    }
    choices_->add_start(node, home(r), slots);
}

/* Set what a receive takes. False: nothing. */
bool Engine::prepare_receive(int32_t request) {
    Request &receive = requests_[request];
    const Asked &asked = choices_->asked[request];
    std::tie(receive.to.peer, receive.to.tag) = asked.kind;
    if (receive.to.peer != ST_SIM_ANY_SOURCE && !choices_->is_there(receive.to.peer)) return false;
    if (choices_->p.keeps_senders && asked.slot >= 0 && asked.creator >= 0) {
        const st_sim_slot &earlier = choices_->slots[asked.creator];
        if (earlier.state != ST_SIM_UNFILLED && earlier.source != ST_SIM_PROC_NULL)
            receive.to.peer = earlier.source, receive.to.tag = earlier.tag;
    }
    return true;
}

void Engine::note_match(int32_t dest, int32_t request, const Message &message) {
    const Asked &asked = choices_->asked[request];
    const Kind kind{message.from.peer, message.from.tag};
    choices_->fill(asked.slot, kind.first, kind.second);
    choices_->fill(asked.creator, kind.first, kind.second);
    ranks_[dest].probed = requests_[request].probes ? kind.first : -1;
    if (requests_[request].probes) return;
    Choices::Box *box = choices_->box(message.from.family, dest);
    if (!box || !box->quota) return;
    box->quota->take(asked.kind, kind);
    choices_->takings.push_back({{message.from.family, dest}, asked.kind, kind});
}

/* No rank can run: decide, or let ranks go on that stopped. False: nothing is left to do. */
bool Engine::choose() {
    bool any = false;
    std::vector<int32_t> changed;
    changed.swap(wild_changed_);
    for (const int32_t r : changed) ranks_[r].wild_changed = false;
    for (const int32_t r : changed) any = decide(r, false) || any;
    if (any || release_edges()) return true;
    for (int32_t r = 0; r < program_.nranks; ++r)
        if (ranks_[r].nopen && decide(r, true)) return true;
    return !choices_->p.polls_wait && leave_polls();
}

/* Decide the open receives of a rank; `forced`: one. */
bool Engine::decide(int32_t r, bool forced) {
    Rank &rank = ranks_[r];
    bool any = false;
    const std::vector<QueueEntry> posted = rank.posted;
    for (const auto &[wanted, request] : posted) {
        if (requests_[request].state != Request::kPending || wanted.peer != ST_SIM_ANY_SOURCE) continue;
        if (!decide_receive(r, request, forced)) continue;
        any = true;
        if (forced) break;
    }
    if (any) note_wild(r);
    return any;
}

bool Engine::decide_receive(int32_t r, int32_t request, bool forced) {
    Rank &rank = ranks_[r];
    const Request &receive = requests_[request];
    const int32_t channel = receive.to.family;
    const auto posted = static_cast<size_t>(find_posted(rank, request) - rank.posted.begin());
    /* Of each sender the first message that fits, unless another receive wants it. */
    std::vector<SenderOption> candidates;
    seen_.resize(ranks_.size());
    ++nsearches_;
    for (size_t i = 0; i < rank.arrived.size(); ++i) {
        const Envelope &from = rank.arrived[i].envelope;
        if (from.family != channel || (receive.to.tag != from.tag && receive.to.tag != ST_SIM_ANY_TAG)) continue;
        if (seen_[from.peer] == nsearches_) continue;
        seen_[from.peer] = nsearches_;
        if (!is_wanted(rank, from, posted))
            candidates.push_back({i, from.peer, from.tag, nullptr, 0, 0, 0, false, true});
    }
    if (candidates.empty()) return false;
    Choices::Box *box = choices_->box(channel, r);
    std::vector<int32_t> senders; /* of messages that are there or may still come */
    for (const SenderOption &each : candidates) senders.push_back(each.source);
    if (box)
        for (const auto &[source, n] : box->left)
            if (n > 0) senders.push_back(source);
    std::sort(senders.begin(), senders.end());
    senders.erase(std::unique(senders.begin(), senders.end()), senders.end());
    const int32_t hint = senders.size() < 2 ? -1 : hinted(r, request, senders);
    const auto is_hinted = [&](const SenderOption &each) { return each.source == hint; };
    if (hint >= 0 && !forced && std::none_of(candidates.begin(), candidates.end(), is_hinted)) return false;
    for (SenderOption &each : candidates) {
        each.when = &choices_->sent[rank.arrived[each.place].number];
        const auto chosen = choices_->chosen.find({r, receive.node, each.source});
        each.chosen = chosen == choices_->chosen.end() ? 0 : chosen->second;
        each.spare = box ? box->spare(each.source, each.tag) : 0;
        each.distance = (each.source - r + program_.nranks) % program_.nranks;
        each.hinted = is_hinted(each);
        each.allowed = receive.probes || !box || box->allows(choices_->asked[request].kind, {each.source, each.tag});
    }
    const SenderOption *best = choices_->best(candidates, forced);
    if (!best) return false;
    if (candidates.size() > 1) choices_->note_decision(r, best->source, receive.node);
    if (!receive.probes) {
        if (box) {
            --box->left[best->source];
            --box->left_of_tag[{best->source, best->tag}];
        }
        ++choices_->chosen[{r, receive.node, best->source}];
    }
    close(rank, request);
    match_arrived(r, request, best->place);
    take_matches(r);
    return true;
}

/* Ranks that poll find nothing, and go on. What they polled for is completed later. */
bool Engine::leave_polls() {
    bool any = false;
    for (int32_t r = 0; r < static_cast<int32_t>(ranks_.size()); ++r) {
        Rank &rank = ranks_[r];
        if (rank.finished || rank.missing == 0 || !(program_.nodes[rank.node].flags & ST_SIM_POLLS)) continue;
        for (const int32_t i : rank.waiting) {
            requests_[i].awaited = false;
            if (!requests_[i].probes) continue;
            if (requests_[i].state == Request::kPending) close(ranks_[home(r)], i);
            requests_.drop(i);
        }
        rank.waiting.clear();
        rank.missing = 0;
        resume(r);
        any = true;
    }
    return any;
}

/* Hints: a manager answers whom it heard. Its first message after it completed a receive goes to the sender. A receive
 * that is pending is followed to the call that completes its request; later requests change its age. */

/* The sender that the next calls of a rank suggest, -1: none of these. */
int32_t Engine::hinted(int32_t dest, int32_t request, const std::vector<int32_t> &senders) {
    const int32_t r = requests_[request].owner;
    const Rank &rank = ranks_[r];
    const auto is_sender = [&](int64_t source) { return std::binary_search(senders.begin(), senders.end(), source); };
    const bool waits = requests_[request].awaited, takes = !requests_[request].probes;
    if (waits && takes && is_sender(ranks_[dest].probed)) return ranks_[dest].probed;
    struct Live {
        bool persistent, followed;
    };
    std::vector<Live> live;
    for (const int32_t i : rank.live) {
        const bool ends = std::find(rank.ending.begin(), rank.ending.end(), i) != rank.ending.end();
        if (ends && !requests_[i].persistent) continue;
        live.push_back({requests_[i].persistent, i == request});
    }
    const auto is_followed = [](const Live &each) { return each.followed; };
    bool completed = waits;
    Cursor cursor{rank.stack, rank.node, rank.left, {}, {}};
    for (int ahead = 0; ahead < kMaxAhead && peek(r, cursor); ++ahead) {
        const st_sim_node &node = program_.nodes[cursor.node];
        const bool makes = node.flags & (ST_SIM_NONBLOCKING | ST_SIM_PERSISTENT);
        if (!completed) {
            if (std::none_of(live.begin(), live.end(), is_followed)) return -1;
            if (makes) {
                live.push_back({(node.flags & ST_SIM_PERSISTENT) != 0, false});
            } else if ((node.op >= ST_SIM_WAIT && node.op <= ST_SIM_WAITSOME) || node.op == ST_SIM_FREE ||
                       node.op == ST_SIM_CANCEL) {
                std::vector<size_t> named;
                for (const int64_t age : ages(node, r, cursor))
                    if (age >= 0 && age < static_cast<int64_t>(live.size()))
                        named.push_back(live.size() - 1 - static_cast<size_t>(age));
                if (std::any_of(named.begin(), named.end(), [&](size_t i) { return live[i].followed; })) {
                    if (node.op > ST_SIM_WAITSOME || named.size() != 1) return -1;
                    completed = true;
                } else if (node.op != ST_SIM_CANCEL) {
                    std::sort(named.rbegin(), named.rend());
                    for (const size_t i : named)
                        if (node.op == ST_SIM_FREE || !live[i].persistent)
                            live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
                }
            }
            continue;
        }
        if (node.op == ST_SIM_RECV || node.op == ST_SIM_SENDRECV || node.op == ST_SIM_PROBE) {
            const bool both = node.op == ST_SIM_SENDRECV;
            const int32_t channel = channel_of(field(node.family, r, cursor), node);
            Kind kind{static_cast<int32_t>(field(both ? node.peer2 : node.peer, r, cursor)),
                      static_cast<int32_t>(field(both ? node.tag2 : node.tag, r, cursor))};
            const bool receives = kind.first == ST_SIM_ANY_SOURCE || choices_->is_there(kind.first);
            if (receives && (!takes || !makes)) {
                kind = choices_->certain(channel, dest, kind);
                return !takes && is_sender(kind.first) ? kind.first : -1;
            }
        }
        if ((node.op == ST_SIM_SEND || node.op == ST_SIM_SENDRECV) && takes) {
            const int64_t dest = field(node.peer, r, cursor);
            if (is_sender(dest)) return static_cast<int32_t>(dest);
        }
    }
    return -1;
}

int64_t Engine::field(const st_sim_field &f, int32_t r, const Cursor &cursor) const {
    uint32_t count = 0;
    if (varies(f)) {
        const auto more = cursor.executions.find(cursor.node);
        count = executions_[cursor.node][home(r)] + (more == cursor.executions.end() ? 0 : more->second);
    }
    return value_of(f, home(r), count, program_.nranks);
}

/* Go to the next call, up to the next edge. */
bool Engine::peek(int32_t r, Cursor &cursor) const {
    if (cursor.left > 0) {
        ++cursor.executions[cursor.node];
        if (--cursor.left > 0) return true;
    }
    while (!cursor.stack.empty()) {
        Frame &frame = cursor.stack.back();
        if (frame.at == frame.end) {
            if (frame.left > 0 && is_edged(frame.loop)) return false;
            if (--frame.left > 0)
                frame.at = frame.first;
            else
                cursor.stack.pop_back();
            continue;
        }
        const int32_t at = frame.at;
        const st_sim_node &node = program_.nodes[at];
        frame.at = node.end;
        const uint32_t count = varies(node.repeat) ? entries_[at][home(r)] + cursor.entries[at]++ : 0;
        const int64_t times = value_of(node.repeat, home(r), count, program_.nranks);
        if (times <= 0) continue;
        if (node.op != ST_SIM_SEQUENCE) {
            cursor.node = at;
            cursor.left = times;
            return true;
        }
        if (is_edged(at)) return false;
        cursor.stack.push_back({at + 1, node.end, at + 1, times, at, times});
    }
    return false;
}

/* The ages of the requests that a call names. */
std::vector<int64_t> Engine::ages(const st_sim_node &node, int32_t r, const Cursor &cursor) const {
    const int64_t list = field(node.list, r, cursor);
    if (node.op == ST_SIM_WAIT || node.op == ST_SIM_START || node.op == ST_SIM_FREE || node.op == ST_SIM_CANCEL)
        return {list};
    if (list < 0 || list >= program_.narrays) return {};
    const int64_t *first = program_.array_values + program_.array_offsets[list];
    const int64_t *last = program_.array_values + program_.array_offsets[list + 1];
    if (node.op != ST_SIM_WAITANY) return {first, last};
    const int64_t index = field(node.peer, r, cursor);
    return index >= 0 && index < last - first ? std::vector<int64_t>{first[index]} : std::vector<int64_t>{};
}

/* Where a rank is. */
When Engine::when(int32_t r) const {
    const Rank &rank = ranks_[r];
    When result;
    result.reserve(2 * rank.stack.size());
    for (const Frame &frame : rank.stack)
        if (frame.loop >= 0) result.push_back(frame.loop), result.push_back(frame.times - frame.left);
    result.push_back(rank.node);
    result.push_back(rank.times - rank.left);
    return result;
}

/* Loops that repeat themselves. */

bool Engine::is_edged(int32_t loop) const {
    return choices_ && loop >= 0 && program_.nodes[loop].flags & ST_SIM_STEADY;
}

void Engine::stand(int32_t r, Edge edge) {
    edges_.resize(ranks_.size());
    edges_[r] = edge;
    ranks_[r].parked = true;
}

/* Let ranks go on that stand at the first edge. False: none does. */
bool Engine::release_edges() {
    const auto before = [](const Edge &a, const Edge &b) {
        return std::tie(a.loop, a.iteration) < std::tie(b.loop, b.iteration);
    };
    Edge first;
    for (const Edge &edge : edges_)
        if (edge.loop >= 0 && (first.loop < 0 || before(edge, first))) first = edge;
    if (first.loop < 0) return false;
    std::vector<int32_t> standing;
    int32_t npresent = 0;
    for (int32_t r = 0; r < program_.nranks; ++r) {
        npresent += choices_->p.present[r];
        if (edges_[r].loop == first.loop && edges_[r].iteration == first.iteration) standing.push_back(r);
    }
    if (static_cast<int32_t>(standing.size()) == npresent)
        compare(first);
    else
        last_edge_ = {}; /* a rank waits for one that stands here: not all come */
    for (const int32_t r : standing) {
        edges_[r] = {};
        ranks_[r].parked = false;
        resume(r);
    }
    return true;
}

/* All ranks are at an edge. If all is as it was an iteration ago, it will be so after each that follows. */
void Engine::compare(const Edge &edge) {
    std::vector<int64_t> now;
    const int32_t any = static_cast<int32_t>(
        std::find_if(edges_.begin(), edges_.end(), [](const Edge &e) { return e.loop >= 0; }) - edges_.begin());
    const int64_t left = ranks_[any].stack.back().times - edge.iteration;
    if (!state(now)) now.clear();
    if (last_edge_.loop == edge.loop && last_edge_.iteration + 1 == edge.iteration && left > 0 && !now.empty() &&
        now == last_state_ && leave_out(left))
        for (int32_t r = 0; r < program_.nranks; ++r) {
            if (edges_[r].loop != edge.loop) continue;
            Frame &frame = ranks_[r].stack.back();
            frame.at = frame.end;
            frame.left = 1;
        }
    last_edge_ = edge;
    last_state_ = std::move(now);
    for (Choices::Log &log : choices_->logs()) log.mark = log.entries.size();
    choices_->takings.clear();
}

/* Repeat what the last iteration recorded. False: other receives need its messages, so not all can be like it. */
bool Engine::leave_out(int64_t iterations) {
    std::map<std::pair<int32_t, int32_t>, Takings> used;
    for (const Choices::Taking &taking : choices_->takings) ++used[taking.box][{taking.receive, taking.message}];
    std::vector<std::pair<Choices::Box *, Quota>> later;
    for (const auto &[key, takings] : used) {
        Choices::Box &box = choices_->boxes.at(key);
        later.emplace_back(&box, box.quota->later(takings, iterations));
        if (box.quota->whole() && !later.back().second.whole()) return false;
    }
    for (auto &[box, quota] : later) box->quota = std::move(quota);
    for (Choices::Log &log : choices_->logs()) {
        const auto n = static_cast<int64_t>(log.entries.size()), mark = static_cast<int64_t>(log.mark);
        if (n > mark) log.repeats.push_back({mark, n, iterations});
    }
    return true;
}

/* All that the further course depends on. False: a receive is undecided. */
bool Engine::state(std::vector<int64_t> &values) {
    const auto add = [&](std::initializer_list<int64_t> more) { values.insert(values.end(), more); };
    for (const Rank &rank : ranks_) {
        if (rank.nopen) return false;
        for (const QueueEntry &entry : rank.posted) {
            const Request &q = requests_[entry.number];
            add({q.node, q.to.family, q.to.peer, q.to.tag});
        }
        std::vector<QueueEntry> arrived = rank.arrived;
        std::stable_sort(arrived.begin(), arrived.end(), [&](const QueueEntry &a, const QueueEntry &b) {
            const Envelope &x = a.envelope, &y = b.envelope;
            return std::tie(x.family, x.peer) < std::tie(y.family, y.peer);
        });
        add({-1});
        for (const QueueEntry &entry : arrived) {
            const Message &m = messages_[entry.number];
            add({m.from.family, m.from.peer, m.from.tag, m.eager});
        }
        add({-1});
        for (const int32_t i : rank.live)
            for (int32_t part = i; part >= 0; part = requests_[part].also) {
                const Request &q = requests_[part];
                const Asked &asked = choices_->asked[part];
                const st_sim_slot *slot = asked.creator < 0 ? nullptr : &choices_->slots[asked.creator];
                add({q.node, q.state, q.to.family, q.to.peer, q.to.tag});
                if (slot) add({slot->state == ST_SIM_UNFILLED ? -1 : slot->source});
            }
        add({-1});
    }
    for (const auto &[key, stream] : streams_) {
        if (stream.gatherings.empty()) continue;
        values.insert(values.end(), key.begin(), key.end());
        for (const Gathering &gathering : stream.gatherings) {
            for (const int32_t request : gathering.requests) add({request >= 0});
            add({-1});
        }
    }
    return true;
}

/* Collective calls. */

/* World rank of the root that others wait for, or that waits for others; -1: each waits for all. */
int32_t Engine::root_of(const Request &request) const {
    const int32_t flags = program_.nodes[request.node].flags;
    const bool rooted = flags & (ST_SIM_FROM_ROOT | ST_SIM_AT_ROOT);
    return rooted && !choices_->p.synchronous && choices_->is_there(request.to.peer) ? request.to.peer : -1;
}

void Engine::meet(int32_t r, int32_t request) {
    Request &own = requests_[request];
    const st_sim_node &node = program_.nodes[own.node];
    const int32_t f = own.to.family;
    own.state = Request::kDone;
    if (f < 0 || f >= program_.nfamilies) return;
    const st_sim_family &family = program_.families[f];
    const int32_t here = home(r), instance = family.instance ? family.instance[here] : 0;
    if (instance < 0) return;
    const int64_t start = family.offsets[instance];
    const auto size = static_cast<int32_t>(family.offsets[instance + 1] - start);
    if (size < 2) return;
    own.state = Request::kPending;
    const int64_t stream_number = choices_->asked[request].stream;
    const int64_t kind = value_of(node.tag2, r, 0, program_.nranks);
    Stream &stream = streams_[{f, instance, kind, own.to.tag, stream_number}];
    stream.calls.resize(static_cast<size_t>(size));
    const auto position_of = [&](int32_t rank) { return family.position ? family.position[rank] : rank; };
    const int32_t position = position_of(here);
    const auto number = static_cast<size_t>(stream.calls[position]++ - stream.ended);
    while (stream.gatherings.size() <= number) {
        Gathering &added = stream.gatherings.emplace_back();
        added.requests.assign(static_cast<size_t>(size), -1);
        added.done.assign(static_cast<size_t>(size), false);
    }
    Gathering &gathering = stream.gatherings[number];
    if (!gathering.arrived)
        gathering.first_rank = here, gathering.first_node = own.node;
    else if (program_.nodes[gathering.first_node].collective != node.collective)
        throw MismatchError({gathering.first_rank, gathering.first_node, here, own.node});
    gathering.requests[position] = request;
    if (++gathering.arrived == size) {
        Gathering full = std::move(gathering);
        stream.gatherings.pop_front();
        ++stream.ended;
        for (int32_t i = 0; i < size; ++i) part(full, i);
        return;
    }
    const int32_t root = root_of(own);
    if (root < 0) return;
    if (node.flags & ST_SIM_AT_ROOT) {
        if (here != root) part(gathering, position);
    } else if (here == root) {
        for (int32_t i = 0; i < size; ++i) part(gathering, i);
    } else if (gathering.requests[position_of(root)] >= 0) {
        part(gathering, position);
    }
}

/* A member, if it is there, need not wait any longer. */
void Engine::part(Gathering &gathering, int32_t position) {
    if (gathering.requests[position] < 0 || gathering.done[position]) return;
    gathering.done[position] = true;
    requests_[gathering.requests[position]].state = Request::kDone;
    done(gathering.requests[position]);
}

/* Reports. */

std::vector<st_sim_wait> Engine::waits() {
    std::map<int32_t, int32_t> meeting_of;
    int32_t number = 0;
    for (const auto &[key, stream] : streams_)
        for (const Gathering &gathering : stream.gatherings) {
            for (size_t i = 0; i < gathering.requests.size(); ++i)
                if (gathering.requests[i] >= 0 && !gathering.done[i]) meeting_of[gathering.requests[i]] = number;
            ++number;
        }
    std::vector<st_sim_wait> result;
    for (int32_t r = 0; r < static_cast<int32_t>(ranks_.size()); ++r) {
        const Rank &rank = ranks_[r];
        if (rank.finished) continue;
        for (const int32_t i : rank.waiting) {
            const Request &q = requests_[i];
            if (q.state != Request::kPending) continue;
            const int32_t kind = q.kind == Request::kSend   ? ST_SIM_FOR_RECEIVE
                                 : q.kind == Request::kRecv ? ST_SIM_FOR_MESSAGE
                                                            : ST_SIM_FOR_MEMBERS;
            const int32_t family = kind == ST_SIM_FOR_MEMBERS ? q.to.family : q.to.family / 2;
            result.push_back({home(r), rank.node, kind, q.to.peer, q.to.tag, family, q.node,
                              kind == ST_SIM_FOR_MEMBERS ? meeting_of.at(i) : -1});
        }
    }
    return result;
}

std::vector<int32_t> Engine::missing(int32_t meeting) const {
    for (const auto &[key, stream] : streams_)
        for (const Gathering &gathering : stream.gatherings) {
            if (meeting--) continue;
            const st_sim_family &family = program_.families[key[0]];
            const int32_t *members = family.members + family.offsets[key[1]];
            std::vector<int32_t> result;
            for (size_t i = 0; i < gathering.requests.size(); ++i) {
                const int32_t request = gathering.requests[i];
                if (request < 0)
                    result.push_back(members[i]);
                else if (!gathering.done[i] && program_.nodes[requests_[request].node].flags & ST_SIM_FROM_ROOT &&
                         root_of(requests_[request]) >= 0)
                    return {root_of(requests_[request])};
            }
            return result;
        }
    return {};
}

std::vector<int32_t> Engine::left() {
    std::vector<int32_t> result;
    for (int32_t r = 0; r < program_.nranks; ++r)
        for (const auto &[from, number] : ranks_[r].arrived)
            result.insert(result.end(), {from.peer, r, from.family, from.tag, messages_[number].node});
    return result;
}

} // namespace sim
