#pragma once
// One system call on an open file, as data: the ring of a loop makes it, or a thread of the pool.
#include "base.hpp"

namespace eve {

class loop;

struct file_call {
    enum class op : u8 { read, write, sync, truncate, lock, close };

    op what = op::read;
    int fd = -1;
    u8* data = nullptr; // of read and write
    i64 size = 0;       // the bytes to read or write; the new size of truncate
    i64 at = 0;         // the offset of read and write
    int flags = 0;      // LOCK_SH and the like of lock
};

// A thread that may wait. The result of the call, or a negative errno; never -EINTR.
i64 perform(const file_call& c) noexcept;

// A call that a loop makes without waiting.
struct file_request {
    file_call call;
    // Inside only. The result of the call, or a negative errno.
    virtual void finished(loop& on, i64 result) = 0;

protected:
    ~file_request() = default;
};

} // namespace eve
