/* flatlog.cpp - format events and definitions as text. A definition precedes the first event that refers to it. */
#include "core/flatlog.hpp"

#include "tree/node.hpp"
#include "tree/tables.hpp"

namespace st {

namespace {
/* Quote a frame as JSON does. */
void quote(std::string &out, const std::string &s) {
    out += '"';
    for (char c : s) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else {
            out += c;
        }
    }
    out += '"';
}

/* Name of a special value; null: an ordinary one. */
const char *special(int64_t v) {
    switch (v) {
    case ST_PROC_NULL:
        return "PROC_NULL";
    case ST_ANY_SOURCE:
        return "ANY_SOURCE";
    case ST_ROOT:
        return "ROOT";
    case ST_UNDEFINED:
        return "UNDEFINED";
    case ST_ANY_TAG:
        return "ANY_TAG";
    default:
        return nullptr;
    }
}

/* "[1,2,3]" */
void list(std::string &out, const Vec &v) {
    out += '[';
    bool first = true;
    v.runs([&](int64_t x, uint64_t times) {
        for (; times; --times, first = false) {
            if (!first) out += ',';
            const char *name = special(x);
            out += name ? name : std::to_string(x);
        }
    });
    out += ']';
}
} // namespace

FlatLog::FlatLog(File file, std::string path, int rank, int nprocs)
    : file_(std::move(file)), path_(std::move(path)), rank_(rank) {
    std::fprintf(file_.get(), "# scalatrace flat log 1 rank %d of %d\n", rank, nprocs);
}

bool FlatLog::close() {
    std::fprintf(file_.get(), "# end %llu events\n", static_cast<unsigned long long>(nevents_));
    const bool written = std::ferror(file_.get()) == 0;
    const bool closed = std::fclose(file_.release()) == 0;
    return written && closed;
}

void FlatLog::define_op(const OpSchema &op, size_t number) {
    if (defined_ops_.size() <= number) defined_ops_.resize(number + 1);
    if (defined_ops_[number]) return;
    defined_ops_[number] = true;
    std::string s = "@O " + op.name;
    for (size_t i = 0; i < op.params.size(); ++i) {
        s += ' ';
        s += op.params[i];
        s += ':';
        s += "ipctsa"[op.kinds[i]];
    }
    s += '\n';
    std::fwrite(s.data(), 1, s.size(), file_.get());
}

unsigned FlatLog::signature(const Tables &tables, uint64_t name) {
    if (!name) return 0;
    auto [it, fresh] = signatures_.try_emplace(name, signatures_.size() + 1);
    if (fresh) {
        std::string s = "@S " + std::to_string(it->second);
        const auto *frames = tables.signatures.find(name);
        if (frames)
            for (const std::string &f : *frames) {
                s += ' ';
                quote(s, f);
            }
        s += '\n';
        std::fwrite(s.data(), 1, s.size(), file_.get());
    }
    return it->second;
}

unsigned FlatLog::comm(const Tables &tables, uint64_t name) {
    if (auto it = comms_.find(name); it != comms_.end()) return it->second;
    const Family *f = tables.comms.find(name);
    const std::string parent = f && f->parent ? std::to_string(comm(tables, f->parent)) : "-1";
    const unsigned number = static_cast<unsigned>(comms_.size());
    comms_[name] = number;
    std::string s = "@C " + std::to_string(number) + ' ' + (f ? f->kind : "unknown") + ' ' + parent;
    Vec none;
    const Instance *mine = nullptr;
    if (f)
        for (const auto &[leader, instance] : f->instances) mine = &instance; // a rank defines only its own
    s += ' ';
    if (name == ST_COMM_SELF)
        s += '[' + std::to_string(rank_) + ']';
    else
        list(s, mine ? mine->members : none);
    if (mine && mine->nremote) {
        s += ' ';
        list(s, mine->remote);
    }
    s += '\n';
    std::fwrite(s.data(), 1, s.size(), file_.get());
    return number;
}

unsigned FlatLog::type(const Tables &tables, uint64_t name) {
    auto [it, fresh] = types_.try_emplace(name, types_.size());
    if (fresh) {
        const Datatype *t = tables.types.find(name);
        std::string s = "@T " + std::to_string(it->second) + ' ' + std::to_string(t ? t->size : 0) + ' ' +
                        std::to_string(t ? t->extent : 0) + ' ';
        quote(s, t ? t->description : "unknown");
        s += '\n';
        std::fwrite(s.data(), 1, s.size(), file_.get());
    }
    return it->second;
}

void FlatLog::value(const Tables &tables, int kind, int64_t v) {
    const uint64_t name = static_cast<uint64_t>(v);
    line_ += ' ';
    if (kind == ST_COMM) {
        line_ += 'c' + std::to_string(comm(tables, name));
    } else if (kind == ST_TYPE) {
        line_ += 't' + std::to_string(type(tables, name));
    } else if (kind == ST_STRING) {
        const std::string *s = tables.strings.find(name);
        quote(line_, s ? *s : "");
    } else if (kind == ST_ARRAY) {
        const Array *a = tables.arrays.find(name);
        Vec none;
        list(line_, a ? a->values : none);
    } else {
        const char *text = special(v);
        line_ += text ? text : std::to_string(v);
    }
}

void FlatLog::event(const OpSchema &op, const Tables &tables, const st_event &e) {
    define_op(op, e.op);
    if (e.thread != thread_) {
        thread_ = e.thread;
        std::fprintf(file_.get(), "@H %u\n", thread_);
    }
    line_ = op.name + ' ' + std::to_string(signature(tables, e.signature));
    for (size_t i = 0; i < op.kinds.size(); ++i) value(tables, op.kinds[i], e.values[i]);
    line_ += '\n';
    std::fwrite(line_.data(), 1, line_.size(), file_.get());
    ++nevents_;
}

} // namespace st
