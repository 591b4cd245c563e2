/* block.cpp - follow a loop's events, and join complete blocks. */
#include "fold/block.hpp"

#include "fold/iterate.hpp"
#include "fold/unfold.hpp"

namespace st {

void Block::note_repeats(Node *node) {
    for (Node *kid : node->kids) {
        repeats_.push_back({kid, kid->repeat.vec, kid->leaf() ? 0 : kid->runs});
        note_repeats(kid);
    }
}

bool Block::begin(Node *loop, uint64_t period) {
    leaves_.clear();
    repeats_.clear();
    Visitor().visit(loop, loop->count, [this](Node *event) { leaves_.push_back(event); });
    if (leaves_.size() != period) return false;
    note_repeats(loop);
    loop_ = loop;
    trips_ = loop->count;
    return true;
}

bool Block::append(NodePool &pool, CodeOrder &order, Node *event) {
    if (leaves_[wide_.size()]->first != event->first) return false;
    if (event->raw && event->samples.size() == 1 && event->stats.empty()) {
        rows_.insert(rows_.end(), event->rows.begin(), event->rows.end());
        samples_.add(event->samples);
        wide_.push_back(nullptr);
        pool.release_shell(event);
    } else {
        wide_.push_back(event);
    }
    if (wide_.size() == leaves_.size()) commit(pool, order);
    return true;
}

template <class Row, class Wide> void Block::each_pending(const Row &row, const Wide &wide) const {
    const int64_t *values = rows_.data();
    size_t i = 0;
    const auto pass_wide = [&] {
        for (; i < wide_.size() && wide_[i]; ++i) wide(leaves_[i], wide_[i]);
    };
    samples_.each([&](const Sample &sample) {
        pass_wide();
        row(leaves_[i], values, sample);
        values += leaves_[i++]->nslots;
    });
    pass_wide();
}

void Block::clear_pending() {
    rows_.clear();
    samples_.clear();
    wide_.clear();
}

void Block::commit(NodePool &pool, CodeOrder &order) {
    each_pending(
        [&pool](Node *leaf, const int64_t *values, const Sample &sample) {
            append_rows(leaf, values, 1);
            ++leaf->runs;
            add_sample(pool, leaf, sample);
        },
        [&pool, &order](Node *leaf, Node *event) { append_content(pool, order, leaf, event); });
    for (const Repeats &each : repeats_) {
        each.node->repeat.vec.concat(each.repeat);
        each.node->runs += each.runs;
    }
    loop_->count += trips_;
    loop_->runs += trips_;
    clear_pending();
}

Body Block::pending(NodePool &pool) const {
    Body out;
    each_pending(
        [&](const Node *leaf, const int64_t *values, const Sample &sample) {
            out.push_back(make_execution(pool, leaf, values));
            out.back()->samples.add(sample);
        },
        [&](const Node *, const Node *event) { out.push_back(pool.clone(event)); });
    return out;
}

Body Block::end(NodePool &pool) {
    Body out = pending(pool);
    for (Node *event : wide_)
        if (event) pool.release(event);
    loop_ = nullptr;
    clear_pending();
    return out;
}

} // namespace st
