#pragma once
// The hash table behind map and set: entries in order of insertion, as in CPython's dict, and an
// index of slots with open addressing. The code that does not depend on the types is out of line.
//
//   slots   a power of two of u64: the mark of an entry above, its index + 1 below; 0 is free
//   marks   for each entry its hash with the top bit set; 0 when the entry was removed
//   entries tuples, at `stride` bytes each
#include "hash.hpp"
#include "vector.hpp"

namespace eve {

class table {
public:
    i64 size() const noexcept { return live_; }
    bool empty() const noexcept { return live_ == 0; }
    // Any thread that may read; see vector_base.
    void pin() const noexcept { __atomic_fetch_sub(&capacity_, pin_unit, __ATOMIC_RELAXED); }
    void unpin() const noexcept { __atomic_fetch_add(&capacity_, pin_unit, __ATOMIC_RELAXED); }

protected:
    table() noexcept = default;
    table(table&& o) noexcept { take(o); }

    static u32 mark_of(u64 hash) noexcept { return u32(hash) | 0x8000'0000u; }
    void take(table& o) noexcept;
    void check_free(const site* here) const {
        if (capacity_ < 0) [[unlikely]]
            fail_iterated(here);
    }
    // The index of an entry with this mark for which `equal` holds, or -1.
    template <class Equal> i64 find_entry(u32 mark, Equal equal) const {
        if (live_ == 0) return -1;
        for (u32 slot = mark & mask_;; slot = (slot + 1) & mask_) {
            u64 s = slots_[slot];
            if (s == 0) return -1;
            i64 entry = i64(u32(s)) - 1;
            if (u32(s >> 32) == mark && equal(entry)) return entry;
        }
    }
    // The index of a new entry at the end. The caller constructs it there.
    i64 add_entry(u32 mark, u64 stride, const site* here) {
        if (used_ >= capacity_) [[unlikely]]
            grow(stride, here);
        link(mark, u32(used_));
        marks_[used_] = mark;
        ++live_;
        return used_++;
    }
    // The caller destroys the entry afterwards.
    void remove_entry(i64 entry) noexcept;
    void reserve_entries(i64 n, u64 stride, const site* here);
    // Frees all memory. The caller has destroyed the entries.
    void free_all() noexcept;
    void forget_entries() noexcept;

    void* entries_ = nullptr;
    u32* marks_ = nullptr;

private:
    [[gnu::cold, gnu::noinline]] void grow(u64 stride, const site* here);
    void link(u32 mark, u32 entry) noexcept {
        u32 slot = mark & mask_;
        while (slots_[slot] != 0) slot = (slot + 1) & mask_;
        slots_[slot] = u64(mark) << 32 | (u64(entry) + 1);
    }
    void relink(u32 slots) noexcept;
    void compact(u64 stride) noexcept;

    u64* slots_ = nullptr;

protected:
    i64 used_ = 0; // number of entries, with removed ones
    i64 live_ = 0;

private:
    mutable i64 capacity_ = 0; // in entries; less pin_unit for each iteration under way
    u32 mask_ = 0;
};

// Iterates over the entries that were not removed. `Of` converts an entry to the loop's value.
template <class Entry, class Of> class table_iterator {
public:
    table_iterator(Entry* entry, const u32* mark, const u32* end) noexcept
        : entry_(entry), mark_(mark), end_(end) {
        skip();
    }
    decltype(auto) operator*() const noexcept { return Of{}(*entry_); }
    table_iterator& operator++() noexcept {
        ++entry_;
        ++mark_;
        skip();
        return *this;
    }
    bool operator==(const table_iterator& o) const noexcept { return mark_ == o.mark_; }

private:
    void skip() noexcept {
        while (mark_ != end_ && *mark_ == 0) {
            ++entry_;
            ++mark_;
        }
    }
    Entry* entry_;
    const u32* mark_;
    const u32* end_;
};

struct whole_entry {
    template <class E> E& operator()(E& e) const noexcept { return e; }
};

} // namespace eve
