// fs.open_beneath: a file of a folder, and of no other place, whatever its name is and whatever
// links are on the way. openat2(2) checks that while it goes; a check before would come too early.
#include "c_path.hpp"
#include "system_call.hpp"

#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eve::fs {

namespace {

constexpr int whole_way = O_PATH | O_DIRECTORY | O_CLOEXEC;

// For kernels and containers without openat2: no link is followed. The name has no "..".
int open_without_links(int root, const char* name) noexcept {
    descriptor at(fcntl(root, F_DUPFD_CLOEXEC, 3));
    if (at.get() < 0) return -errno;
    for (const char* part = name;;) {
        part += strspn(part, "/");
        usize size = strcspn(part, "/");
        char one[NAME_MAX + 1];
        if (size > NAME_MAX) return -ENAMETOOLONG;
        memcpy(one, part, size);
        one[size] = '\0';
        part += size;
        part += strspn(part, "/");
        bool last = *part == '\0';
        int flags = last ? O_RDONLY | open_flags : whole_way;
        int fd =
            retried([&] { return ::openat(at.get(), size == 0 ? "." : one, flags | O_NOFOLLOW); });
        if (last || fd < 0) return fd;
        at.become(fd);
    }
}

// A descriptor, or a negative errno.
int open_below(int root, const char* name) noexcept {
    open_how how{};
    how.flags = O_RDONLY | open_flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (int attempts = 0;; attempts++) {
        int fd = retried(
            [&] { return static_cast<int>(syscall(SYS_openat2, root, name, &how, sizeof how)); });
        // Something on the way was renamed meanwhile: it cannot be checked then.
        if (fd == -EAGAIN && attempts < 100) continue;
        bool absent = fd == -ENOSYS || fd == -EPERM;
        return absent ? open_without_links(root, name) : fd;
    }
}

bool leads_up(const char* name) noexcept {
    for (const char* part = name;; part++) {
        usize size = strcspn(part, "/");
        if (size == 2 && part[0] == '.' && part[1] == '.') return true;
        part += size;
        if (*part == '\0') return false;
    }
}

} // namespace

async<result<ref<file>>> open_beneath(const string& folder, const string& name) {
    return slow<result<ref<file>>>([folder, name]() -> result<ref<file>> {
        c_path root(folder), relative(name.empty() ? string::literal(".") : name);
        string path = folder + string::literal("/") + name;
        bool valid = root.valid() && relative.valid() && !name.starts_with(string::literal("/"));
        if (!valid || leads_up(relative.text())) return file_error("open", path, EINVAL);
        int fd = retried([&] { return ::open(root.text(), whole_way); });
        if (fd < 0) return file_error("open", path, -fd);
        descriptor held(fd);
        fd = open_below(fd, relative.text());
        if (fd >= 0) fd = only_file(fd, O_RDONLY);
        if (fd < 0) return file_error("open", path, -fd);
        return make<file>(file(fd, path));
    });
}

} // namespace eve::fs
