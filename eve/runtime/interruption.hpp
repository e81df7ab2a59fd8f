#pragma once
// How a thread of the pool learns, while it waits in poll, that nobody wants its result any more.
#include "atomic.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace eve {

class interruption {
public:
    interruption() noexcept : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;
    ~interruption() {
        if (fd_ >= 0) ::close(fd_);
    }

    // Any thread, as often as it wants.
    void set() noexcept {
        set_.store(1, order::release);
        u64 one = 1;
        (void)!::write(fd_, &one, sizeof one);
    }
    bool is_set() const noexcept { return set_.load(order::acquire) != 0; }
    // Readable when it is set; -1 if there were no descriptors left.
    int fd() const noexcept { return fd_; }

private:
    int fd_;
    atomic<u32> set_;
};

} // namespace eve
