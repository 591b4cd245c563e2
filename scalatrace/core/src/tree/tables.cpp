/* tables.cpp - union and size of tables. Equal names have equal contents: entries that exist are not compared. */
#include "tree/tables.hpp"

namespace st {

void Tables::merge(Tables &&other) {
    for (auto &[name, family] : other.comms.items()) {
        Family &mine = comms.add(name, Family{family.kind, family.parent, {}});
        for (const auto &[leader, instance] : family.instances) mine.instances.try_emplace(leader, instance);
    }
    for (auto &[name, t] : other.types.items()) types.add(name, Datatype(t));
    for (auto &[name, s] : other.strings.items()) strings.add(name, std::string(s));
    for (auto &[name, a] : other.arrays.items()) arrays.add(name, Array(a));
    for (auto &[name, s] : other.signatures.items()) signatures.add(name, std::vector<std::string>(s));
}

size_t Tables::nbytes() const {
    size_t n = 0;
    for (auto &[name, f] : comms.items())
        for (const auto &[leader, i] : f.instances) n += sizeof(i) + i.members.nbytes() + i.remote.nbytes();
    for (auto &[name, a] : arrays.items()) n += sizeof(a) + a.values.nbytes();
    for (auto &[name, s] : signatures.items())
        for (const std::string &frame : s) n += frame.capacity();
    return n + (types.size() + strings.size()) * 128;
}

} // namespace st
