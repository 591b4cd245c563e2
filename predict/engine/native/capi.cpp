/* capi.cpp - the C ABI: no exception passes it. */
#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

extern "C" int st_sim_run(const st_sim_program *program, const st_sim_platform *platform, st_sim_result *result,
                          int (*progress)(int64_t)) {
    try {
        sim::Engine engine(*program, *platform, *result, progress);
        return engine.run();
    } catch (const std::bad_alloc &) {
        std::snprintf(result->message, sizeof result->message, "out of memory");
        return ST_SIM_E_MEMORY;
    } catch (const std::exception &error) {
        std::snprintf(result->message, sizeof result->message, "%s", error.what());
        return ST_SIM_E_TRACE;
    }
}

extern "C" void st_sim_collective_times(const st_sim_platform *platform, int32_t collective, int32_t algorithm,
                                        int64_t nbytes, int32_t root, int32_t size, int64_t *times) {
    sim::Network network(*platform);
    std::vector<sim::Clock> clocks(static_cast<size_t>(size));
    for (int32_t i = 0; i < size; ++i) clocks[i].t = times[i];
    sim::run_algorithm(network, {collective, nbytes, root}, algorithm, nullptr, clocks);
    std::transform(clocks.begin(), clocks.end(), times, [](const sim::Clock &c) { return c.t; });
}
