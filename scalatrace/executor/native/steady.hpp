/* steady.hpp - loops whose clocks advance by the same vector in each iteration.
 *
 * Times follow x(k+1) = A x(k) over (max, +). If two successive iterations advance the clock of each rank i by the same
 * v[i], and no rank j that rank i depends on advances faster (v[j] <= v[i]), then so do all further iterations:
 *
 *   x[i](k+1) <= max_j(x[j](k-1) + v[j] + A[i,j]) <= x[i](k) + v[i]
 *   x[i](k+1) >= x[j*](k) + A[i,j*] = x[i](k) + v[j*], and v[j*] = v[i] for the j* that determined x[i](k),
 *                since x[i](k-1) >= x[j*](k-2) + A[i,j*] gives v[i] <= v[j*]
 *
 * This holds where a rank takes the maximum of what it waits for. With overheads of receives, or where messages wait
 * for an interface, times also depend on the order of arrivals: then v[j] = v[i] is required, which keeps the order.
 *
 * So all ranks of a loop whose iterations are equal stop after each, until this holds (or some rank cannot get there
 * because it waits for one outside the loop). A third iteration checks each message; the rest is multiplied.
 */
#ifndef ST_SIM_STEADY_HPP
#define ST_SIM_STEADY_HPP

#include "rank.hpp"
#include "st_sim.h"

#include <vector>

namespace sim {

class Engine;

class Steady {
  public:
    explicit Steady(Engine &engine);

    bool active() const { return !loops_.empty(); }
    /* A rank ended an iteration of a loop, and has `left` more. True: it stops here until all have. */
    bool park(int32_t r, int32_t node, int64_t left);
    /* Let ranks go on that stopped. False: none did. */
    bool release();
    /* Rank `to` depends on rank `from`; `both`: and the other way round. */
    void depends(int32_t from, int32_t to, bool both) {
        if (!checking_.empty()) check(from, to, both);
    }

  private:
    struct Loop {
        int32_t node = -1;
        std::vector<int32_t> ranks;        /* that run it */
        std::vector<int32_t> parked;       /* that have ended the current iteration */
        int64_t left = 0, left_before = 0; /* iterations after this one; after the one before */
        std::vector<int64_t> state;        /* all times after the last iteration */
        uint64_t growth = 0;               /* digest of what that iteration added to them */
        std::vector<int64_t> speed;        /* [rank] v while an iteration is checked */
        std::vector<st_sim_sum> nodes;     /* accounts before that iteration */
        std::vector<int64_t> by_rank;
        uint64_t shape = 0; /* of the state */
        int32_t ngrown = 0; /* successive iterations that left more messages or requests than the one before */
        bool has_state = false, has_growth = false, checked = false, violated = false, given_up = false;
    };

    void compare(Loop &loop);
    void forget(Loop &loop);
    template <class F> void visit_growth(const Loop &loop, F &&f);
    bool snapshot(Loop &loop);
    void multiply(Loop &loop);
    void check(int32_t from, int32_t to, bool both);

    Engine &engine_;
    bool equal_speeds_; /* ranks that depend on each other must advance equally fast */
    std::vector<Loop> loops_;
    std::vector<int32_t> loop_of_; /* [node] index into loops_, -1 */
    std::vector<Loop *> checking_; /* an iteration of these is checked: one, and loops around it */
};

} // namespace sim
#endif
