/* engine.cpp - control flow of ranks, requests and collective calls; messages.cpp has the messages. */
#include "engine.hpp"

#include "random.hpp"

#include <algorithm>
#include <cmath>

namespace sim {

namespace {

constexpr int32_t kBurst = 1 << 6;          /* calls of one rank before the others run: few messages are on their way */
constexpr int32_t kMatchedBurst = 1 << 12;  /* without time */
constexpr int64_t kProgressCalls = 1 << 20; /* calls between two reports */

/* A draw as Histogram.draw: a bin by its share of the samples, then around the mean of the bin. */
double drawn(const st_sim_times &times, double u, double v) {
    const double *bin = times.bins;
    for (int32_t i = 0; i + 1 < times.nbins && u >= bin[0]; ++i) bin += 4;
    const double low = bin[1], mean = bin[2], high = bin[3], spread = high - low;
    if (spread <= 0) return mean;
    const double below = (high - mean) / spread;
    return v < below ? low + (mean - low) * v / below : mean + (high - mean) * (v - below) / (1 - below);
}

/* A number from 0 to below 1 for each execution of a node, the same on all ranks. They cover the interval evenly
 * (multiples of the golden ratio), so the draws of a run have the mean of the histogram. */
double of_execution(uint64_t seed, size_t node, uint32_t execution) {
    constexpr double kGoldenRatio = 0.6180339887498949;
    const double at = unit(seed ^ mixed(node)) + kGoldenRatio * execution;
    return at - std::floor(at);
}

/* A draw of mean 0 and deviation 1: normal, or half-normal (Cornebize, section 5.1). */
double drawn_noise(double u, double v, bool half) {
    constexpr double kPi = 3.14159265358979323846;
    return half ? (std::abs(normal(u, v)) - std::sqrt(2 / kPi)) / std::sqrt(1 - 2 / kPi) : normal(u, v);
}

/* Receives complete in the order of arrival, after all other requests. */
int64_t arrival_ps(const Request &request) { return request.kind == Request::kRecv ? request.clock.t : -1; }

bool varying(const st_sim_node &n) {
    return varies(n.peer) || varies(n.nbytes) || varies(n.tag) || varies(n.family) || varies(n.peer2) ||
           varies(n.tag2) || varies(n.list) || varies(n.turn) || varies(n.object);
}

/* Whether a drawn time depends on the number of the execution. */
bool has_bins(const st_sim_node &n) {
    return std::any_of(n.times, n.times + n.ntimes, [](const st_sim_times &times) { return times.nbins > 1; });
}

} // namespace

Engine::Engine(const st_sim_program &program, const st_sim_platform &platform, st_sim_result &result,
               int (*progress)(int64_t), PathFinder *path, int64_t *path_by_node, const st_sim_matching *matching)
    : program_(program), platform_(platform), result_(result), progress_(progress), path_(path),
      path_by_node_(path_by_node), network_(platform),
      ranks_(static_cast<size_t>(program.nranks) + static_cast<size_t>(program.nstreams)),
      entries_(static_cast<size_t>(program.nnodes)), executions_(static_cast<size_t>(program.nnodes)), steady_(*this) {
    const auto nranks = static_cast<size_t>(program.nranks);
    for (int32_t i = 0; i < program.nnodes; ++i) {
        if (varies(program.nodes[i].repeat)) entries_[i].resize(nranks);
        const st_sim_node &node = program.nodes[i];
        if (node.op != ST_SIM_SEQUENCE && (varying(node) || node.nlinked > 1 || (program.drawn && has_bins(node))))
            executions_[i].resize(nranks);
    }
    if (network_.topology() && platform.flows)
        make_flows();
    else if (network_.topology())
        round_loads_ = std::make_unique<RoundLoads>(*network_.topology());
    for (int32_t f = 0; f < program.nfamilies; ++f)
        groups_.emplace_back(static_cast<size_t>(program.families[f].ninstances));
    lookahead_ = network_.least_latency(0, program.nranks - 1);
    if (platform.has_memory) lookahead_ = std::min(lookahead_, network_.least_latency(0, 0));
    unfinished_ = program.nranks + program.nstreams;
    const int32_t nfirst = program.nstreams ? program.streams[0].first : program.nnodes;
    if (matching) choices_ = std::make_unique<Choices>(*matching, program);
    for (int32_t r = 0; r < program.nranks; ++r) {
        ranks_[r].home = ranks_[r].clock.rank = r;
        ranks_[r].stack.push_back({0, nfirst, 0, 1, -1, 1});
        resume(r);
    }
    if (program.nstreams) threads_.resize(nranks), thread_of_.resize(ranks_.size());
    for (int32_t i = 0; i < program.nstreams; ++i) {
        const st_sim_stream &stream = program.streams[i];
        const int32_t r = program.nranks + i;
        ranks_[r].home = stream.rank;
        ranks_[r].clock.rank = r;
        thread_of_[r].number = stream.thread;
        ranks_[r].stack.push_back({stream.first, stream.end, stream.first, 1, -1, 1});
        processes_[{stream.rank, stream.thread}] = r;
        std::vector<int32_t> &threads = threads_[stream.rank];
        if (threads.empty()) threads.push_back(stream.rank);
        threads.push_back(r);
        resume(r);
    }
    for (int32_t i = 0; i < program.nturns; ++i)
        turns_[{program.turns[i].family, program.turns[i].rank}].order = &program.turns[i];
    for (int32_t i = 0; i < program.nuses; ++i) {
        const st_sim_uses &uses = program.uses[i];
        int64_t number = 0;
        for (int64_t at = 0; at + 1 < uses.nvalues; at += 2 + uses.values[at + 1], ++number) {
            number += uses.values[at];
            UseOrder &order = uses_[{uses.rank, uses.kind, uses.name, number}];
            order.entries = uses.values + at + 2;
            order.n = uses.values[at + 1];
            order.find_group();
        }
    }
}

int Engine::run() {
    try {
        run_ranks();
    } catch (const TimeError &) {
        if (running_ >= 0) result_.blocked[home(running_)] = ranks_[running_].node;
        throw;
    }
    finish_run();
    return unfinished_ == 0 ? ST_SIM_OK : ST_SIM_E_DEADLOCK;
}

void Engine::run_ranks() {
    for (;;) {
        while (!queue_.empty()) {
            const int32_t r = queue_.front();
            queue_.pop_front();
            ranks_[r].queued = false;
            running_ = r;
            advance(r);
            running_ = -1;
        }
        if (unfinished_ == 0) break;
        if (!(choices_ ? choose() : flows_ ? advance_flows() : match_wildcards() || steady_.release())) break;
    }
}

void Engine::trace_back() {
    const auto last = std::max_element(ranks_.begin(), ranks_.end(),
                                       [](const Rank &a, const Rank &b) { return a.clock.t < b.clock.t; });
    path_->trace_back(static_cast<int32_t>(last - ranks_.begin()), last->calls);
}

void Engine::finish_run() {
    if (result_.link_bytes && network_.topology()) report_links();
    for (size_t r = 0; r < ranks_.size(); ++r) {
        const Clock &c = ranks_[r].clock;
        const auto h = static_cast<size_t>(ranks_[r].home);
        const int64_t parts[ST_SIM_PATH] = {c.t, c.compute, c.latency, c.bandwidth, c.messages};
        if (h == r || c.t > result_.clocks[h * ST_SIM_PATH])
            std::copy(parts, parts + ST_SIM_PATH, result_.clocks + h * ST_SIM_PATH);
        if (h == r || !ranks_[r].finished) result_.blocked[h] = ranks_[r].finished ? -1 : ranks_[r].node;
    }
}

/* Note that a rank is in the queue from now on. False: it is already, or cannot run. */
bool Engine::mark_queued(int32_t r) {
    Rank &rank = ranks_[r];
    if (rank.queued || rank.parked || rank.finished) return false;
    return rank.queued = true;
}

void Engine::resume(int32_t r) {
    if (mark_queued(r)) queue_.push_back(r);
}

void Engine::wake(int32_t r) {
    if (r == running_ || !mark_queued(r)) return;
    if (choices_)
        queue_.push_back(r);
    else
        queue_.push_front(r);
}

void Engine::advance(int32_t r) {
    Rank &rank = ranks_[r];
    if (choices_ && ranks_[home(r)].nopen) note_wild(home(r));
    const int32_t burst = choices_ ? kMatchedBurst : kBurst;
    for (int32_t n = 0; n < burst; ++n) {
        if (rank.left == 0 && !next_call(r)) return;
        if (!call(r)) return;
        --rank.left;
    }
    resume(r);
}

/* Go to the next event that the rank executes. False: it has ended, or stops after an iteration. */
bool Engine::next_call(int32_t r) {
    Rank &rank = ranks_[r];
    for (;;) {
        Frame &frame = rank.stack.back();
        if (frame.at == frame.end) {
            if (frame.left > 0 && is_edged(frame.loop)) {
                if (--frame.left > 0) frame.at = frame.first;
                stand(r, {frame.loop, frame.times - frame.left});
                return false;
            }
            if (--frame.left > 0) {
                frame.at = frame.first;
                if (frame.loop >= 0 && steady_.active() && steady_.park(r, frame.loop, frame.left)) return false;
                continue;
            }
            rank.stack.pop_back();
            if (rank.stack.empty()) {
                rank.finished = true;
                --unfinished_;
                if (!threads_.empty()) resume_held(r);
                return false;
            }
            continue;
        }
        const int32_t at = frame.at;
        const st_sim_node &node = program_.nodes[at];
        frame.at = node.end;
        const int64_t times = repeat(at, r);
        if (times <= 0) continue;
        if (node.op == ST_SIM_SEQUENCE) {
            rank.stack.push_back({at + 1, node.end, at + 1, times, at, times});
            if (!is_edged(at)) continue;
            stand(r, {at, 0});
            return false;
        }
        rank.node = at;
        rank.left = rank.times = times;
        return true;
    }
}

int64_t Engine::repeat(int32_t node, int32_t r) {
    const st_sim_field &f = program_.nodes[node].repeat;
    const uint32_t count = varies(f) ? entries_[node][home(r)]++ : 0;
    return value_of(f, home(r), count, program_.nranks);
}

int64_t Engine::field(const st_sim_field &f, int32_t r) const {
    const int32_t node = ranks_[r].node;
    return value_of(f, home(r), varies(f) ? executions_[node][home(r)] : 0, program_.nranks);
}

/* The least time per byte of the current call's message, ps: its links are shared. */
float Engine::link_per_byte(int32_t r, const st_sim_node &node) const {
    if (!node.link_per_byte) return 0;
    const auto n = static_cast<uint32_t>(node.nlinked);
    const size_t execution = n > 1 ? executions_[ranks_[r].node][home(r)] % n : 0;
    return node.link_per_byte[execution * static_cast<size_t>(program_.nranks) + home(r)];
}

int64_t Engine::compute_ps(const st_sim_node &node, int32_t r) {
    Rank &rank = ranks_[r];
    if (rank.kernel_mean >= 0) {
        const bool ends = node.op == ST_SIM_KERNEL && field(node.nbytes, r) == ST_SIM_KERNEL_END;
        const int64_t ps = ends ? kernel_ps(r) : 0;
        rank.kernel_mean = -1;
        if (ends) return ps;
    }
    for (int32_t i = 0; i < node.ntimes; ++i) {
        const st_sim_times &times = node.times[i];
        if (times.pred != rank.pred) continue;
        double ps = static_cast<double>(times.mean_ps);
        if (program_.drawn && times.nbins) {
            /* Bins mostly differ by the work of an iteration, which all ranks share; in a bin is noise. */
            const uint64_t draw = mixed(program_.seed ^ mixed(static_cast<uint64_t>(r))) + 2 * rank.draws++;
            const std::vector<uint32_t> &executions = executions_[rank.node];
            const uint32_t execution = executions.empty() ? 0 : executions[home(r)];
            const double bin = of_execution(program_.seed, static_cast<size_t>(rank.node), execution);
            ps = drawn(times, bin, unit(draw));
        }
        double load = program_.load ? program_.load[home(r)] : 1.0;
        if (program_.uneven) {
            const double part = program_.uneven[home(r)];
            load += part * (part > 0 ? times.more : times.less);
        }
        ps *= load;
        if (program_.slowness) ps *= static_cast<double>(program_.slowness[r]);
        return std::max<int64_t>(rounded(ps), 0);
    }
    return 0;
}

/* The time of the kernel that the last call began. */
int64_t Engine::kernel_ps(int32_t r) {
    Rank &rank = ranks_[r];
    const auto mean = static_cast<double>(rank.kernel_mean);
    double ps = mean;
    if (program_.drawn) {
        const uint64_t draw = mixed(program_.seed ^ mixed(static_cast<uint64_t>(r))) + 2 * rank.draws++;
        const double deviation = program_.noise ? mean * static_cast<double>(program_.noise[home(r)])
                                                : static_cast<double>(rank.kernel_deviation);
        ps += deviation * drawn_noise(unit(draw), unit(draw + 1), program_.noise || rank.kernel_half);
    }
    ps *= program_.kernel_scale;
    if (program_.slowness) ps *= static_cast<double>(program_.slowness[r]);
    return std::max<int64_t>(rounded(ps), 0);
}

/* Note the times of a call that ends. `at`: the places of the calls of its rank or thread, and behind them. */
void Engine::note_times(const Rank &rank, const int64_t *at) {
    const int64_t place = at[0] + rank.calls;
    if (place >= at[1]) return;
    result_.times[2 * place] = rank.computed;
    result_.times[2 * place + 1] = rank.clock.t;
    if (result_.causes) result_.causes[4 * place] = rank.node;
}

/* Run the current call, or go on with it. False: the rank has to wait. */
bool Engine::call(int32_t r) {
    Rank &rank = ranks_[r];
    const int32_t at = rank.node;
    const st_sim_node &node = program_.nodes[at];
    if (!rank.begun) {
        if (!threads_.empty() && !may_begin(r, node)) return false;
        const int64_t ps = compute_ps(node, r);
        rank.began = rank.clock.t;
        rank.clock.add_compute(ps);
        rank.computed = rank.clock.t;
        if (!threads_.empty()) take_turn(r, node);
        add(result_.by_node[at * ST_SIM_PARTS + ST_SIM_COMPUTE], ps);
        result_.by_rank[home(r) * ST_SIM_PARTS + ST_SIM_COMPUTE] += ps;
        rank.begun = true;
        const int64_t before = rank.clock.t;
        begin(r, node);
        add(result_.by_node[at * ST_SIM_PARTS + ST_SIM_TRANSFER], rank.clock.t - before);
        result_.by_rank[home(r) * ST_SIM_PARTS + ST_SIM_TRANSFER] += rank.clock.t - before;
    }
    if (!complete(r, node)) return false;
    if (!threads_.empty()) release_held(r);
    if (path_ && path_->found()) path_->add(r, rank.calls, at, rank.began, rank.computed, rank.clock.t, path_by_node_);
    if (result_.times_at) note_times(rank, result_.times_at + r);
    rank.begun = false;
    ++rank.calls;
    rank.pred = node.own_pred;
    if (!executions_[at].empty()) ++executions_[at][home(r)];
    add(result_.calls[at], int64_t{1});
    if (++result_.executed % kProgressCalls == 0 && progress_ && progress_(result_.executed))
        throw TraceError("interrupted");
    return true;
}

void Engine::begin(int32_t r, const st_sim_node &node) {
    Rank &rank = ranks_[r];
    rank.clock.add_overhead(node.duration_ps);
    switch (node.op) {
    case ST_SIM_SEND:
        own_or_await(r, make_request(r, Request::kSend, node), node);
        break;
    case ST_SIM_RECV:
        own_or_await(r, make_request(r, Request::kRecv, node), node);
        break;
    case ST_SIM_COLLECTIVE:
        rank.flushes = node.flags & ST_SIM_FLUSHES && await_transfers(r);
        if (!rank.flushes) own_or_await(r, make_request(r, Request::kCollective, node), node);
        break;
    case ST_SIM_SENDRECV: {
        const int32_t receive = make_request(r, Request::kRecv, node);
        start(r, receive);
        const int32_t send = make_request(r, Request::kSend, node);
        start(r, send);
        requests_[receive].also = send;
        if (node.flags & ST_SIM_NONBLOCKING)
            own(r, receive);
        else
            await(r, receive);
        break;
    }
    case ST_SIM_WAIT:
    case ST_SIM_WAITALL:
    case ST_SIM_WAITANY:
    case ST_SIM_WAITSOME:
        wait_for(r, node);
        break;
    case ST_SIM_START:
    case ST_SIM_STARTALL: {
        wait_for(r, node);
        std::vector<int32_t> requests;
        requests.swap(rank.ending);
        if (choices_) note_start(r, requests);
        for (const int32_t request : requests)
            if (!choices_ || requests_[request].persistent) start(r, request);
        break;
    }
    case ST_SIM_FREE:
        wait_for(r, node);
        for (const int32_t request : rank.ending) requests_[request].persistent = false;
        end_listed(r);
        break;
    case ST_SIM_NAME:
        wait_for(r, node);
        rank.ending.clear();
        break;
    case ST_SIM_CANCEL:
        wait_for(r, node);
        for (const int32_t request : rank.ending) cancel(r, request);
        rank.ending.clear();
        break;
    case ST_SIM_MRECV:
        if (node.flags & ST_SIM_NONBLOCKING) own_done(r, rank.clock, node);
        break;
    case ST_SIM_PUT:
        one_sided(r, node, false);
        break;
    case ST_SIM_GET:
        one_sided(r, node, true);
        break;
    case ST_SIM_PROBE:
        if (choices_) {
            const int32_t request = make_request(r, Request::kRecv, node);
            requests_[request].probes = true;
            own_or_await(r, request, node);
        }
        break;
    case ST_SIM_FLUSH:
        await_transfers(r);
        break;
    case ST_SIM_KERNEL:
        if (program_.kernel_scale >= 0) {
            rank.kernel_mean = field(node.nbytes, r);
            rank.kernel_deviation = field(node.tag, r);
            rank.kernel_half = field(node.peer, r) != 0;
        }
        break;
    default:
        break;
    }
}

/* Complete the current call once everything that it waits for is there. */
bool Engine::complete(int32_t r, const st_sim_node &node) {
    Rank &rank = ranks_[r];
    if (node.op == ST_SIM_PROBE && !choices_) return probe(r, node);
    if (rank.missing > 0) return false;
    if (rank.flushes) {
        rank.flushes = false;
        receive_all(r);
        for (const int32_t i : rank.waiting) requests_.drop(i);
        rank.waiting.clear();
        own_or_await(r, make_request(r, Request::kCollective, node), node);
        if (rank.missing > 0) return false;
    }
    if (rank.waiting.empty()) {
        if (!rank.ending.empty()) end_listed(r);
        return true;
    }
    std::vector<int32_t> &waiting = rank.waiting;
    if (!choices_) receive_all(r);
    const bool ends = node.op >= ST_SIM_WAIT && node.op <= ST_SIM_WAITSOME;
    const bool keeps = ends || node.flags & (ST_SIM_NONBLOCKING | ST_SIM_PERSISTENT);
    for (const int32_t i : waiting) {
        requests_[i].awaited = false;
        if (!keeps) requests_.drop(i);
    }
    waiting.clear();
    if (ends) end_listed(r);
    return true;
}

/* Receive the messages that a call has waited for, and account for the time. */
void Engine::receive_all(int32_t r) {
    Rank &rank = ranks_[r];
    std::vector<int32_t> &waiting = rank.waiting;
    if (waiting.size() > 1) { /* messages are received as they arrive */
        arrivals_.clear();
        for (size_t i = 0; i < waiting.size(); ++i)
            arrivals_.emplace_back(arrival_ps(requests_[waiting[i]]), static_cast<int32_t>(i));
        std::sort(arrivals_.begin(), arrivals_.end());
        for (auto &[arrival, place] : arrivals_) place = waiting[place];
        for (size_t i = 0; i < waiting.size(); ++i) waiting[i] = arrivals_[i].second;
    }
    int64_t parts[ST_SIM_PARTS] = {};
    for (const int32_t i : waiting) {
        const Request &request = requests_[i];
        if (request.kind == Request::kRecv) {
            receive(r, i, parts);
        } else if (request.clock.t > rank.clock.t) {
            const int64_t gap = request.clock.t - rank.clock.t;
            const int64_t wait = std::clamp<int64_t>(request.busy_from - rank.clock.t, 0, gap);
            parts[ST_SIM_WAITING] += wait;
            parts[ST_SIM_TRANSFER] += gap - wait;
            hop(r, request.clock, i);
            rank.clock = request.clock;
            rank.clock.rank = r;
        }
    }
    for (int part = ST_SIM_TRANSFER; part < ST_SIM_PARTS; ++part) {
        if (!parts[part]) continue;
        add(result_.by_node[rank.node * ST_SIM_PARTS + part], parts[part]);
        result_.by_rank[home(r) * ST_SIM_PARTS + part] += parts[part];
    }
}

/* Requests. */

int32_t Engine::make_request(int32_t r, Request::Kind kind, const st_sim_node &node) {
    Rank &rank = ranks_[r];
    const int32_t at = requests_.add();
    if (path_) {
        origins_.resize(std::max(origins_.size(), static_cast<size_t>(at) + 1));
        origins_[at] = {{r, rank.calls, rank.clock.t}, {}};
    }
    Request &request = requests_[at];
    request.owner = r;
    request.kind = kind;
    request.node = rank.node;
    request.persistent = node.flags & ST_SIM_PERSISTENT;
    request.to.family = static_cast<int32_t>(field(node.family, r));
    if (kind != Request::kCollective) request.to.family = channel_of(request.to.family, node);
    request.to.tag = static_cast<int32_t>(field(node.tag, r));
    request.nbytes = std::max<int64_t>(field(node.nbytes, r), 0);
    request.to.peer = static_cast<int32_t>(field(node.peer, r));
    request.link_per_byte = link_per_byte(r, node);
    if (kind == Request::kRecv && node.op == ST_SIM_SENDRECV) {
        request.to.peer = static_cast<int32_t>(field(node.peer2, r));
        request.to.tag = static_cast<int32_t>(field(node.tag2, r));
    }
    if (!threads_.empty()) {
        creations_.resize(std::max(creations_.size(), static_cast<size_t>(at) + 1));
        creations_[at] = {r, 0};
    }
    if (choices_) ask(r, at);
    return at;
}

/* Start a new request; the program ends it if the call is nonblocking, else the call waits for it. */
void Engine::own_or_await(int32_t r, int32_t request, const st_sim_node &node) {
    if (!requests_[request].persistent) start(r, request);
    const bool is_own = node.flags & (ST_SIM_NONBLOCKING | ST_SIM_PERSISTENT);
    if (is_own) own(r, request);
    if (!is_own || (node.flags & ST_SIM_AWAITED)) await(r, request);
}

/* The program gets a request that is complete at a time which no other rank changes. */
void Engine::own_done(int32_t r, const Clock &at, const st_sim_node &node) {
    const int32_t request = make_request(r, Request::kSend, node);
    requests_[request].clock = at;
    requests_[request].busy_from = ranks_[r].clock.t;
    requests_[request].state = Request::kDone;
    own(r, request);
}

void Engine::start(int32_t r, int32_t request) {
    Rank &rank = ranks_[r];
    requests_[request].owner = r;
    if (path_) origins_[request].own = {r, rank.calls, rank.clock.t};
    switch (requests_[request].kind) {
    case Request::kSend:
        start_send(r, request);
        break;
    case Request::kRecv:
        start_recv(r, request);
        break;
    case Request::kCollective:
        if (choices_)
            meet(r, request);
        else
            enter(r, request);
        break;
    default:
        break;
    }
}

void Engine::await(int32_t r, int32_t request) {
    Rank &rank = ranks_[r];
    Request &awaited = requests_[request];
    awaited.owner = r;
    if (awaited.state != Request::kInactive && !awaited.awaited) {
        rank.waiting.push_back(request);
        awaited.awaited = true;
        if (awaited.state == Request::kPending) ++rank.missing;
    }
    if (awaited.also >= 0) await(r, awaited.also);
}

/* A pending request is complete, or matched. */
void Engine::done(int32_t request) {
    const int32_t r = requests_[request].owner;
    if (requests_[request].kind == Request::kFreed) {
        if (requests_[request].ended_elsewhere)
            requests_[request].kind = Request::kNone;
        else
            requests_.drop(request);
    } else if (requests_[request].awaited && --ranks_[r].missing == 0)
        wake(r);
}

/* The call ends live requests; persistent ones become inactive. One that is freed while it is pending keeps its number
 * until it is done. */
void Engine::end_listed(int32_t r) {
    Rank &rank = ranks_[r];
    const auto end = [&](int32_t i) {
        Request &request = requests_[i];
        const bool pending = request.state == Request::kPending;
        if (!request.persistent) request.kind = pending ? Request::kFreed : Request::kNone;
        if (!pending) request.state = Request::kInactive;
    };
    const auto is_live = [&](int32_t i) {
        return requests_[i].kind != Request::kNone && requests_[i].kind != Request::kFreed;
    };
    const auto drop = [&](int32_t i) {
        if (requests_[i].kind == Request::kNone) requests_.drop(i);
    };
    for (const int32_t i : rank.ending) {
        end(i);
        if (requests_[i].also >= 0) end(requests_[i].also);
    }
    if (!threads_.empty()) {
        for (const int32_t i : rank.ending)
            if (!is_live(i)) note_ended(r, i);
    }
    size_t kept = 0;
    for (const int32_t i : rank.live) {
        if (is_live(i) || (requests_[i].ended_elsewhere && kept > 0)) {
            rank.live[kept++] = i;
            continue;
        }
        if (requests_[i].also >= 0) drop(requests_[i].also);
        drop(i);
    }
    rank.live.resize(kept);
    rank.ending.clear();
}

/* Append the live request of an age, if there is one. */
void Engine::listed(int32_t r, int64_t age, std::vector<int32_t> &into) {
    const std::vector<int32_t> &live = ranks_[r].live;
    if (age >= kOfStream) {
        if (threads_.empty()) return;
        if (const int32_t request = named(r, age, thread_of_[r].next); request >= 0) into.push_back(request);
    } else if (age >= 0 && age < static_cast<int64_t>(live.size()))
        into.push_back(live[live.size() - 1 - static_cast<size_t>(age)]);
}

/* f(index in the call's array, name, whether the call is about this one) for each request that the call names. */
template <class F> void Engine::each_name(int32_t r, const st_sim_node &node, F &&f) const {
    const int64_t list = field(node.list, r);
    const bool single = node.op == ST_SIM_WAIT || node.op == ST_SIM_START || node.op == ST_SIM_FREE ||
                        node.op == ST_SIM_CANCEL || (node.op == ST_SIM_NAME && !(node.flags & ST_SIM_LISTS));
    if (single) {
        f(list, true);
    } else if (list >= 0 && list < program_.narrays) {
        const int64_t *ages = program_.array_values + program_.array_offsets[list];
        const int64_t n = program_.array_offsets[list + 1] - program_.array_offsets[list];
        const int64_t index = node.op == ST_SIM_WAITANY ? field(node.peer, r) : -1;
        for (int64_t k = 0; k < n; ++k) f(ages[k], node.op != ST_SIM_WAITANY || k == index);
    }
}

/* Find the requests that the call names, and wait for them unless it starts, frees or cancels them. */
void Engine::wait_for(int32_t r, const st_sim_node &node) {
    Rank &rank = ranks_[r];
    std::vector<int32_t> others; /* of an array, for their names only */
    each_name(r, node, [&](int64_t name, bool wanted) {
        if (wanted || name >= kOfStream) listed(r, name, wanted ? rank.ending : others);
    });
    if (node.op >= ST_SIM_WAIT && node.op <= ST_SIM_WAITSOME)
        for (const int32_t request : rank.ending) await(r, request);
}

/* Threads. */

int32_t Engine::process_of(int32_t rank, int64_t thread) const {
    if (thread == 0) return rank;
    const auto at = processes_.find({rank, thread});
    return at == processes_.end() ? -1 : at->second;
}

/* The request of another thread of the rank that has this name; -1: ended, or not made yet. `next` as in rank.hpp. */
int32_t Engine::named(int32_t r, int64_t name, std::map<int32_t, int64_t> &next) const {
    const int32_t creator = process_of(home(r), name / kOfStream - 1);
    if (creator < 0) return -1;
    const int64_t ordinal = next[creator] + name % kOfStream - kOfStream / 2;
    next[creator] = ordinal + 1;
    const Thread &other = thread_of_[creator];
    const int64_t at = ordinal - other.nforgotten;
    return at >= 0 && at < static_cast<int64_t>(other.made.size()) ? other.made[static_cast<size_t>(at)] : -1;
}

/* Are all requests of other threads that the call names made? */
bool Engine::has_requests(int32_t r, const st_sim_node &node) const {
    bool all = true;
    if (!(node.op >= ST_SIM_WAIT && node.op <= ST_SIM_FREE) && node.op != ST_SIM_CANCEL && node.op != ST_SIM_NAME)
        return true;
    std::map<int32_t, int64_t> next;
    each_name(r, node, [&](int64_t name, bool) {
        if (name < kOfStream) return;
        if (next.empty()) next = thread_of_[r].next;
        const int32_t creator = process_of(home(r), name / kOfStream - 1);
        if (creator < 0) return;
        named(r, name, next);
        const Thread &other = thread_of_[creator];
        all = all &&
              (ranks_[creator].finished || next[creator] <= other.nforgotten + static_cast<int64_t>(other.made.size()));
    });
    return all;
}

/* The turns of the call; nullptr: only one thread of the rank makes such calls on the communicator. */
Engine::Turn *Engine::turn_of(int32_t r, const st_sim_node &node) {
    if (!(node.flags & ST_SIM_IN_TURN)) return nullptr;
    const auto at = turns_.find({static_cast<int32_t>(field(node.turn, r)), home(r)});
    return at == turns_.end() || at->second.run == at->second.order->nruns ? nullptr : &at->second;
}

/* Find the orders of uses of the objects that the call names. */
void Engine::list_uses(int32_t r, const st_sim_node &node) {
    Thread &thread = thread_of_[r];
    thread.in_use.clear();
    if (uses_.empty()) return;
    const auto use = [&](int64_t kind, int64_t name, int64_t number) {
        const auto at = uses_.find({home(r), kind, name, number});
        if (at != uses_.end()) thread.in_use.push_back(&at->second);
    };
    if (node.flags & (ST_SIM_OF_WINDOW | ST_SIM_OF_FILE))
        use(node.flags & ST_SIM_OF_WINDOW ? ST_SIM_WINDOW : ST_SIM_FILE, field(node.turn, r), field(node.object, r));
    if (!(node.op >= ST_SIM_WAIT && node.op <= ST_SIM_FREE) && node.op != ST_SIM_CANCEL && node.op != ST_SIM_NAME)
        return;
    const std::vector<int32_t> &live = ranks_[r].live;
    std::map<int32_t, int64_t> next = thread.next;
    each_name(r, node, [&](int64_t name, bool) {
        if (name >= kOfStream) {
            const int32_t creator = process_of(home(r), name / kOfStream - 1);
            if (creator < 0) return;
            named(r, name, next);
            use(ST_SIM_REQUEST, thread_of_[creator].number, next[creator] - 1);
        } else if (name >= 0 && name < static_cast<int64_t>(live.size()))
            use(ST_SIM_REQUEST, thread.number, creations_[live[live.size() - 1 - static_cast<size_t>(name)]].ordinal);
    });
}

/* May the call begin? Else the thread is held until another one of its rank has made a call. */
bool Engine::may_begin(int32_t r, const st_sim_node &node) {
    const Turn *turn = turn_of(r, node);
    const bool in_turn = !turn || process_of(home(r), turn->order->runs[2 * turn->run]) == r;
    Thread &thread = thread_of_[r];
    list_uses(r, node);
    const bool is_next = std::all_of(thread.in_use.begin(), thread.in_use.end(),
                                     [&](const UseOrder *order) { return order->is_next(thread.number); });
    thread.held = !in_turn || !is_next || !has_requests(r, node);
    return !thread.held;
}

/* The call comes after those of other threads that come first, and is counted. */
void Engine::take_turn(int32_t r, const st_sim_node &node) {
    if (const Turn *turn = turn_of(r, node)) come_after(r, turn->last);
    Thread &thread = thread_of_[r];
    for (UseOrder *order : thread.in_use) come_after(r, order->begin(thread.number));
}

/* The call waits for the end of another thread's call. */
void Engine::come_after(int32_t r, const ThreadEnd &end) {
    Rank &rank = ranks_[r];
    if (end.clock.t <= rank.clock.t) return;
    const int64_t gap = end.clock.t - rank.clock.t;
    if (path_ && !path_->found()) path_->hop(r, rank.calls, {end.process, end.call, end.clock.t});
    rank.clock = end.clock;
    rank.clock.rank = r;
    add(result_.by_node[rank.node * ST_SIM_PARTS + ST_SIM_WAITING], gap);
    result_.by_rank[home(r) * ST_SIM_PARTS + ST_SIM_WAITING] += gap;
}

/* A call of a thread has ended: those that it held may go on. */
void Engine::release_held(int32_t r) {
    Rank &rank = ranks_[r];
    const st_sim_node &node = program_.nodes[rank.node];
    if (Turn *turn = turn_of(r, node)) {
        turn->last = {rank.clock, r, rank.calls};
        if (++turn->ncalls == turn->order->runs[2 * turn->run + 1]) turn->ncalls = 0, ++turn->run;
    }
    Thread &thread = thread_of_[r];
    for (UseOrder *order : thread.in_use) order->end(rank.clock, r, rank.calls);
    thread.in_use.clear();
    resume_held(r);
}

void Engine::resume_held(int32_t r) {
    for (const int32_t other : threads_[home(r)])
        if (thread_of_[other].held) {
            thread_of_[other].held = false;
            resume(other);
        }
}

/* The program gets a request. */
void Engine::own(int32_t r, int32_t request) {
    ranks_[r].live.push_back(request);
    if (threads_.empty()) return;
    Thread &thread = thread_of_[r];
    creations_[request].ordinal = thread.nforgotten + static_cast<int64_t>(thread.made.size());
    thread.made.push_back(request);
}

/* A call of a thread ended a request for good: no later one names it. */
void Engine::note_ended(int32_t r, int32_t request) {
    const Creation &creation = creations_[request];
    const bool ended_elsewhere = creation.creator != r;
    requests_[request].ended_elsewhere = ended_elsewhere;
    Thread &creator = thread_of_[creation.creator];
    const int64_t at = creation.ordinal - creator.nforgotten;
    if (at >= 0 && at < static_cast<int64_t>(creator.made.size())) creator.made[static_cast<size_t>(at)] = -1;
    while (!creator.made.empty() && creator.made.front() < 0) creator.made.pop_front(), ++creator.nforgotten;
    if (!ended_elsewhere) return;
    /* What another thread ended counts in the ages of the creator's older requests; where there are none, it goes. */
    std::vector<int32_t> &live = ranks_[creation.creator].live;
    size_t gone = 0;
    for (; gone < live.size() && requests_[live[gone]].ended_elsewhere; ++gone) {
        const int32_t also = requests_[live[gone]].also;
        if (also >= 0 && requests_[also].kind == Request::kNone) requests_.drop(also);
        requests_[live[gone]].ended_elsewhere = false;
        if (requests_[live[gone]].kind == Request::kNone) requests_.drop(live[gone]);
    }
    live.erase(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(gone));
}

/* The current call of a rank ends when a cause, of this or another rank, allows it. */
void Engine::hop(int32_t r, const Clock &cause, int32_t request) {
    if (path_ && !path_->found()) {
        const Origins &origins = origins_[request];
        path_->hop(r, ranks_[r].calls, cause.rank == r ? origins.own : origins.other);
    }
}

/* Collective calls. */

void Engine::enter(int32_t r, int32_t request) {
    Rank &rank = ranks_[r];
    Request &own = requests_[request];
    const int32_t f = own.to.family;
    if (f < 0 || f >= program_.nfamilies)
        throw TraceError("a call on rank " + std::to_string(r) + " names no communicator");
    const st_sim_family &family = program_.families[f];
    const int32_t instance = family.instance ? family.instance[home(r)] : 0;
    own.clock = rank.clock;
    own.busy_from = rank.clock.t;
    if (instance < 0) {
        own.state = Request::kDone;
        return;
    }
    const int64_t start = family.offsets[instance];
    const auto size = static_cast<int32_t>(family.offsets[instance + 1] - start);
    if (size < 2) {
        own.state = Request::kDone;
        return;
    }
    Group &group = groups_[static_cast<size_t>(f)][static_cast<size_t>(instance)];
    group.calls.resize(static_cast<size_t>(size));
    const int32_t position = family.position ? family.position[home(r)] : home(r);
    const auto number = static_cast<size_t>(group.calls[position]++ - group.ended);
    if (flows_) {
        enter_rounds(group, number, position, size, request, family.members ? family.members + start : nullptr);
        return;
    }
    while (group.meetings.size() <= number) {
        Meeting &added = group.meetings.emplace_back();
        added.entries.resize(static_cast<size_t>(size));
        added.requests.resize(static_cast<size_t>(size));
        if (path_) added.origins.resize(static_cast<size_t>(size));
    }
    Meeting &meeting = group.meetings[number];
    const st_sim_node &node = program_.nodes[own.node];
    if (meeting.arrived && meeting.call.collective != node.collective)
        throw TraceError("members of a communicator make different collective calls, one of them rank " +
                         std::to_string(r));
    meeting.call.collective = node.collective;
    meeting.call.lists = (node.flags & ST_SIM_BLOCK_LISTS) != 0;
    meeting.call.nbytes = std::max(meeting.call.nbytes, own.nbytes);
    meeting.call.root = std::clamp(own.to.peer, 0, size - 1);
    meeting.entries[position] = rank.clock;
    meeting.requests[position] = request;
    if (path_) meeting.origins[position] = origins_[request].own;
    own.state = Request::kPending;
    if (++meeting.arrived < size) return;
    Meeting full = std::move(meeting);
    group.meetings.pop_front();
    ++group.ended;
    leave(full, family.members ? family.members + start : nullptr);
}

void Engine::leave(Meeting &meeting, const int32_t *members) {
    int64_t last = 0;
    for (const Clock &entry : meeting.entries) last = std::max(last, entry.t);
    if (round_loads_) round_loads_->node = requests_[meeting.requests[0]].node;
    run_collective(network_, round_loads_.get(), meeting.call, members, meeting.entries);
    const auto size = static_cast<int32_t>(meeting.entries.size());
    std::vector<int32_t> position_of; /* of the members' ranks, for the origins of their exits */
    if (path_ && (members || !threads_.empty())) {
        position_of.resize(ranks_.size());
        for (int32_t i = 0; i < size; ++i) position_of[requests_[meeting.requests[i]].owner] = i;
    }
    for (int32_t i = 0; i < size; ++i) {
        const int32_t r = members ? members[i] : i;
        Request &request = requests_[meeting.requests[i]];
        request.clock = meeting.entries[i];
        request.busy_from = last;
        if (path_ && request.clock.rank >= 0)
            origins_[meeting.requests[i]].other =
                meeting.origins[position_of.empty() ? request.clock.rank : position_of[request.clock.rank]];
        request.state = Request::kDone;
        steady_.depends(members ? members[0] : 0, r, true);
        done(meeting.requests[i]);
    }
}

} // namespace sim
