#include "file_call.hpp"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

namespace eve {

namespace {

i64 attempt(const file_call& c) noexcept {
    auto bytes = static_cast<usize>(c.size);
    switch (c.what) {
    case file_call::op::read: return pread(c.fd, c.data, bytes, c.at);
    case file_call::op::write: return pwrite(c.fd, c.data, bytes, c.at);
    case file_call::op::sync: return fsync(c.fd);
    case file_call::op::truncate: return ftruncate(c.fd, c.size);
    case file_call::op::lock: return flock(c.fd, c.flags);
    case file_call::op::close: return ::close(c.fd);
    }
    return 0;
}

} // namespace

i64 perform(const file_call& c) noexcept {
    for (;;) {
        i64 result = attempt(c);
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
        // Linux has closed the descriptor even then (close(2)): a second call might close another
        // file that has got the number meanwhile.
        if (c.what == file_call::op::close) return 0;
    }
}

} // namespace eve
