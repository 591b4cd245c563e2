/* flows.hpp - messages that share links over time, with max-min fair rates.
 *
 *   add(start) --> starts_ --time--> active: rates by progressive filling --time--> advance() returns it
 *
 * All rates are those of the largest share of which no flow can get more without taking from one that has less. A start or
 * an end changes the rates of the flows that it is connected to by links, no others. Rates that do not change keep their
 * end; so nothing is done for flows elsewhere. Among many connected flows, something starts or ends all the time: then
 * rates are found anew after a delay, a small part of the time that these flows take. Meanwhile new flows wait.
 */
#ifndef ST_SIM_FLOWS_HPP
#define ST_SIM_FLOWS_HPP

#include <cstdint>
#include <queue>
#include <vector>

namespace sim {

class Flows {
  public:
    struct End {
        int32_t flow;
        int64_t at; /* ps */
    };

    /* Add the next link. per_byte: ps; 0: unlimited. */
    void add_link(double per_byte);

    /* A flow of bytes over links; alone it takes `alone_ps`. Its number is used again once it has ended. */
    int32_t add(const std::vector<int32_t> &links, double nbytes, int64_t alone_ps, int64_t start);
    /* Go on to the next end of flows, if it is not after `limit`. False: there is none. */
    bool advance(int64_t limit, std::vector<End> &ended);

  private:
    struct Flow {
        std::vector<int32_t> links;
        double left = 0;           /* bytes at `since` */
        double rate = 0, most = 0; /* bytes per ps; most: alone */
        double next_rate = 0;
        int64_t since = 0;
        uint32_t version = 0; /* of the rate: outdates ends */
        uint64_t seen = 0;
        bool fixed = false;
    };
    struct SharedLink {
        double capacity = 0;         /* bytes per ps */
        std::vector<int32_t> active; /* flows */
        double left = 0;             /* while rates are found: capacity, and flows without a rate */
        int32_t nopen = 0;
        uint64_t seen = 0;
    };
    struct Event {
        int64_t at;
        int32_t flow;
        uint32_t version;
        bool operator<(const Event &o) const { return at != o.at ? at > o.at : flow > o.flow; }
    };
    struct Share {
        double rate;
        int32_t link;
        bool operator<(const Share &o) const { return rate != o.rate ? rate > o.rate : link > o.link; }
    };

    void start(int32_t flow);
    void end(int32_t flow);
    void touch(const Flow &flow);
    void share();
    void fill(const std::vector<int32_t> &flows);
    void fix(int32_t flow, double rate);
    void set_rate(int32_t flow);

    std::vector<SharedLink> links_;
    std::vector<Flow> flows_;
    std::vector<int32_t> unused_;
    std::priority_queue<Event> starts_, ends_; /* the first on top */
    std::vector<int32_t> touched_;             /* links whose flows changed since the rates were found */
    std::priority_queue<Share> shares_;
    int64_t now_ = 0;
    int64_t delay_ = 0, due_ = 0; /* ps: how long rates may be outdated, and until when those of touched links are */
    uint64_t nsearches_ = 0;
};

} // namespace sim
#endif
