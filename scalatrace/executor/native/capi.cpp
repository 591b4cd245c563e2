/* capi.cpp - the C ABI: no exception passes it. */
#include "engine.hpp"
#include "schedules.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

namespace {

int failed(st_sim_result &result, const std::exception &error) {
    std::snprintf(result.message, sizeof result.message, "%s", error.what());
    if (dynamic_cast<const sim::TimeError *>(&error)) return ST_SIM_E_TIME;
    return dynamic_cast<const std::bad_alloc *>(&error) ? ST_SIM_E_MEMORY : ST_SIM_E_TRACE;
}

} // namespace

extern "C" int st_sim_run(const st_sim_program *program, const st_sim_platform *platform, st_sim_result *result,
                          int (*progress)(int64_t)) {
    try {
        if (!result->times_at || !result->causes) {
            sim::Engine engine(*program, *platform, *result, progress);
            return engine.run();
        }
        sim::PathFinder path(program->nranks + program->nstreams);
        sim::Engine engine(*program, *platform, *result, progress, &path);
        const int status = engine.run();
        if (status == ST_SIM_OK) path.write_causes(result->times_at, result->causes);
        return status;
    } catch (const std::exception &error) {
        return failed(*result, error);
    }
}

extern "C" int st_sim_run_path(const st_sim_program *program, const st_sim_platform *platform, st_sim_result *result,
                               int64_t *path_by_node, int (*progress)(int64_t)) {
    try {
        sim::PathFinder path(program->nranks + program->nstreams);
        {
            sim::Engine first(*program, *platform, *result, progress, &path, path_by_node);
            const int status = first.run();
            if (status != ST_SIM_OK) return status;
            first.trace_back();
        }
        std::vector<int64_t> clocks(static_cast<size_t>(program->nranks) * ST_SIM_PATH);
        std::vector<st_sim_sum> by_node(static_cast<size_t>(program->nnodes) * ST_SIM_PARTS), calls(by_node.size());
        std::vector<int64_t> by_rank(static_cast<size_t>(program->nranks) * ST_SIM_PARTS);
        std::vector<int32_t> blocked(static_cast<size_t>(program->nranks));
        st_sim_result again{};
        again.clocks = clocks.data();
        again.by_node = by_node.data();
        again.by_rank = by_rank.data();
        again.calls = calls.data();
        again.blocked = blocked.data();
        sim::Engine second(*program, *platform, again, progress, &path, path_by_node);
        return second.run();
    } catch (const std::exception &error) {
        return failed(*result, error);
    }
}

extern "C" void st_sim_collective_times(const st_sim_platform *platform, int32_t algorithm, int64_t nbytes,
                                        int32_t root, int32_t size, int64_t *times) {
    try {
        sim::Network network(*platform);
        std::vector<sim::Clock> clocks(static_cast<size_t>(size));
        for (int32_t i = 0; i < size; ++i) clocks[i].t = times[i];
        std::unique_ptr<sim::RoundLoads> loads;
        if (network.topology()) loads = std::make_unique<sim::RoundLoads>(*network.topology());
        sim::run_algorithm(network, loads.get(), {sim::describe_algorithm(algorithm).collective, nbytes, root, false},
                           algorithm, nullptr, clocks);
        std::transform(clocks.begin(), clocks.end(), times, [](const sim::Clock &c) { return c.t; });
    } catch (const std::exception &) {
        std::fill(times, times + size, -1);
    }
}

extern "C" st_sim_algorithm st_sim_describe_algorithm(int32_t algorithm) { return sim::describe_algorithm(algorithm); }

extern "C" int32_t st_sim_choose_algorithm(const st_sim_rule *rules, int32_t nrules, int32_t collective, int64_t nbytes,
                                           int32_t size, int32_t lists) {
    return sim::choose_algorithm(rules, nrules, {collective, nbytes, 0, lists != 0}, size);
}

extern "C" int32_t st_sim_usable_algorithm(int32_t algorithm, int32_t size, int32_t equal_sizes) {
    return sim::usable_algorithm(algorithm, size, equal_sizes);
}

extern "C" int64_t st_sim_schedule(int32_t algorithm, int32_t rank, int32_t size, int64_t nbytes, int32_t root,
                                   const int64_t *sends, const int64_t *recvs, int64_t capacity, st_sim_step *steps) {
    try {
        const auto listed = sim::list_steps(algorithm, rank, root, sim::Sizes(size, nbytes, rank, sends, recvs));
        std::copy_n(listed.begin(), std::min(capacity, static_cast<int64_t>(listed.size())), steps);
        return static_cast<int64_t>(listed.size());
    } catch (const std::exception &) {
        return ST_SIM_E_MEMORY;
    }
}

extern "C" st_sim_links *st_sim_links_new(const st_sim_topology *topology) {
    try {
        return new st_sim_links(*topology);
    } catch (const std::exception &) {
        return nullptr;
    }
}

extern "C" void st_sim_links_free(st_sim_links *links) { delete links; }

extern "C" int64_t st_sim_count_links(const st_sim_links *links) { return links->topology.nlinks(); }

extern "C" int64_t st_sim_routes(const st_sim_links *links, int64_t n, const int32_t *a, const int32_t *b,
                                 int64_t *offsets, int64_t capacity, int32_t *routes) {
    try {
        std::vector<int32_t> route;
        int64_t count = offsets[0] = 0;
        for (int64_t i = 0; i < n; ++i) {
            if (!links->topology.route(a[i], b[i], route)) route = {-1};
            for (const int32_t link : route) {
                if (count < capacity) routes[count] = link;
                ++count;
            }
            offsets[i + 1] = count;
        }
        return count;
    } catch (const std::exception &) {
        return ST_SIM_E_MEMORY;
    }
}

extern "C" int st_sim_link_loads(const st_sim_platform *platform, int64_t n, const int32_t *from, const int32_t *to,
                                 const double *bytes, const double *own, float *per_byte) {
    try {
        std::vector<sim::PairMessage> messages(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) messages[static_cast<size_t>(i)] = {from[i], to[i], bytes[i], own[i]};
        sim::share_links(sim::Network(*platform), messages, per_byte);
        return ST_SIM_OK;
    } catch (const std::exception &) {
        return ST_SIM_E_MEMORY;
    }
}
