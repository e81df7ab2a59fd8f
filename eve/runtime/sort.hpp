#pragma once
// Sorting and partitioning of n items in place, by `<`. They need no memory, and O(n log n)
// comparisons in every case. Numbers have code of their own (sort.cpp) without branches on the
// values. The templates here are for strings, tuples and the like, whose comparison costs more
// than a mispredicted branch.
#include "number.hpp"
#include "value.hpp"

namespace eve {

namespace detail {

// An item out of its place, as bytes: Eve's values may be moved this way.
template <class T> struct lifted {
    alignas(T) unsigned char bytes[sizeof(T)];
    explicit lifted(const T* from) noexcept {
        __builtin_memcpy(bytes, static_cast<const void*>(from), sizeof(T));
    }
    const T& item() const noexcept { return *reinterpret_cast<const T*>(bytes); }
    void put(T* to) const noexcept { __builtin_memcpy(static_cast<void*>(to), bytes, sizeof(T)); }
};

template <class T> void move_bytes(T* to, const T* from, i64 n = 1) noexcept {
    __builtin_memmove(static_cast<void*>(to), static_cast<const void*>(from), u64(n) * sizeof(T));
}

template <class T> void exchange(T* a, T* b) noexcept {
    lifted<T> kept(a);
    move_bytes(a, b);
    kept.put(b);
}

template <class T> void insertion_sort(T* a, i64 n) {
    for (i64 i = 1; i < n; ++i) {
        if (!(a[i] < a[i - 1])) continue;
        lifted<T> x(a + i);
        i64 j = i - 1;
        while (j > 0 && x.item() < a[j - 1]) --j;
        move_bytes(a + j + 1, a + j, i - j);
        x.put(a + j);
    }
}

template <class T> void sift_down(T* a, i64 i, i64 n) {
    lifted<T> x(a + i);
    for (i64 child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child] < a[child + 1]) ++child;
        if (!(x.item() < a[child])) break;
        move_bytes(a + i, a + child);
    }
    x.put(a + i);
}

template <class T> void heap_sort(T* a, i64 n) {
    for (i64 i = n / 2; i-- > 0;) sift_down(a, i, n);
    for (i64 end = n; end-- > 1;) {
        exchange(a, a + end);
        sift_down(a, 0, end);
    }
}

template <class T> const T* median_of_three(const T* a, const T* b, const T* c) {
    bool first = *a < *b;
    if (first != (*a < *c)) return a;
    return first == (*b < *c) ? b : c;
}

// The median of a sample of 3, 9, 27.. items, spread over all. More items get a larger sample.
template <class T> const T* sample_median(const T* a, i64 n) {
    if (n < 64) return median_of_three(a, a + n / 2, a + n - 1);
    i64 eighth = n / 8;
    i64 part = n < 512 ? 3 : eighth / 8; // of each third of the sample
    const T* b = a + eighth * 4;
    const T* c = a + eighth * 7;
    return median_of_three(sample_median(a, part), sample_median(b, part), sample_median(c, part));
}

// Hoare's partition: brings *pivot to the index that it returns, with no greater item before it
// and no smaller one behind it. It stops at equal items from both sides, so they are spread over
// both parts.
template <class T> i64 split_at(T* a, i64 n, const T* pivot) {
    exchange(a, a + (pivot - a));
    i64 i = 0, j = n;
    for (;;) {
        do ++i;
        while (i < n && a[i] < *a);
        do --j;
        while (*a < a[j]);
        if (i >= j) break;
        exchange(a + i, a + j);
    }
    exchange(a, a + j);
    return j;
}

// Introsort: `bad_splits_left` is how many bad splits are left before heap sort takes over.
template <class T> void quick_sort(T* a, i64 n, int bad_splits_left) {
    while (n > 16) {
        if (bad_splits_left == 0) return heap_sort(a, n);
        i64 at = split_at(a, n, sample_median(a, n));
        i64 rest = n - at - 1;
        if (at < n / 8 || rest < n / 8) --bad_splits_left;
        if (at < rest) {
            quick_sort(a, at, bad_splits_left);
            a += at + 1;
            n = rest;
        } else {
            quick_sort(a + at + 1, rest, bad_splits_left);
            n = at;
        }
    }
    insertion_sort(a, n);
}

template <class T> bool is_sorted(const T* a, i64 n) {
    for (i64 i = 1; i < n; ++i) {
        if (a[i] < a[i - 1]) return false;
    }
    return true;
}

inline int bad_cuts_allowed(i64 n) noexcept { return 64 - __builtin_clzl(u64(n) | 1); }

template <class T> void sort_any(T* items, i64 n) {
    if (is_sorted(items, n)) return;
    quick_sort(items, n, bad_cuts_allowed(n));
}

template <class T> i64 partition_any(T* items, i64 n) {
    if (n < 2) return n;
    i64 at = split_at(items, n, sample_median(items, n));
    i64 cut = at < n / 2 ? at + 1 : at;
    if (cut >= n / 8 && n - cut >= n / 8 && cut > 0 && cut < n) [[likely]]
        return cut;
    quick_sort(items, n, bad_cuts_allowed(n));
    return n / 2;
}

} // namespace detail

// Sorts; not stable.
template <class T> void sort_items(T* items, i64 n) { detail::sort_any(items, n); }

// Reorders the items so that none before the returned index is greater than any from there on. For
// n >= 2 the index is from 1 to n - 1, and an eighth of n or more away from both ends.
template <class T> i64 partition_items(T* items, i64 n) { return detail::partition_any(items, n); }

// NaN sorts behind all numbers, or before them if its sign is set; -0 sorts before 0.
template <> void sort_items(i8*, i64);
template <> void sort_items(i16*, i64);
template <> void sort_items(i32*, i64);
template <> void sort_items(i64*, i64);
template <> void sort_items(u8*, i64);
template <> void sort_items(u16*, i64);
template <> void sort_items(u32*, i64);
template <> void sort_items(u64*, i64);
template <> void sort_items(f32*, i64);
template <> void sort_items(f64*, i64);
template <> i64 partition_items(i8*, i64);
template <> i64 partition_items(i16*, i64);
template <> i64 partition_items(i32*, i64);
template <> i64 partition_items(i64*, i64);
template <> i64 partition_items(u8*, i64);
template <> i64 partition_items(u16*, i64);
template <> i64 partition_items(u32*, i64);
template <> i64 partition_items(u64*, i64);
template <> i64 partition_items(f32*, i64);
template <> i64 partition_items(f64*, i64);

} // namespace eve
