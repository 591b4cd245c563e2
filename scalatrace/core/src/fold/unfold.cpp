/* unfold.cpp - take the values of each execution out of value vectors and histograms.
 *
 * Rows and samples are in the order of the executions. A value vector is expanded. A histogram has no order: each of
 * its bins gives as many samples as it counts, with its ends and its sum. A histogram of values gives each execution a
 * histogram of one value, so that folding the executions anew makes histograms again.
 */
#include "fold/unfold.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace st {

namespace {

std::vector<int64_t> values_of(const Vec &vec) {
    std::vector<int64_t> out;
    out.reserve(vec.size());
    vec.runs([&out](int64_t value, uint64_t times) { out.insert(out.end(), times, value); });
    return out;
}

/* Samples with the count, ends and sum of each bin, shuffled: neighbours are from different bins. */
std::vector<double> samples_of(const Histogram &h) {
    std::vector<double> sorted, out;
    for (int i = 0; i < h.nbins; ++i) {
        const Bin &bin = h.bins[i];
        if (bin.count == 1) {
            sorted.push_back(bin.sum);
            continue;
        }
        const uint64_t inner = bin.count - 2;
        sorted.push_back(bin.min);
        const double mean = inner ? (bin.sum - bin.min - bin.max) / static_cast<double>(inner) : 0;
        sorted.insert(sorted.end(), inner, std::clamp(mean, bin.min, bin.max));
        sorted.push_back(bin.max);
    }
    size_t step = std::max<size_t>(1, sorted.size() * 5 / 8);
    while (std::gcd(step, sorted.size()) > 1) ++step;
    for (size_t i = 0; i < sorted.size(); ++i) out.push_back(sorted[i * step % sorted.size()]);
    return out;
}

/* The values and samples of an event that are not given to an execution yet. */
class Executions {
  public:
    Executions(NodePool &pool, Node *event) : event_(event), rows_(event->rows) {
        if (!event->raw) {
            rows_.resize(event->runs * event->nslots);
            for (size_t slot = 0; slot < event->nslots; ++slot) {
                const Elastic &e = event->slots[slot];
                marked_ |= e.dead || e.limit || e.averaged;
                if (e.summary) {
                    summarised_.emplace_back(slot, samples_of(e.summary->values));
                    continue;
                }
                size_t at = slot;
                for (const int64_t value : values_of(e.vec)) {
                    rows_[at] = value;
                    at += event->nslots;
                }
            }
        }
        if (!event->stats.empty()) samples_to_histograms(pool, event);
        ordered_ = event->stats.empty();
        event->samples.each(
            [this](const Sample &s) { samples_[0].push_back({s.pred, {s.values, s.values + s.nvalues}}); });
        for (const PredStats &stats : event->stats) add(stats);
    }

    /* A node of the next execution, which ran after an event with this key. */
    Node *next(NodePool &pool, uint64_t pred) {
        Node *n = make_execution(pool, event_, rows_.data() + at_++ * event_->nslots);
        if (marked_) {
            open_rows(n);
            for (size_t i = 0; i < n->nslots; ++i) {
                n->slots[i].dead = event_->slots[i].dead;
                n->slots[i].limit = event_->slots[i].limit;
                n->slots[i].averaged = event_->slots[i].averaged;
            }
        }
        for (const auto &[slot, samples] : summarised_) {
            const Summary &all = *event_->slots[slot].summary;
            std::unique_ptr<Summary> one(new Summary);
            one->values.add(samples[at_ - 1]);
            one->lengths = all.lengths / static_cast<double>(all.values.count);
            n->slots[slot].vec.clear();
            n->slots[slot].summary = std::move(one);
        }
        take_sample(n, ordered_ ? 0 : pred);
        return n;
    }

  private:
    struct Times { // of one execution
        uint64_t pred;
        std::vector<double> values;
    };

    Node *event_;
    std::vector<int64_t> rows_;
    std::vector<std::pair<size_t, std::vector<double>>> summarised_; // slots with a histogram, and its samples
    size_t at_ = 0;                                                  // executions that were given
    bool marked_ = false;                                     // has a slot more than values: a limit, or is it dead?
    bool ordered_ = false;                                    // are the samples in the order of the executions?
    std::unordered_map<uint64_t, std::deque<Times>> samples_; // by predecessor; ordered ones: all under 0

    void add(const PredStats &stats) {
        std::vector<double> columns[ST_MAX_STATS];
        size_t n = 0, nvalues = 0;
        for (size_t i = 0; i < ST_MAX_STATS; ++i) {
            if (!stats.hist[i]) continue;
            columns[i] = samples_of(*stats.hist[i]);
            n = std::max(n, columns[i].size());
            nvalues = i + 1;
        }
        for (size_t at = 0; at < n; ++at) {
            Times times{stats.pred, std::vector<double>(nvalues, NAN)};
            for (size_t i = 0; i < nvalues; ++i)
                if (at < columns[i].size()) times.values[i] = columns[i][at];
            samples_[stats.pred].push_back(std::move(times));
        }
    }

    /* The next one of this predecessor; where its samples do not suffice, of another. */
    void take_sample(Node *n, uint64_t pred) {
        auto found = samples_.find(pred);
        if (found == samples_.end()) found = samples_.begin();
        if (found == samples_.end()) return;
        const Times &times = found->second.front();
        n->samples.add(Sample{times.pred, times.values.size(), times.values.data()});
        found->second.pop_front();
        if (found->second.empty()) samples_.erase(found);
    }
};

} // namespace

Node *make_execution(NodePool &pool, const Node *event, const int64_t *row) {
    Node *n = make_event(pool, event->first, event->op, event->signature, event->nslots);
    append_rows(n, row, 1);
    return n;
}

uint64_t count_events(const Node *node) {
    if (node->leaf()) return node->runs;
    uint64_t n = 0;
    for (const Node *kid : node->kids) n += count_events(kid);
    return n;
}

bool has_all_values(const Node *node) {
    if (!node->leaf()) return std::all_of(node->kids.begin(), node->kids.end(), has_all_values);
    if (node->raw) return node->rows.size() == node->runs * node->nslots;
    return std::all_of(node->slots.begin(), node->slots.end(), [node](const Elastic &e) {
        return e.single() && (e.summary ? e.summary->values.count : e.vec.size()) == node->runs;
    });
}

uint64_t Visitor::next_repeat(const Node *kid) {
    const auto [it, fresh] = repeats_.try_emplace(kid);
    if (fresh) it->second.values = values_of(kid->repeat.vec);
    return static_cast<uint64_t>(it->second.values[it->second.next++]);
}

Body unfold(NodePool &pool, Node *node, uint64_t before) {
    Body out;
    std::unordered_map<const Node *, Executions> left;
    Visitor().visit(node, node->count, [&](Node *event) {
        const auto it = left.try_emplace(event, pool, event).first;
        out.push_back(it->second.next(pool, out.empty() ? before : out.back()->first));
    });
    pool.release(node);
    return out;
}

} // namespace st
