/* topology.hpp - links between the nodes of a machine, and the routes over them.
 *
 *   cluster     node - switch                                 class 0
 *   fat tree    level 0: nodes; level l + 1: switches         class l: between levels l and l + 1
 *   torus       node - next node of each dimension            class 0
 *   mesh        the same without the link from end to start
 *   dragonfly   node - router, routers of a chassis (green), same routers of a group's chassis (black), groups (blue)
 *               all to all                                    class 0, 1, 2, 3
 *   graph       any                                           class: the link
 *
 * Each link is two, one of each direction. Routes are deterministic: destination modulo ports upwards in a fat tree (Zahavi
 * 2010), dimension after dimension in a torus, minimal in a dragonfly, the fewest links in a graph, where the first of
 * equal ones in the file is taken.
 */
#ifndef ST_SIM_TOPOLOGY_HPP
#define ST_SIM_TOPOLOGY_HPP

#include "st_sim.h"

#include <cstdint>
#include <vector>

namespace sim {

class Topology {
  public:
    explicit Topology(const st_sim_topology &topology);

    int32_t nlinks() const { return nlinks_; }
    int32_t class_of(int32_t link) const;
    double per_byte(int32_t link) const { return t_.per_byte[class_of(link)]; }
    /* Replace `links` by the route from one node to another. False: there is none. */
    bool route(int32_t from, int32_t to, std::vector<int32_t> &links) const;
    /* What a message between two nodes takes longer than the latency of the network, ps. */
    int64_t latency_ps(int32_t from, int32_t to) const;

  private:
    struct Router { /* of a dragonfly */
        int32_t group, chassis, blade;
    };

    void climb(int32_t from, int32_t to, std::vector<int32_t> &links) const;
    void walk(int32_t from, int32_t to, std::vector<int32_t> &links) const;
    void fly(int32_t from, int32_t to, std::vector<int32_t> &links) const;
    bool follow(int32_t from, int32_t to, std::vector<int32_t> &links) const;
    void search(int32_t to) const;
    int32_t levels() const { return t_.nshape / 3; }
    int32_t down(int32_t level) const { return t_.shape[level]; }
    int32_t up(int32_t level) const { return t_.shape[levels() + level]; }
    int32_t cables(int32_t level) const { return t_.shape[2 * levels() + level]; }
    int32_t green(const Router &at, int32_t blade) const;
    int32_t black(const Router &at, int32_t chassis) const;

    const st_sim_topology t_;
    int32_t nlinks_ = 0;
    bool has_latency_ = false;
    std::vector<int32_t> starts_;              /* of the links of each class */
    std::vector<int32_t> edges_, edge_starts_; /* of a graph: links that leave each vertex */
    mutable std::vector<std::vector<int32_t>>
        next_; /* [node][vertex] the link towards the node; empty: not known yet */
    mutable std::vector<int32_t> links_;
};

} // namespace sim

struct st_sim_links {
    explicit st_sim_links(const st_sim_topology &t) : topology(t) {}
    const sim::Topology topology;
};
#endif
