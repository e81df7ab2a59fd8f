#pragma once
// What the files of module fs have in common: system calls that may wait for a disk, on threads of
// the pool. Functions return 0 or a positive errno, unless they say otherwise.
#include "fs.hpp"

#include "file_call.hpp"
#include "slow.hpp"

#include <errno.h>
#include <fcntl.h>

namespace eve::fs {

using nothing_or_error = async<result<void>>;

// A descriptor that is closed with its block.
class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(); }

    int get() const noexcept { return fd_; }
    int take() noexcept {
        int fd = fd_;
        fd_ = -1;
        return fd;
    }
    void become(int fd) noexcept {
        close();
        fd_ = fd;
    }
    int close() noexcept {
        return fd_ < 0 ? 0
                       : static_cast<int>(-perform({.what = file_call::op::close, .fd = take()}));
    }

private:
    int fd_;
};

// Repeats a call that a signal has interrupted. The result is that of the call, or a negative
// errno.
template <class F> int retried(F f) noexcept {
    for (;;) {
        int result = f();
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
    }
}

inline int checked(int result) noexcept { return result < 0 ? -result : 0; }

// Without O_NONBLOCK the open of a pipe would wait for the other side.
constexpr int open_flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// Takes the descriptor over, and returns it, or a negative errno. Pipes, sockets and terminals are
// refused, as their reads would keep a thread for as long as the other side likes.
int only_file(int fd, int flags) noexcept;

// Removes a file, or a directory with all that is in it.
int remove_tree(int dir, const char* name);

result<void> outcome(const char* what, const string& path, int code);

} // namespace eve::fs
