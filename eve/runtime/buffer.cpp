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
    constexpr i64 head = sizeof(block);
    i64 used = size();
    i64 before = block_ == nullptr ? 0 : block_->capacity;
    // moving costs no more than the space that it frees
    if (used + bytes <= before && block_->begin >= used) {
        memmove(block_ + 1, data(), static_cast<size_t>(used));
    } else {
        i64 capacity = before * 2 > used + bytes ? before * 2 : used + bytes;
        if (capacity < smallest - head) capacity = smallest - head;
        auto* fresh = static_cast<block*>(malloc(static_cast<size_t>(head + capacity)));
        if (fresh == nullptr) die_out_of_memory();
        if (used > 0) memcpy(fresh + 1, data(), static_cast<size_t>(used));
        free(block_);
        block_ = fresh;
        block_->capacity = capacity;
    }
    block_->begin = 0;
    block_->end = used;
}

void byte_queue::append(const void* from, i64 bytes) noexcept {
    if (bytes == 0) return;
    if (block_ == nullptr || bytes > block_->capacity - block_->end) make_room(bytes);
    memcpy(block_->at(size()), from, static_cast<size_t>(bytes));
    block_->end += bytes;
}

void byte_queue::consume(i64 bytes) noexcept {
    if (block_ == nullptr) return;
    block_->begin += bytes;
    if (block_->begin == block_->end) clear();
}

void byte_queue::swap(byte_queue& with) noexcept {
    block* was = block_;
    block_ = with.block_;
    with.block_ = was;
}

void byte_queue::clear() noexcept {
    free(block_);
    block_ = nullptr;
}

} // namespace eve
