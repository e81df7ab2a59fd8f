#pragma once
// A queue of bytes in one piece of memory, which is allocated only while it holds bytes: ten
// thousand idle connections then cost a pointer each. Not shared between threads: its owner has a
// lock.
#include "base.hpp"

namespace eve {

class byte_queue {
public:
    byte_queue() noexcept = default;
    byte_queue(const byte_queue&) = delete;
    byte_queue& operator=(const byte_queue&) = delete;
    ~byte_queue() { clear(); }

    // Null if it has no memory.
    const u8* data() const noexcept { return block_ == nullptr ? nullptr : block_->at(0); }
    i64 size() const noexcept { return block_ == nullptr ? 0 : block_->end - block_->begin; }
    bool empty() const noexcept { return size() == 0; }

    void append(const void* from, i64 bytes) noexcept;
    // Removes bytes at the front. The memory is freed with the last of them.
    void consume(i64 bytes) noexcept;
    // The same, but the memory is kept.
    void skip(i64 count) noexcept {
        if (count > 0) block_->begin += count;
    }
    void clear() noexcept;
    void swap(byte_queue& with) noexcept;

private:
    // The bytes follow it.
    struct block {
        i64 begin;
        i64 end;
        i64 capacity;

        u8* at(i64 i) noexcept { return reinterpret_cast<u8*>(this + 1) + begin + i; }
    };
    void make_room(i64 bytes) noexcept;

    block* block_ = nullptr;
};

} // namespace eve
