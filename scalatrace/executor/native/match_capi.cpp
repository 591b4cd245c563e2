/* match_capi.cpp - the C ABI of executions without time: no exception passes it. */
#include "engine.hpp"

#include <cstdio>
#include <new>

namespace {

constexpr st_sim_segment kNoCosts{};
constexpr st_sim_platform kNoPlatform{.network = {1, &kNoCosts, -1, 0}, .memory = {1, &kNoCosts, -1, 0}};

template <class T> st_sim_rows rows(const std::vector<T> &kept, size_t width = 1) {
    return {static_cast<int64_t>(kept.size() / width), kept.data()};
}

sim::Counts counts(const int64_t *kinds, int64_t n) {
    sim::Counts result;
    for (const int64_t *k = kinds; k < kinds + 3 * n; k += 3)
        result[{static_cast<int32_t>(k[0]), static_cast<int32_t>(k[1])}] += k[2];
    return result;
}

} // namespace

struct st_sim_execution {
    st_sim_execution(const st_sim_program &program, const st_sim_matching &matching)
        : clocks(static_cast<size_t>(program.nranks) * ST_SIM_PATH), by_rank(clocks.size()),
          by_node(static_cast<size_t>(program.nnodes) * ST_SIM_PARTS), calls(by_node.size()),
          blocked(static_cast<size_t>(program.nranks)),
          result{clocks.data(), by_node.data(), by_rank.data(), calls.data(), blocked.data(), 0, {}},
          engine(program, kNoPlatform, result, nullptr, nullptr, nullptr, &matching) {}

    std::vector<int64_t> clocks, by_rank;
    std::vector<st_sim_sum> by_node, calls;
    std::vector<int32_t> blocked;
    st_sim_result result;
    sim::Engine engine;
    std::vector<int32_t> mismatch, numbers;
    std::vector<int64_t> repeats;
    std::vector<st_sim_slot> slots;
    std::vector<st_sim_wait> waits;
};

extern "C" st_sim_execution *st_sim_match(const st_sim_program *program, const st_sim_matching *matching, int *status,
                                          int64_t *executed, char message[256]) {
    std::unique_ptr<st_sim_execution> execution;
    try {
        execution = std::make_unique<st_sim_execution>(*program, *matching);
        *status = execution->engine.run();
    } catch (const sim::MismatchError &error) {
        *status = ST_SIM_E_MISMATCH;
        execution->mismatch.assign(error.calls.begin(), error.calls.end());
    } catch (const std::bad_alloc &) {
        *status = ST_SIM_E_MEMORY;
        return nullptr;
    } catch (const std::exception &error) {
        std::snprintf(message, 256, "%s", error.what());
        *status = ST_SIM_E_TRACE;
    }
    if (execution) *executed = execution->result.executed;
    return execution.release();
}

extern "C" void st_sim_match_free(st_sim_execution *execution) { delete execution; }

extern "C" st_sim_rows st_sim_match_slots(st_sim_execution *e, int32_t node, int32_t rank) {
    sim::Choices &choices = e->engine.choices();
    e->slots.clear();
    for (const int32_t slot : choices.log(node, rank).entries)
        e->slots.push_back(slot < 0 ? st_sim_slot{0, 0, 0, ST_SIM_NAMED} : choices.slots[slot]);
    return rows(e->slots);
}

extern "C" st_sim_rows st_sim_match_repeats(st_sim_execution *e, int32_t node, int32_t rank) {
    e->repeats.clear();
    for (const auto &r : e->engine.choices().log(node, rank).repeats)
        e->repeats.insert(e->repeats.end(), {r.first, r.last, r.times});
    return rows(e->repeats, 3);
}

extern "C" st_sim_rows st_sim_match_waits(st_sim_execution *e) { return rows(e->waits = e->engine.waits()); }

extern "C" st_sim_rows st_sim_match_missing(st_sim_execution *e, int32_t meeting) {
    return rows(e->numbers = e->engine.missing(meeting));
}

extern "C" st_sim_rows st_sim_match_decisions(st_sim_execution *e) {
    e->numbers.clear();
    for (const auto &d : e->engine.choices().decisions) e->numbers.insert(e->numbers.end(), {d.rank, d.source, d.node});
    return rows(e->numbers, 3);
}

extern "C" st_sim_rows st_sim_match_left(st_sim_execution *e) { return rows(e->numbers = e->engine.left(), 5); }

extern "C" st_sim_rows st_sim_match_mismatch(st_sim_execution *e) { return rows(e->mismatch, 2); }

struct st_sim_quota : sim::Quota {
    using sim::Quota::Quota;
};

extern "C" st_sim_quota *st_sim_quota_new(const int64_t *messages, int64_t nmessages, const int64_t *receives,
                                          int64_t nreceives) {
    return new st_sim_quota(counts(messages, nmessages), counts(receives, nreceives));
}

extern "C" int st_sim_quota_whole(const st_sim_quota *quota) { return quota->whole(); }

extern "C" int st_sim_quota_allows(const st_sim_quota *quota, const int32_t *k) {
    return quota->allows({k[0], k[1]}, {k[2], k[3]});
}

extern "C" void st_sim_quota_take(st_sim_quota *quota, const int32_t *k) { quota->take({k[0], k[1]}, {k[2], k[3]}); }

extern "C" void st_sim_quota_free(st_sim_quota *quota) { delete quota; }
