/* similar_stacks.cpp - parse frames, and find the representative of a signature.
 *
 * Signatures with the same functions are in one list; the first of the list whose numbers are all near enough
 * represents a new one. So the result depends on the order of signatures, but equal orders give equal results.
 */
#include "tree/similar_stacks.hpp"

#include "tree/hash.hpp"

#include <cstdlib>

namespace st {

/* Native frames have an offset, Python's a line between two colons; other texts have no number. */
Site::Site(const std::string &frame) {
    const size_t offset = frame.rfind("+0x");
    const size_t second = frame.rfind(':'), first = second ? frame.rfind(':', second - 1) : std::string::npos;
    size_t from, to;
    int base = 10;
    if (offset != std::string::npos) {
        from = offset + 3;
        to = frame.size();
        base = 16;
        native = true;
    } else if (second != std::string::npos && first != std::string::npos) {
        from = first + 1;
        to = second;
    } else {
        before = frame;
        return;
    }
    before = frame.substr(0, from);
    after = frame.substr(to);
    number = std::strtoull(frame.substr(from, to - from).c_str(), nullptr, base);
}

static bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && !text.compare(text.size() - end.size(), end.size(), end);
}

/* `before` ends with ":" or "+0x", which is not part of the file's name. */
bool SiteRange::has(const Site &site) const {
    const std::string before = site.before.substr(0, site.before.find_last_of(":+"));
    return site.number >= low && site.number <= high && ends_with(before, file);
}

std::string Similar::recorded_frame(const std::string &frame) const {
    if (ranges.empty()) return frame;
    const Site site(frame);
    for (const SiteRange &r : ranges)
        if (r.has(site)) return site.before + std::to_string(r.low) + ":*";
    return frame;
}

/* The functions' hash selects the candidates; frame counts are equal then, too. */
uint64_t Similar::representative(uint64_t name, const Frames &frames) {
    if (!tolerance) return name;
    uint64_t functions = 29;
    std::vector<uint64_t> numbers;
    for (const std::string &frame : frames) {
        const Site site(frame);
        functions = hash_bytes(site.before.data(), site.before.size(), functions);
        functions = hash_bytes(site.after.data(), site.after.size(), functions);
        numbers.push_back(site.number);
    }
    std::vector<Known> &known = by_functions_[functions];
    for (const Known &k : known) {
        bool close = true;
        for (size_t i = 0; i < numbers.size(); ++i)
            close = close &&
                    (k.numbers[i] > numbers[i] ? k.numbers[i] - numbers[i] : numbers[i] - k.numbers[i]) <= tolerance;
        if (close) return k.name;
    }
    known.push_back({name, std::move(numbers)});
    return name;
}

} // namespace st
