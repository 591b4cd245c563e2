/* capi.cpp - the functions of st_core.h. They turn exceptions into error codes; none passes the C interface. */
#include "core/core.hpp"
#include "core/pack.hpp"
#include "core/payload.hpp"
#include "io/container.hpp"
#include "io/files.hpp"
#include "tree/depths.hpp"
#include "tree/hash.hpp"
#include "tree/recursion.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#ifndef ST_VERSION /* defined when the package is built; tests compile the sources alone */
#define ST_VERSION "unknown"
#endif

using namespace st;

namespace {

/* Store the text of an error; return its code. */
int fail(st_core *core, int code, const char *text) noexcept {
    try {
        core->error = text;
    } catch (const std::bad_alloc &) {
        core->error = "out of memory"; // fits the string without an allocation
    }
    return code;
}

/* Run `body`, turning exceptions into error codes. */
template <class F> int guarded(st_core *core, F body) noexcept {
    try {
        if (core->broken) return fail(core, ST_E_MEMORY, "memory ran out before: the events recorded here are lost");
        return body();
    } catch (const std::bad_alloc &) {
        return fail(core, ST_E_MEMORY, "out of memory");
    } catch (const FormatError &e) {
        return fail(core, ST_E_FORMAT, e.what());
    } catch (const std::exception &e) {
        return fail(core, ST_E_USAGE, e.what());
    }
}

/* The same for changes of the core. Out of memory leaves it inconsistent, or without something that later events refer
 * to: the core is abandoned, after `body` has left its scope. */
template <class F> int guarded_change(st_core *core, F body) noexcept {
    const bool was_broken = core->broken;
    const int code = guarded(core, body);
    if (!was_broken && (core->broken || code == ST_E_MEMORY)) core->abandon();
    return code;
}

constexpr uint64_t kMaxPartValues = uint64_t{1} << 28; // values of a part that are expanded: some seconds

/* Number of values that may be expanded one by one: any number of those that this program recorded itself. */
uint64_t expandable(const st_core *core) { return core->untrusted ? kMaxPartValues : UINT64_MAX; }

Vec make_vec(const int64_t *values, size_t n) {
    Vec v;
    for (size_t i = 0; i < n; ++i) v.append(values[i]);
    return v;
}

} // namespace

st_core *st_core_new(int rank, int nprocs) {
    try {
        return new st_core(rank, nprocs);
    } catch (const std::exception &) {
        return nullptr;
    }
}

void st_core_free(st_core *core) { delete core; }

const char *st_core_error(const st_core *core) { return core->error.c_str(); }

int st_define_op(st_core *core, const char *name, int nparams, const char *const *names, const int *kinds) {
    return guarded_change(core, [&] {
        if (nparams < 0 || nparams > ST_MAX_VALUES) return fail(core, ST_E_USAGE, "too many parameters");
        for (int i = 0; i < nparams; ++i)
            if (kinds[i] < ST_INT || kinds[i] > ST_ARRAY) return fail(core, ST_E_USAGE, "unknown parameter kind");
        return core->define_op(name, nparams, names, kinds);
    });
}

int st_set_communicating(st_core *core, int op) {
    return guarded_change(core, [&] {
        if (op < 0 || static_cast<size_t>(op) >= core->ops.size()) return fail(core, ST_E_USAGE, "unknown operation");
        core->ops[static_cast<size_t>(op)].communicates = true;
        return 0;
    });
}

int st_set_collective(st_core *core, int op) {
    return guarded_change(core, [&] {
        if (op < 0 || static_cast<size_t>(op) >= core->ops.size()) return fail(core, ST_E_USAGE, "unknown operation");
        OpSchema &schema = core->ops[static_cast<size_t>(op)];
        for (size_t i = 0; i < schema.kinds.size(); ++i)
            if (schema.kinds[i] == ST_COMM && schema.params[i] == "comm") schema.turn_at = static_cast<int>(i);
        return 0;
    });
}

int st_set_overlapping(st_core *core, int op) {
    return guarded_change(core, [&] {
        if (op < 0 || static_cast<size_t>(op) >= core->ops.size()) return fail(core, ST_E_USAGE, "unknown operation");
        core->ops[static_cast<size_t>(op)].overlaps = true;
        return 0;
    });
}

/* Also for operations that are defined already. */
int st_set_policy(st_core *core, const char *parameter, int limit) {
    return guarded_change(core, [&] {
        if (limit < -1) return fail(core, ST_E_USAGE, "a limit is -1 (drop), 0 (keep) or a number of terms");
        core->limits[parameter] = limit;
        for (OpSchema &op : core->ops)
            for (size_t i = 0; i < op.kinds.size(); ++i)
                op.limits[i] = core->limit_of(op.name, op.params[i], op.kinds[i]);
        return 0;
    });
}

int st_define_stat(st_core *core, const char *name, double resolution) {
    return guarded_change(core, [&] {
        for (size_t i = 0; i < core->stats.size(); ++i)
            if (core->stats[i].first == name) return static_cast<int>(i);
        if (core->stats.size() == ST_MAX_STATS) return fail(core, ST_E_USAGE, "too many statistics");
        if (!(resolution > 0 && resolution <= ST_MAX_RESOLUTION))
            return fail(core, ST_E_USAGE, "the resolution of a statistic is not above 0 and up to 1e30");
        core->stats.emplace_back(name, resolution);
        return static_cast<int>(core->stats.size()) - 1;
    });
}

/* Names are hashes of the content, so they are returned even where the thing could not be stored; the core is then
 * abandoned. */
uint64_t st_array(st_core *core, const int64_t *values, size_t n) {
    const uint64_t name = hash_bytes(values, n * sizeof *values, 11);
    guarded_change(core, [&] {
        if (!core->tables.arrays.has(name)) core->tables.arrays.add(name, Array{n, make_vec(values, n)});
        return 0;
    });
    return name;
}

uint64_t st_string(st_core *core, const char *text, size_t n) {
    const uint64_t name = hash_bytes(text, n, 13);
    guarded_change(core, [&] {
        if (!core->tables.strings.has(name)) core->tables.strings.add(name, std::string(text, n));
        return 0;
    });
    return name;
}

uint64_t st_define_type(st_core *core, const char *description, int64_t size, int64_t extent) {
    const int64_t shape[2] = {size, extent};
    const uint64_t name = hash_bytes(description, std::strlen(description), hash_bytes(shape, sizeof shape, 17));
    guarded_change(core, [&] {
        if (!core->tables.types.has(name)) core->tables.types.add(name, Datatype{description, size, extent});
        return 0;
    });
    return name;
}

uint64_t st_family(uint64_t parent, uint64_t ordinal) {
    const uint64_t both[2] = {parent, ordinal};
    return hash_bytes(both, sizeof both, 19);
}

/* An instance is named by its first member of this world. */
int st_define_comm(st_core *core, uint64_t family, uint64_t parent, const char *kind, const int64_t *members,
                   size_t nmembers, const int64_t *remote, size_t nremote) {
    return guarded_change(core, [&] {
        Family &f = core->tables.comms.add(family, Family{kind, parent, {}});
        const int64_t *leader = std::find_if(members, members + nmembers, [](int64_t rank) { return rank >= 0; });
        if (leader == members + nmembers || family == ST_COMM_SELF || f.instances.count(*leader)) return 0;
        Instance i;
        i.nmembers = nmembers;
        i.members = make_vec(members, nmembers);
        i.nremote = nremote;
        i.remote = make_vec(remote, nremote);
        f.instances.emplace(*leader, std::move(i));
        return 0;
    });
}

/* Frames in ranges of the user are widened first; then recursion is folded; then a similar signature may represent this
 * one. Callers remember the name of each stack, so this is done once per stack. */
uint64_t st_define_signature(st_core *core, const char *const *frames, size_t nframes) {
    uint64_t name = 23;
    guarded_change(core, [&] {
        Frames kept;
        for (size_t i = 0; i < nframes; ++i) kept.push_back(core->similar.recorded_frame(frames[i]));
        if (core->fold_recursion) fold_recursion(kept);
        for (const std::string &frame : kept) name = hash_bytes(frame.data(), frame.size(), name);
        if (core->tables.signatures.has(name)) return 0;
        name = core->similar.representative(name, kept);
        core->tables.signatures.add(name, std::move(kept));
        return 0;
    });
    return name;
}

int st_set_option(st_core *core, const char *name, int64_t value) {
    return guarded_change(core, [&] {
        const std::string option = name;
        if (option == "signature_tolerance" && value >= 0)
            core->similar.tolerance = static_cast<uint64_t>(value);
        else if (option == "loop_alignment")
            core->each_stream([&](Stream &s, size_t) { s.queue.align_loops = value != 0; });
        else if (option == "loop_agnostic")
            core->loop_agnostic = value != 0;
        else if (option == "threads")
            core->thread_limit = value ? kMaxStreams : 1;
        else if (option == "fold_recursion")
            core->fold_recursion = value != 0;
        else
            return fail(core, ST_E_USAGE, "an unknown option, or a value that it cannot have");
        return 0;
    });
}

int st_add_site_range(st_core *core, const char *file, uint64_t low, uint64_t high) {
    return guarded_change(core, [&] {
        if (low > high) return fail(core, ST_E_USAGE, "a range that ends before it begins");
        core->similar.ranges.push_back({file, low, high});
        return 0;
    });
}

int st_frame_in_range(const char *frame, const char *file, uint64_t low, uint64_t high) {
    try {
        return SiteRange{file, low, high}.has(Site(frame));
    } catch (const std::bad_alloc &) {
        return ST_E_MEMORY;
    }
}

int st_set_meta(st_core *core, const char *key, const char *value) {
    return guarded_change(core, [&] {
        if (value)
            core->meta[key] = value;
        else
            core->meta.erase(key);
        return 0;
    });
}

int st_set_count(st_core *core, const char *op_name, uint64_t ncalls) {
    return guarded_change(core, [&] {
        core->counts[op_name] = ncalls;
        return 0;
    });
}

int st_core_append(st_core *core, const struct st_event *event) {
    return guarded_change(core, [&] {
        if (event->op >= core->ops.size()) return fail(core, ST_E_USAGE, "an event of an unknown operation");
        if (event->nvalues != core->ops[event->op].kinds.size())
            return fail(core, ST_E_USAGE, "an event with another number of values than its operation has parameters");
        if (event->thread >= core->thread_limit)
            return fail(core, ST_E_USAGE, "an event of a thread without the option 'threads', or of too many");
        core->append(*event);
        return 0;
    });
}

int st_core_use(st_core *core, uint32_t creator, int64_t ordinal, uint32_t thread, int overlaps) {
    return guarded_change(core, [&] {
        if (thread >= core->thread_limit || creator >= core->thread_limit || ordinal < 0)
            return fail(core, ST_E_USAGE, "a use by a thread without the option 'threads', or of too many");
        const UseName name{static_cast<int32_t>(UseKind::kRequest), creator};
        core->uses.note(name, ordinal, static_cast<int32_t>(thread), overlaps != 0);
        return 0;
    });
}

int st_core_end_use(st_core *core, uint32_t creator, int64_t ordinal) {
    return guarded_change(core, [&] {
        core->uses.end({static_cast<int32_t>(UseKind::kRequest), creator}, ordinal);
        return 0;
    });
}

int st_flatlog_open(st_core *core, const char *path) {
    return guarded(core, [&] {
        File file(std::fopen(path, "we"));
        if (!file)
            return fail(core, ST_E_IO, (std::string("cannot write ") + path + ": " + std::strerror(errno)).c_str());
        core->flatlog.reset(new FlatLog(std::move(file), path, core->rank, core->nprocs));
        return 0;
    });
}

void st_flatlog_forget(st_core *core) {
    if (core->flatlog) core->flatlog->forget();
}

int st_flatlog_close(st_core *core) {
    return guarded(core, [&] {
        if (!core->flatlog) return 0;
        const bool good = core->flatlog->close();
        const std::string path = core->flatlog->path();
        core->flatlog.reset();
        return good ? 0 : fail(core, ST_E_IO, ("cannot write " + path + ": " + std::strerror(errno)).c_str());
    });
}

uint64_t st_core_nevents(const st_core *core) { return core->nevents; }

static double sum_of(const AllLoads &loads, int stat) {
    return stat >= 0 && static_cast<size_t>(stat) < kLoads ? loads[static_cast<size_t>(stat)].sum() : 0;
}

double st_core_total(const st_core *core, int stat) { return sum_of(core->totals.whole, stat); }

double st_core_total_between(const st_core *core, int stat) {
    return sum_of(core->totals.shown(core->ranks.size()), stat);
}

uint64_t st_core_ncomms(const st_core *core, const char *kind) {
    uint64_t n = 0;
    for (const auto &[name, family] : core->tables.comms.items()) n += family.kind == kind;
    return n;
}

int st_core_advised_depth(st_core *core, uint64_t *nodes, uint64_t *nodes_now) {
    return guarded(core, [&] {
        const DepthAdvice advice = advised_depth(core->all_roots(), core->tables);
        *nodes = advice.nodes;
        *nodes_now = advice.nodes_now;
        return advice.depth;
    });
}

uint64_t st_core_nbytes(const st_core *core) {
    uint64_t n = core->first.queue.nbytes() + core->tables.nbytes();
    for (const Stream &s : core->others) n += s.queue.nbytes();
    for (const Body &body : core->roots)
        for (const Node *root : body) n += tree_bytes(root);
    return n;
}

int st_core_finish(st_core *core) {
    return guarded_change(core, [&] {
        core->finish();
        return 0;
    });
}

int st_core_pack(st_core *core, void **bytes, size_t *nbytes) {
    return guarded(core, [&] {
        Bytes packed = pack_core(*core);
        *nbytes = packed.size();
        *bytes = packed.release();
        return 0;
    });
}

/* Everything is unpacked and checked before the core changes. */
int st_core_merge(st_core *core, const void *bytes, size_t nbytes) {
    return guarded_change(core, [&] {
        const ExpansionLimit limit(expandable(core));
        std::unique_ptr<Incoming> other = unpack(bytes, nbytes, core->pool, core);
        if (other->nprocs != core->nprocs)
            return fail(core, ST_E_USAGE, "traces of runs with different numbers of ranks");
        if (!core->ranks.intersect(other->ranks).empty()) return fail(core, ST_E_USAGE, "a rank is in both traces");
        if (const std::string why = core->obstacle(*other); !why.empty()) return fail(core, ST_E_FORMAT, why.c_str());
        try {
            core->merge(std::move(*other));
        } catch (const FormatError &) { // in the middle
            core->broken = true;
            throw;
        }
        return 0;
    });
}

void st_free(void *bytes) { std::free(bytes); }

int st_core_write(st_core *core, const char *path, int compress) {
    return guarded(core, [&] {
        const ExpansionLimit limit(expandable(core));
        const std::string error =
            write_container(path, trace_payload(*core), false, compress != 0, core->has_streams());
        return error.empty() ? 0 : fail(core, ST_E_IO, error.c_str());
    });
}

/* The flat log is flushed, so that it has all events of the part. */
int st_core_write_part(st_core *core, const char *path) {
    return guarded(core, [&] {
        if (core->flatlog) core->flatlog->flush();
        const std::unique_ptr<st_core> copy = core->snapshot();
        const std::string error = write_container(path, pack_core(*copy), true, false, copy->has_streams());
        return error.empty() ? 0 : fail(core, ST_E_IO, error.c_str());
    });
}

int st_core_write_packed(st_core *core, const void *bytes, size_t nbytes, const char *path) {
    return guarded(core, [&] {
        const std::string error =
            write_container(path, {static_cast<const char *>(bytes), nbytes}, true, false, core->has_streams());
        return error.empty() ? 0 : fail(core, ST_E_IO, error.c_str());
    });
}

/* There is no core yet that could hold the error. */
st_core *st_core_read_part(const char *path, char *error, size_t nerror) {
    try {
        const std::string payload = read_container(path);
        const ExpansionLimit limit(kMaxPartValues);
        return unpack_core(payload.data(), payload.size()).release();
    } catch (const std::bad_alloc &) {
        std::snprintf(error, nerror, "out of memory");
    } catch (const std::exception &e) {
        std::snprintf(error, nerror, "%s", e.what());
    }
    return nullptr;
}

int st_has_planted_link(const char *path) {
    try {
        return st::has_planted_link(path);
    } catch (...) { // out of memory: nothing is written there
        return 1;
    }
}

int st_format_version(void) { return 1; }
const char *st_core_version(void) { return ST_VERSION; }
