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
    if (leaves_[next_]->first != event->first) return false;
    if (event->raw && event->samples.size() == 1 && event->stats.empty()) {
        rows_.insert(rows_.end(), event->rows.begin(), event->rows.end());
        samples_.add(event->samples);
        wide_.push_back(nullptr);
        pool.release_shell(event);
    } else {
        wide_.push_back(event);
    }
    if (++next_ == leaves_.size()) commit(pool, order);
    return true;
}

void Block::commit(NodePool &pool, CodeOrder &order) {
    const int64_t *row = rows_.data();
    size_t i = 0;
    const auto append_wide = [&] {
        for (; i < next_ && wide_[i]; ++i) append_content(pool, order, leaves_[i], wide_[i]);
    };
    samples_.each([&](const Sample &sample) {
        append_wide();
        Node *leaf = leaves_[i++];
        append_rows(leaf, row, 1);
        row += leaf->nslots;
        ++leaf->runs;
        add_sample(pool, leaf, sample);
    });
    append_wide();
    for (const Repeats &each : repeats_) {
        each.node->repeat.vec.concat(each.repeat);
        each.node->runs += each.runs;
    }
    loop_->count += trips_;
    loop_->runs += trips_;
    next_ = 0;
    rows_.clear();
    samples_.clear();
    wide_.clear();
}

Body Block::pending(NodePool &pool) const {
    Body out;
    const int64_t *row = rows_.data();
    size_t i = 0;
    const auto clone_wide = [&] {
        for (; i < next_ && wide_[i]; ++i) out.push_back(pool.clone(wide_[i]));
    };
    samples_.each([&](const Sample &sample) {
        clone_wide();
        out.push_back(make_execution(pool, leaves_[i++], row));
        row += out.back()->nslots;
        out.back()->samples.add(sample);
    });
    clone_wide();
    return out;
}

Body Block::end(NodePool &pool) {
    Body out = pending(pool);
    for (Node *event : wide_)
        if (event) pool.release(event);
    loop_ = nullptr;
    next_ = 0;
    rows_.clear();
    samples_.clear();
    wide_.clear();
    return out;
}

} // namespace st
