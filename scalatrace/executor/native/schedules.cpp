/* schedules.cpp - the table of algorithms, and the steps of one member of a call. */
#include "schedules.hpp"

#include <cstring>
#include <iterator>

namespace sim {

namespace {

/* Keeps the steps of one member. */
class Lister {
  public:
    Lister(int32_t rank, int32_t root, const Sizes &sizes) : rank_(rank), root_(root), sizes_(sizes) {}

    int32_t size() const { return sizes_.size(); }
    int32_t root() const { return root_; }
    const Sizes &sizes() const { return sizes_; }

    template <class F> void round(F &&step) {
        const Step own = step(rank_);
        if (own.to >= 0 || own.from >= 0) {
            const int64_t received = own.from < 0 ? 0 : step(own.from).nbytes;
            steps.push_back({round_, own.to, own.from, own.reduces, own.to < 0 ? 0 : own.nbytes, received});
        }
        round_ += !together_;
    }
    template <class F> void rounds(int32_t n, F &&step, int32_t = 1) {
        for (int32_t k = 0; k < n; ++k) round([&](int32_t i) { return step(k, i); });
    }
    template <class F> void together(F &&body) {
        together_ = true;
        body();
        together_ = false;
        ++round_;
    }

    std::vector<st_sim_step> steps;

  private:
    int32_t rank_, root_, round_ = 0;
    bool together_ = false;
    const Sizes &sizes_;
};

constexpr auto &kTable = kAlgorithms<Lister>;
constexpr auto kNumber = static_cast<int32_t>(std::size(kTable));

/* In the order of enum Condition. */
constexpr const char *kConditions[] = {"", "equal sizes", "an even number of ranks", "a power of two ranks"};

bool holds(Condition condition, int32_t size, bool equal_sizes) {
    switch (condition) {
    case kEqualSizes:
        return equal_sizes;
    case kEvenRanks:
        return size % 2 == 0;
    case kPowerOfTwo:
        return power_below(size) == size;
    default:
        return true;
    }
}

int32_t number_of(int32_t collective, const char *name) {
    for (int32_t i = 0; i < kNumber; ++i)
        if (kTable[i].collective == collective && std::strcmp(kTable[i].name, name) == 0) return i;
    throw std::logic_error("no such algorithm");
}

} // namespace

int32_t usable_algorithm(int32_t algorithm, int32_t size, bool equal_sizes) {
    while (!holds(kTable[algorithm].condition, size, equal_sizes))
        algorithm = number_of(kTable[algorithm].collective, kTable[algorithm].otherwise);
    return algorithm;
}

st_sim_algorithm describe_algorithm(int32_t algorithm) {
    if (algorithm < 0 || algorithm >= kNumber) return {};
    const auto &row = kTable[algorithm];
    return {row.collective, row.name, kConditions[row.condition], row.otherwise};
}

std::vector<st_sim_step> list_steps(int32_t algorithm, int32_t rank, int32_t root, const Sizes &sizes) {
    Lister lister(rank, root, sizes);
    if (sizes.size() > 1) kTable[algorithm].run(lister);
    return std::move(lister.steps);
}

} // namespace sim
