// The code that maps and sets of all types share.
#include "table.hpp"

#include <cstdlib>
#include <cstring>

namespace eve {

namespace {

// A slot has 32 bits for the index of its entry, and the slot is found by 31 bits of the mark.
constexpr u64 most_slots = u64(1) << 31;

// At most five of eight slots are used: an unsuccessful search probes four on average.
i64 capacity_of(u64 slots) noexcept { return i64(slots / 8 * 5); }

} // namespace

void table::take(table& o) noexcept {
    entries_ = o.entries_;
    marks_ = o.marks_;
    slots_ = o.slots_;
    used_ = o.used_;
    live_ = o.live_;
    capacity_ = o.capacity_ & capacity_mask;
    mask_ = o.mask_;
    o.forget_entries();
}

void table::forget_entries() noexcept {
    entries_ = nullptr;
    marks_ = nullptr;
    slots_ = nullptr;
    used_ = live_ = capacity_ = 0;
    mask_ = 0;
}

void table::free_all() noexcept {
    buffer_free(entries_);
    buffer_free(marks_);
    buffer_free(slots_);
}

// Makes a new index of `slots` slots from the marks.
void table::relink(u32 slots) noexcept {
    buffer_free(slots_);
    slots_ = static_cast<u64*>(std::calloc(slots, sizeof(u64)));
    if (slots_ == nullptr) die_out_of_memory();
    mask_ = slots - 1;
    for (i64 i = 0; i < used_; ++i) {
        if (marks_[i] != 0) link(marks_[i], u32(i));
    }
}

// Moves the entries together, over the removed ones.
void table::compact(u64 stride) noexcept {
    char* entries = static_cast<char*>(entries_);
    i64 to = 0;
    for (i64 i = 0; i < used_; ++i) {
        if (marks_[i] == 0) continue;
        if (i != to) {
            std::memcpy(entries + u64(to) * stride, entries + u64(i) * stride, stride);
            marks_[to] = marks_[i];
        }
        ++to;
    }
    used_ = to;
}

void table::reserve_entries(i64 n, u64 stride, const site* here) {
    if (n <= capacity_) return;
    check_free(here);
    u64 slots = 8;
    while (slots < most_slots && capacity_of(slots) < n) slots *= 2;
    if (capacity_of(slots) < n) die("a map has more than 1.3 billion entries");
    if (live_ < used_) compact(stride);
    capacity_ = capacity_of(slots);
    entries_ = buffer_resize(entries_, capacity_, stride);
    marks_ = static_cast<u32*>(buffer_resize(marks_, capacity_, sizeof(u32)));
    relink(u32(slots));
}

void table::grow(u64 stride, const site* here) {
    check_free(here);
    if (live_ <= used_ - used_ / 4 && capacity_ > 0 && live_ < used_) {
        compact(stride);
        return relink(mask_ + 1);
    }
    reserve_entries(capacity_ + 1, stride, here);
}

void table::remove_entry(i64 entry) noexcept {
    u32 slot = marks_[entry] & mask_;
    while (u32(slots_[slot]) != u32(entry) + 1) slot = (slot + 1) & mask_;
    // Moves back the slots behind the hole whose search would stop at it.
    for (u32 next = slot;;) {
        next = (next + 1) & mask_;
        u64 s = slots_[next];
        if (s == 0) break;
        u32 home = u32(s >> 32) & mask_;
        if (((next - home) & mask_) < ((next - slot) & mask_)) continue;
        slots_[slot] = s;
        slot = next;
    }
    slots_[slot] = 0;
    marks_[entry] = 0;
    --live_;
    while (used_ > 0 && marks_[used_ - 1] == 0) --used_;
}

} // namespace eve
