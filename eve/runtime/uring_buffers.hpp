#pragma once
// The provided buffers of io_uring: memory that the kernel fills for whichever connection has data.
// Part of uring.cpp, which includes it where the kernel's header is.
#include "base.hpp"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eve {

// Null if there is no memory. Without a descriptor: pages that are allocated at first use.
inline void* map_memory(usize bytes, int fd, u64 offset) noexcept {
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
    return at == MAP_FAILED ? nullptr : at;
}

// A ring of provided buffers. The kernel fills them in order.
class buffer_ring {
public:
    buffer_ring(u16 group, u32 count, i64 bytes) noexcept
        : group_(group), count_(count), bytes_(bytes) {}
    buffer_ring(const buffer_ring&) = delete;
    buffer_ring& operator=(const buffer_ring&) = delete;
    ~buffer_ring();
    bool open(int ring) noexcept;
    u8* at(u16 number) const noexcept { return memory_ + number * bytes_; }
    void provide(u16 number) noexcept;

private:
    const u16 group_;
    u16 tail_ = 0;
    const u32 count_;
    const i64 bytes_;
    io_uring_buf_ring* ring_ = nullptr;
    u8* memory_ = nullptr;
};

inline bool buffer_ring::open(int ring) noexcept {
    ring_ = static_cast<io_uring_buf_ring*>(map_memory(count_ * sizeof(io_uring_buf), -1, 0));
    memory_ = static_cast<u8*>(
        map_memory(count_ * static_cast<usize>(bytes_), -1, 0)); // pages are allocated at first use
    if (ring_ == nullptr || memory_ == nullptr) return false;
    io_uring_buf_reg about{};
    about.ring_addr = reinterpret_cast<u64>(ring_);
    about.ring_entries = count_;
    about.bgid = group_;
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &about, 1) != 0)
        return false;
    for (u16 i = 0; i < count_; i++) provide(i);
    return true;
}

inline buffer_ring::~buffer_ring() {
    if (ring_ != nullptr) munmap(ring_, count_ * sizeof(io_uring_buf));
    if (memory_ != nullptr) munmap(memory_, count_ * static_cast<usize>(bytes_));
}

inline void buffer_ring::provide(u16 number) noexcept {
    // Not ring_->bufs: the kernel's header places it differently in C++ than in C.
    io_uring_buf& b = reinterpret_cast<io_uring_buf*>(ring_)[tail_ & (count_ - 1)];
    b.addr = reinterpret_cast<u64>(at(number));
    b.len = static_cast<u32>(bytes_);
    b.bid = number;
    __atomic_store_n(&ring_->tail, ++tail_, __ATOMIC_RELEASE);
}

} // namespace eve
