#include "buffer.hpp"

#include "fail.hpp"

#include <stdlib.h>
#include <string.h>

namespace eve {

namespace {

// The least size of an allocation, in bytes; a guess.
constexpr i64 smallest = 256;

} // namespace

void byte_queue::make_room(i64 bytes) noexcept {
    i64 used = size();
    // moving costs no more than the space that it frees
    if (used + bytes <= capacity_ && begin_ >= used) {
        memmove(block_, block_ + begin_, static_cast<size_t>(used));
    } else {
        i64 capacity = capacity_ * 2 > used + bytes ? capacity_ * 2 : used + bytes;
        if (capacity < smallest) capacity = smallest;
        auto* block = static_cast<u8*>(malloc(static_cast<size_t>(capacity)));
        if (block == nullptr) die_out_of_memory();
        if (used > 0) memcpy(block, block_ + begin_, static_cast<size_t>(used));
        free(block_);
        block_ = block;
        capacity_ = capacity;
    }
    begin_ = 0;
    end_ = used;
}

void byte_queue::append(const void* from, i64 bytes) noexcept {
    if (bytes == 0) return;
    if (bytes > capacity_ - end_) make_room(bytes);
    memcpy(block_ + end_, from, static_cast<size_t>(bytes));
    end_ += bytes;
}

void byte_queue::consume(i64 bytes) noexcept {
    begin_ += bytes;
    if (begin_ == end_) clear();
}

void byte_queue::swap(byte_queue& with) noexcept {
    byte_queue was;
    auto give = [](byte_queue& to, byte_queue& from) {
        to.block_ = from.block_;
        to.begin_ = from.begin_;
        to.end_ = from.end_;
        to.capacity_ = from.capacity_;
    };
    give(was, *this);
    give(*this, with);
    give(with, was);
    was.block_ = nullptr;
}

void byte_queue::clear() noexcept {
    free(block_);
    block_ = nullptr;
    begin_ = end_ = capacity_ = 0;
}

} // namespace eve
