/* files.cpp - see files.hpp. Plain system calls: this runs in the traced program, whose state must stay as it is. */
#include "io/files.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {

namespace {

constexpr int kMaxLinks = 40; /* as in Linux */
constexpr size_t kMaxName = 255;
constexpr mode_t kNewMode = 0666, kPrivateMode = 0600;

/* A write to a FIFO without a reader must not end the program: the signal is held back and taken from the thread. */
class NoSigpipe {
  public:
    NoSigpipe() {
        sigset_t pending;
        sigemptyset(&only_);
        sigaddset(&only_, SIGPIPE);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &only_, &old_);
    }
    ~NoSigpipe() {
        const timespec at_once = {0, 0};
        const int error = errno;
        if (!was_pending_)
            while (sigtimedwait(&only_, nullptr, &at_once) == -1 && errno == EINTR) continue;
        pthread_sigmask(SIG_SETMASK, &old_, nullptr);
        errno = error;
    }
    NoSigpipe(const NoSigpipe &) = delete;
    NoSigpipe &operator=(const NoSigpipe &) = delete;

  private:
    sigset_t only_, old_;
    bool was_pending_;
};

std::string failure(const std::string &path) { return "cannot write " + path + ": " + std::strerror(errno); }

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

int open_again(const char *path, int flags, mode_t mode = 0) {
    int file;
    do file = ::open(path, flags | O_CLOEXEC, mode);
    while (file < 0 && errno == EINTR);
    return file;
}

/* Folders without symbolic links; "" when there is no such folder. */
std::string real(const std::string &folder) {
    const std::unique_ptr<char, void (*)(void *)> resolved(::realpath(folder.c_str(), nullptr), std::free);
    return resolved ? resolved.get() : "";
}

struct Target {
    std::string path;    /* "": see errno */
    int descriptor = -1; /* of this process: the path is /proc/self/fd/N */
};

/* Whether a link of this path belongs to another user, in a folder where all users may write, such as /tmp. */
bool is_of_another_user(const std::string &path, const struct stat &link) {
    if (link.st_uid == ::geteuid()) return false;
    struct stat folder;
    const size_t slash = path.rfind('/');
    const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    return ::stat(above.c_str(), &folder) == 0 && folder.st_mode & S_ISVTX && folder.st_mode & S_IWOTH &&
           folder.st_uid != link.st_uid;
}

} // namespace

bool has_planted_link(const std::string &path, int links) {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        struct stat link;
        char to[4096];
        if (::lstat(part.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
            if (is_of_another_user(part, link)) return true;
            const ssize_t n = ::readlink(part.c_str(), to, sizeof to);
            if (n <= 0 || n == static_cast<ssize_t>(sizeof to) || !links) return false;
            const std::string target(to, static_cast<size_t>(n));
            const std::string rest = end == std::string::npos ? "" : path.substr(end);
            const size_t slash = part.rfind('/');
            const std::string folder = slash == std::string::npos ? "" : part.substr(0, slash + 1);
            return has_planted_link((target[0] == '/' ? target : folder + target) + rest, links - 1);
        }
        if (end == std::string::npos) return false;
    }
}

namespace {

/* Follow symbolic links, as far as one of this process's descriptors. */
Target resolve(std::string path) {
    if (has_planted_link(path, kMaxLinks)) {
        errno = EACCES;
        return {};
    }
    for (int links = 0; links < kMaxLinks; ++links) {
        const size_t slash = path.rfind('/');
        const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
        const std::string folder = real(slash == std::string::npos ? "." : path.substr(0, slash + 1));
        if (folder.empty()) return {};
        path = (folder == "/" ? "" : folder) + '/' + name;
        if (!name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos &&
            (folder == real("/proc/self/fd") || folder == real("/proc/thread-self/fd")))
            return {path, std::atoi(name.c_str())};
        char link[4096];
        const ssize_t n = ::readlink(path.c_str(), link, sizeof link);
        if (n == static_cast<ssize_t>(sizeof link)) errno = ENAMETOOLONG;
        if (n < 0 && (errno == EINVAL || errno == ENOENT)) return {path}; /* no link; nothing there yet */
        if (n < 0 || n == static_cast<ssize_t>(sizeof link)) return {};
        const std::string to(link, static_cast<size_t>(n));
        path = !to.empty() && to[0] == '/' ? to : folder + '/' + to;
    }
    errno = ELOOP;
    return {};
}

/* Open a FIFO or device. A FIFO that no process reads is an error: to wait for a reader may be to wait for ever. */
int open_stream(const char *path) {
    const int file = open_again(path, O_WRONLY | O_NOCTTY | O_NONBLOCK);
    if (file >= 0) ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
    return file;
}

std::string stream_failure(const std::string &path) {
    return errno == ENXIO ? "cannot write " + path + ": no process reads it" : failure(path);
}

uint64_t random_number() {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) return number;
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now); /* O_EXCL is what keeps the file apart from others */
    return static_cast<uint64_t>(now.tv_nsec) * 0x9E3779B97F4A7C15u ^ static_cast<uint64_t>(now.tv_sec);
}

int create_beside(const std::string &path, mode_t mode, std::string &temporary) {
    const size_t slash = path.rfind('/') + 1;
    for (;;) {
        char ending[24];
        std::snprintf(ending, sizeof ending, ".%016llx.tmp", static_cast<unsigned long long>(random_number()));
        temporary = path.substr(0, slash) + path.substr(slash, kMaxName - std::strlen(ending)) + ending;
        const int file = open_again(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (file >= 0) ::flock(file, LOCK_EX | LOCK_NB); /* without a lock it is left over */
        if (file >= 0 || errno != EEXIST) return file;
    }
}

/* Owner, group and mode of another file, as far as this user may. */
void copy_permissions(int file, const struct stat &old) {
    int ignored = ::fchown(file, static_cast<uid_t>(-1), old.st_gid);
    ignored = ::fchown(file, old.st_uid, static_cast<gid_t>(-1));
    ignored = ::fchmod(file, old.st_mode & 0777);
    (void)ignored;
}

bool write_pieces(int file, std::initializer_list<std::string_view> pieces) {
    bool good = true;
    for (const std::string_view piece : pieces) good = good && write_all(file, piece);
    const int error = errno;
    if (::close(file) != 0) return false;
    errno = error;
    return good;
}

bool replace(const std::string &path, std::initializer_list<std::string_view> pieces) {
    struct stat old;
    const bool exists = ::lstat(path.c_str(), &old) == 0;
    std::string temporary;
    const int file = create_beside(path, exists ? kPrivateMode : kNewMode, temporary);
    if (file < 0) return false;
    if (exists) copy_permissions(file, old);
    if (write_pieces(file, pieces) && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    return false;
}

} // namespace

std::string write_file(const std::string &path, std::initializer_list<std::string_view> pieces) {
    const NoSigpipe guard;
    const Target target = resolve(path);
    if (target.path.empty()) return failure(path);
    struct stat old;
    if (target.descriptor < 0 && (::stat(path.c_str(), &old) != 0 || S_ISREG(old.st_mode)))
        return replace(target.path, pieces) ? "" : failure(path);
    const int file =
        target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0) : open_stream(path.c_str());
    return file >= 0 && write_pieces(file, pieces) ? "" : stream_failure(path);
}

} // namespace st
