#pragma once
// A queue of bytes in one piece of memory, which is allocated only while it holds bytes: ten
// thousand idle connections then cost no buffers. Not shared between threads: its owner has a
// lock.
#include "base.hpp"

namespace eve {

class byte_queue {
public:
    byte_queue() noexcept = default;
    byte_queue(const byte_queue&) = delete;
    byte_queue& operator=(const byte_queue&) = delete;
    ~byte_queue() { clear(); }

    const u8* data() const noexcept { return block_ + begin_; }
    i64 size() const noexcept { return end_ - begin_; }
    bool empty() const noexcept { return begin_ == end_; }

    void append(const void* from, i64 bytes) noexcept;
    // Removes bytes at the front. The memory is freed with the last of them.
    void consume(i64 bytes) noexcept;
    // The same, but the memory is kept.
    void skip(i64 count) noexcept { begin_ += count; }
    void clear() noexcept;
    void swap(byte_queue& with) noexcept;

private:
    void make_room(i64 bytes) noexcept;

    u8* block_ = nullptr;
    i64 begin_ = 0;
    i64 end_ = 0;
    i64 capacity_ = 0;
};

} // namespace eve
