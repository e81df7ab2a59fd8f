#include "fs.hpp"

#include "c_path.hpp"
#include "system_call.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

// Functions of this file run on threads of the pool. They return 0 or a positive errno, unless they
// say otherwise.
namespace eve::fs {

namespace {

constexpr i64 most_bytes = 1 << 20; // of one call; a guess
constexpr mode_t new_file = 0666;   // less the umask

// A descriptor, or a negative errno.
int open_file(const string& path, int flags, mode_t mode = new_file) {
    c_path name(path);
    if (!name.valid()) return -EINVAL;
    int fd = retried([&] { return ::open(name.text(), flags | open_flags, mode); });
    return fd < 0 ? fd : only_file(fd, flags);
}

int write_at(int fd, const bytes& data, i64 at) noexcept {
    // Of a file that is open to append, the offset is not used.
    file_call c{.what = file_call::op::write, .fd = fd};
    for (i64 done = 0; done < data.size();) {
        i64 left = data.size() - done;
        c.data = const_cast<u8*>(data.data()) + done; // pwrite reads it only
        c.size = left < most_bytes ? left : most_bytes;
        c.at = at + done;
        i64 n = perform(c);
        if (n <= 0) return n < 0 ? static_cast<int>(-n) : EIO;
        done += n;
    }
    return 0;
}

int write_all(int fd, const bytes& data) noexcept { return write_at(fd, data, 0); }

int read_all(int fd, i64 most, bytes& into) {
    struct stat about;
    if (fstat(fd, &about) != 0) return errno;
    if (S_ISDIR(about.st_mode)) return EISDIR;
    if (about.st_size > most) return EFBIG;
    // One byte more than the file has: the read that ends it needs no call of its own then.
    i64 room = about.st_size > 0 ? about.st_size + 1 : most_bytes;
    file_call c{.what = file_call::op::read, .fd = fd};
    for (;;) {
        c.size = room < most_bytes ? room : most_bytes;
        c.data = into.room(c.size);
        c.at = into.size();
        i64 n = perform(c);
        if (n < 0) return static_cast<int>(-n);
        into.grown(n);
        if (into.size() > most) return EFBIG;
        if (n == 0 || (n < c.size && into.size() == about.st_size)) return 0;
        room = most_bytes; // a file that grows, or that has no size, as in /proc
    }
}

int write_file(const string& path, int flags, const bytes& data) {
    int fd = open_file(path, O_WRONLY | O_CREAT | flags);
    if (fd < 0) return -fd;
    descriptor held(fd);
    if (int code = write_all(fd, data)) return code;
    return held.close();
}

// Makes a new file beside `path`, whose name nobody has. The result is a descriptor, or a negative
// errno.
int open_beside(const string& path, string& name) {
    for (int attempts = 0; attempts < 100; attempts++) {
        u64 number = 0;
        (void)!getrandom(&number, sizeof number, 0);
        formatter f;
        f.put(path);
        f.text(".", 1);
        f.put(number, {.verb = 'x'});
        f.text(".new", 4);
        name = f.take();
        int fd = open_file(name, O_WRONLY | O_CREAT | O_EXCL);
        if (fd != -EEXIST) return fd;
    }
    return -EEXIST;
}

int sync_directory_of(const string& path) {
    i64 end = path.size();
    while (end > 0 && path[end - 1] != '/') --end;
    string name = end == 0 ? string::literal(".") : path.cut(0, end, nullptr);
    c_path dir(name);
    int fd = retried([&] { return ::open(dir.text(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) return -fd;
    descriptor held(fd);
    // Some file systems cannot sync a directory, and need not.
    int code = checked(static_cast<int>(perform({.what = file_call::op::sync, .fd = fd})));
    return code == EINVAL ? 0 : code;
}

// Writes the new file beside the old one, with its permissions, and renames it when the disk has
// it: a reader, and a machine that fails, sees the old contents or the new.
int replace_file(const string& path, const bytes& data) {
    c_path to(path);
    if (!to.valid()) return EINVAL;
    struct stat old;
    bool replaces = stat(to.text(), &old) == 0;
    if (replaces && S_ISDIR(old.st_mode)) return EISDIR;
    string name;
    int fd = open_beside(path, name);
    if (fd < 0) return -fd;
    descriptor held(fd);
    c_path from(name);
    int code = replaces && fchmod(fd, old.st_mode & 07777) != 0 ? errno : 0;
    if (code == 0) code = write_all(fd, data);
    if (code == 0)
        code = checked(static_cast<int>(perform({.what = file_call::op::sync, .fd = fd})));
    if (int closed = held.close(); code == 0) code = closed;
    if (code == 0) code = checked(retried([&] { return ::rename(from.text(), to.text()); }));
    if (code != 0) {
        ::unlink(from.text());
        return code;
    }
    return sync_directory_of(path);
}

entry::kind kind_of(int dir, const dirent& e) noexcept {
    switch (e.d_type) {
    case DT_REG: return entry::kind::file;
    case DT_DIR: return entry::kind::directory;
    case DT_LNK: return entry::kind::link;
    case DT_UNKNOWN: break;
    default: return entry::kind::other;
    }
    struct stat about;
    if (fstatat(dir, e.d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) return entry::kind::other;
    return S_ISREG(about.st_mode)   ? entry::kind::file
           : S_ISDIR(about.st_mode) ? entry::kind::directory
           : S_ISLNK(about.st_mode) ? entry::kind::link
                                    : entry::kind::other;
}

int list_directory(const string& path, vector<entry>& all) {
    c_path name(path);
    if (!name.valid()) return EINVAL;
    int fd = retried([&] { return ::open(name.text(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) return -fd;
    DIR* dir = fdopendir(fd);
    if (dir == nullptr) {
        int code = errno;
        ::close(fd);
        return code;
    }
    errno = 0;
    while (const dirent* e = readdir(dir)) {
        bool own = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!own)
            all.push(
                entry(string(e->d_name, static_cast<i64>(strlen(e->d_name))), kind_of(fd, *e)));
        errno = 0;
    }
    int code = errno;
    closedir(dir);
    all.sort();
    return code;
}

int make_one(const string& path, mode_t mode) {
    c_path name(path);
    if (!name.valid()) return EINVAL;
    return checked(retried([&] { return ::mkdir(name.text(), mode); }));
}

bool is_directory(const string& path) {
    c_path name(path);
    struct stat about;
    return stat(name.text(), &about) == 0 && S_ISDIR(about.st_mode);
}

// Also the directories on the way. One that is there already is as good.
int make_all(const string& path, mode_t mode) {
    for (i64 i = 1; i < path.size(); i++) {
        if (path[i] != '/' || path[i - 1] == '/') continue;
        string part = path.cut(0, i, nullptr);
        int code = make_one(part, mode);
        if (code != 0 && !is_directory(part)) return code == EEXIST ? ENOTDIR : code;
    }
    int code = make_one(path, mode);
    return code == EEXIST && is_directory(path) ? 0 : code;
}

int remove_file(const string& path) {
    c_path name(path);
    if (!name.valid()) return EINVAL;
    int code = checked(retried([&] { return ::unlink(name.text()); }));
    if (code == EISDIR) code = checked(retried([&] { return ::rmdir(name.text()); }));
    return code;
}

int rename_file(const string& from, const string& to) {
    c_path old_name(from), new_name(to);
    if (!old_name.valid() || !new_name.valid()) return EINVAL;
    return checked(retried([&] { return ::rename(old_name.text(), new_name.text()); }));
}

int copy_all(int from, int to) {
    bytes part;
    i64 at = 0;
    for (;;) {
        u8* data = part.room(most_bytes);
        i64 n = perform({.fd = from, .data = data, .size = most_bytes, .at = at});
        if (n <= 0) return static_cast<int>(-n);
        part.grown(n);
        int code = write_at(to, part, at);
        if (code != 0) return code;
        at += n;
        part.clear();
    }
}

// As replace_file, but it need not be on the disk.
int copy_file(const string& from, const string& to) {
    c_path path(to);
    if (!path.valid()) return EINVAL;
    int source = open_file(from, O_RDONLY);
    if (source < 0) return -source;
    descriptor held_source(source);
    struct stat about;
    if (fstat(source, &about) != 0) return errno;
    if (S_ISDIR(about.st_mode)) return EISDIR;
    string name;
    int fd = open_beside(to, name);
    if (fd < 0) return -fd;
    descriptor held(fd);
    c_path fresh(name);
    int code = fchmod(fd, about.st_mode & 07777) != 0 ? errno : copy_all(source, fd);
    if (int closed = held.close(); code == 0) code = closed;
    if (code == 0) code = checked(retried([&] { return ::rename(fresh.text(), path.text()); }));
    if (code != 0) ::unlink(fresh.text());
    return code;
}

async<result<ref<file>>> opened(const string& path, int flags) {
    return slow<result<ref<file>>>([path, flags]() -> result<ref<file>> {
        int fd = open_file(path, flags);
        if (fd < 0) return file_error("open", path, -fd);
        return make<file>(file(fd, path));
    });
}

} // namespace

int only_file(int fd, int flags) noexcept {
    descriptor held(fd);
    struct stat about;
    if (fstat(fd, &about) != 0) return -errno;
    if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(fd)) return -EOPNOTSUPP;
    if (fcntl(fd, F_SETFL, flags & ~O_CREAT & ~O_TRUNC & ~O_EXCL) != 0) return -errno;
    return held.take();
}

// What is in a directory is removed by way of its descriptor, so that nobody can put a link in the
// way.
int remove_tree(int dir, const char* name) {
    int code = checked(retried([&] { return ::unlinkat(dir, name, 0); }));
    if (code != EISDIR) return code;
    int fd = retried(
        [&] { return ::openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    if (fd < 0) return -fd;
    DIR* all = fdopendir(fd);
    if (all == nullptr) {
        code = errno;
        ::close(fd);
        return code;
    }
    code = 0;
    while (const dirent* e = readdir(all)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (int failed = remove_tree(fd, e->d_name)) code = failed;
    }
    closedir(all);
    if (code != 0) return code;
    return checked(retried([&] { return ::unlinkat(dir, name, AT_REMOVEDIR); }));
}

result<void> outcome(const char* what, const string& path, int code) {
    if (code == 0) return result<void>();
    return file_error(what, path, code);
}

async<result<bytes>> read(const string& path, i64 most) {
    return slow<result<bytes>>([path, most]() -> result<bytes> {
        bytes data;
        int fd = open_file(path, O_RDONLY);
        if (fd < 0) return file_error("read", path, -fd);
        descriptor held(fd);
        if (int code = read_all(fd, most, data)) return file_error("read", path, code);
        return move(data);
    });
}

nothing_or_error write(const string& path, bytes data) {
    return slow<result<void>>([path, data = move(data)] {
        return outcome("write", path, write_file(path, O_TRUNC, data));
    });
}

nothing_or_error append(const string& path, bytes data) {
    return slow<result<void>>([path, data = move(data)] {
        return outcome("append to", path, write_file(path, O_APPEND, data));
    });
}

nothing_or_error replace(const string& path, bytes data) {
    return slow<result<void>>(
        [path, data = move(data)] { return outcome("replace", path, replace_file(path, data)); });
}

async<result<ref<file>>> open(const string& path) { return opened(path, O_RDONLY); }

async<result<ref<file>>> create(const string& path) {
    return opened(path, O_WRONLY | O_CREAT | O_TRUNC);
}

async<result<ref<file>>> open_append(const string& path) {
    return opened(path, O_WRONLY | O_CREAT | O_APPEND);
}

async<result<ref<file>>> open_update(const string& path) { return opened(path, O_RDWR | O_CREAT); }

async<result<vector<entry>>> list(const string& path) {
    return slow<result<vector<entry>>>([path]() -> result<vector<entry>> {
        vector<entry> all;
        if (int code = list_directory(path, all)) return file_error("list", path, code);
        return move(all);
    });
}

nothing_or_error make_directory(const string& path, bool parents, i64 permissions) {
    auto mode = static_cast<mode_t>(permissions & 07777);
    return slow<result<void>>([path, parents, mode] {
        int code = parents ? make_all(path, mode) : make_one(path, mode);
        return outcome("make directory", path, code);
    });
}

nothing_or_error remove(const string& path) {
    return slow<result<void>>([path] { return outcome("remove", path, remove_file(path)); });
}

nothing_or_error rename(const string& from, const string& to) {
    return slow<result<void>>([from, to] {
        int code = rename_file(from, to);
        return outcome("rename", code == 0 ? from : from + string::literal(" to ") + to, code);
    });
}

namespace {

async<result<file_info>> asked(const string& path, int flags) {
    return slow<result<file_info>>([path, flags]() -> result<file_info> {
        c_path name(path);
        struct stat about;
        int code = !name.valid()                                          ? EINVAL
                   : ::fstatat(AT_FDCWD, name.text(), &about, flags) != 0 ? errno
                                                                          : 0;
        if (code != 0) return file_error("info of", path, code);
        return file_info(about);
    });
}

timespec time_of(const option<instant>& at) noexcept {
    if (!at.has()) return {.tv_sec = 0, .tv_nsec = UTIME_OMIT};
    i64 seconds = at->unix_();
    return {.tv_sec = seconds, .tv_nsec = at->ns - seconds * 1'000'000'000};
}

} // namespace

async<result<file_info>> info(const string& path) { return asked(path, 0); }

async<result<file_info>> link_info(const string& path) { return asked(path, AT_SYMLINK_NOFOLLOW); }

nothing_or_error set_times(const string& path, const option<instant>& modified,
                           const option<instant>& accessed) {
    timespec read = time_of(accessed), written = time_of(modified);
    return slow<result<void>>([path, read, written] {
        c_path name(path);
        timespec times[] = {read, written};
        int code = name.valid() && ::utimensat(AT_FDCWD, name.text(), times, 0) != 0 ? errno
                   : name.valid()                                                    ? 0
                                                                                     : EINVAL;
        return outcome("set times of", path, code);
    });
}

nothing_or_error copy(const string& from, const string& to) {
    return slow<result<void>>([from, to] {
        int code = copy_file(from, to);
        return outcome("copy", code == 0 ? from : from + string::literal(" to ") + to, code);
    });
}

nothing_or_error remove_all(const string& path) {
    return slow<result<void>>([path] {
        c_path name(path);
        return outcome("remove", path, name.valid() ? remove_tree(AT_FDCWD, name.text()) : EINVAL);
    });
}

nothing_or_error make_link(const string& to, const string& path) {
    return slow<result<void>>([to, path] {
        c_path target(to), name(path);
        bool valid = target.valid() && name.valid();
        int code = valid ? checked(retried([&] { return ::symlink(target.text(), name.text()); }))
                         : EINVAL;
        return outcome("make link", path, code);
    });
}

async<result<string>> read_link(const string& path) {
    return slow<result<string>>([path]() -> result<string> {
        c_path name(path);
        char text[PATH_MAX];
        i64 n = name.valid() ? ::readlink(name.text(), text, sizeof text) : -1;
        if (n < 0) return file_error("read link", path, name.valid() ? errno : EINVAL);
        return string(text, n);
    });
}

nothing_or_error set_permissions(const string& path, i64 permissions) {
    auto mode = static_cast<mode_t>(permissions & 07777);
    return slow<result<void>>([path, mode] {
        c_path name(path);
        int code =
            name.valid() ? checked(retried([&] { return ::chmod(name.text(), mode); })) : EINVAL;
        return outcome("set permissions of", path, code);
    });
}

file_info::file_info(const struct ::stat& about) noexcept
    : size_(about.st_size), device_(about.st_dev), inode_(about.st_ino), mode_(about.st_mode) {
    constexpr i64 second = 1'000'000'000;
    i64 whole;
    bool far = __builtin_mul_overflow(i64(about.st_mtim.tv_sec), second, &whole) ||
               __builtin_add_overflow(whole, i64(about.st_mtim.tv_nsec), &modified_ns_);
    if (far) modified_ns_ = about.st_mtim.tv_sec < 0 ? i64(1ul << 63) : i64(~0ul >> 1);
}

i64 file_info::permissions() const noexcept { return mode_ & 07777; }
bool file_info::is_file() const noexcept { return S_ISREG(mode_); }
bool file_info::is_directory() const noexcept { return S_ISDIR(mode_); }
bool file_info::is_link() const noexcept { return S_ISLNK(mode_); }

} // namespace eve::fs
