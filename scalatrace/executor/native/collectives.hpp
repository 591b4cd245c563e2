/* collectives.hpp - exit times of collective operations from the times at which their members enter.
 *
 * In each round of an algorithm (schedules.hpp):
 *
 *   exit[i] = max(entry[i] + o, entry[j] + o + L + n G) + o        member i receives from member j
 */
#ifndef ST_SIM_COLLECTIVES_HPP
#define ST_SIM_COLLECTIVES_HPP

#include "clock.hpp"
#include "loads.hpp"
#include "network.hpp"

#include <vector>

namespace sim {

struct Call {
    int32_t collective;
    int64_t nbytes; /* the whole vector of bcast, reduce, allreduce, scan; one rank's block of the others */
    int32_t root;   /* position of the root */
    bool lists;     /* it has a size for each member, of which nbytes is the mean */
};

/* Number, in kAlgorithms, of the algorithm in the first rule that holds for a call; -1 where none does. */
int32_t choose_algorithm(const st_sim_rule *rules, int32_t nrules, const Call &call, int32_t size);

/* Replace the clocks of the members when they enter by those when they leave. members: their world ranks, or NULL;
 * loads: NULL if links are not shared. */
void run_collective(Network &network, RoundLoads *loads, const Call &call, const int32_t *members,
                    std::vector<Clock> &clocks);

/* The same with a given row of kAlgorithms. */
void run_algorithm(Network &network, RoundLoads *loads, const Call &call, int32_t algorithm, const int32_t *members,
                   std::vector<Clock> &clocks);

} // namespace sim
#endif
