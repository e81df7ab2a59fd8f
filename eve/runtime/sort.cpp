// Sorting of numbers; strings are sorted by the templates of the header. Half of all comparisons
// are mispredicted branches, and those dominate the cost. So neither the partition nor the merging
// of short runs branches on the values.
#include "vector.hpp"

#include <cstring>

namespace eve {

namespace {

// Partitions by less(x): items for which it holds come first. Returns their number. It is Lomuto's
// scheme as a cycle (after Orson Peters and Lukas Bergdoll's "branchless Lomuto partitioning"):
// one item is out of its place, so each step is two moves instead of a swap. The moves are made
// whatever the comparison says.
template <class T, class Less> i64 partition_by(T* a, i64 n, Less less) noexcept {
    if (n == 0) return 0;
    T lifted = a[0];
    T* gap = a;
    T* left = a;
    for (T* right = a + 1; right != a + n; ++right) {
        bool moves = less(*right);
        *gap = *left;
        *left = *right;
        gap = right;
        left += moves;
    }
    bool moves = less(lifted);
    *gap = *left;
    *left = lifted;
    return left - a + moves;
}

template <class T> void order(T& a, T& b) noexcept {
    T x = a, y = b;
    bool swapped = y < x;
    a = swapped ? y : x;
    b = swapped ? x : y;
}

template <class T> void sort_four(T* a) noexcept {
    order(a[0], a[2]);
    order(a[1], a[3]);
    order(a[0], a[1]);
    order(a[2], a[3]);
    order(a[1], a[2]);
}

// Merges from[0, n/2) and from[n/2, n) from both ends at once. The two chains are independent, and
// neither half can run out before everything is written.
template <class T> void merge_halves(const T* from, i64 n, T* to) noexcept {
    const T *left = from, *right = from + n / 2;
    const T *left_end = right - 1, *right_end = from + n - 1;
    T* to_end = to + n - 1;
    for (i64 i = n / 2; i > 0; --i) {
        bool take_right = *right < *left;
        *to++ = take_right ? *right : *left;
        right += take_right;
        left += !take_right;
        bool take_left = *right_end < *left_end;
        *to_end-- = take_left ? *left_end : *right_end;
        left_end -= take_left;
        right_end -= !take_left;
    }
    if (n & 1) *to = left <= left_end ? *left : *right;
}

template <class T> void insert_behind(T* a, i64 sorted, i64 n) noexcept {
    for (i64 i = sorted; i < n; ++i) {
        T x = a[i];
        i64 j = i;
        for (; j > 0 && x < a[j - 1]; --j) a[j] = a[j - 1];
        a[j] = x;
    }
}

constexpr i64 few = 32; // items that are sorted by merging

template <class T> void sort_run(T* a, i64 n) noexcept {
    if (n < 4) return insert_behind(a, n < 1 ? 0 : 1, n);
    sort_four(a);
    insert_behind(a, 4, n);
}

// Sorts up to 8 items by insertion into four sorted ones, and more by merging halves.
template <class T> void sort_few(T* a, i64 n) noexcept {
    if (n <= 7) return sort_run(a, n);
    T space[few];
    i64 half = n / 2;
    if (n >= 14) {
        i64 left = half / 2, right = (n - half) / 2;
        sort_run(a, left);
        sort_run(a + left, half - left);
        sort_run(a + half, right);
        sort_run(a + half + right, n - half - right);
        merge_halves(a, half, space);
        merge_halves(a + half, n - half, space + half);
        merge_halves(space, n, a);
        return;
    }
    sort_run(a, half);
    sort_run(a + half, n - half);
    merge_halves(a, n, space);
    std::memcpy(a, space, u64(n) * sizeof(T));
}

template <class T> void quick(T* a, i64 n, int bad_splits_left) noexcept;

// The median of a sample whose size grows with n. Halves of nearly equal size save more
// comparisons than the sample costs, and keep two workers equally busy.
template <class T> T pivot_of(const T* a, i64 n) noexcept {
    if (n < 4096) return *detail::sample_median(a, n);
    constexpr i64 most = 127;
    i64 count = n < 65536 ? few - 1 : most;
    T sample[most];
    for (i64 i = 0, step = n / count; i < count; ++i) sample[i] = a[i * step + step / 2];
    quick(sample, count, detail::bad_cuts_allowed(count));
    return sample[count / 2];
}

template <class T> void quick(T* a, i64 n, int bad_splits_left) noexcept {
    while (n > few) {
        if (bad_splits_left == 0) return detail::heap_sort(a, n);
        T pivot = pivot_of(a, n);
        i64 at = partition_by(a, n, [=](T x) { return x < pivot; });
        if (at == 0) {
            // The pivot is the least item, so all items equal to it are in place.
            at = partition_by(a, n, [=](T x) { return !(pivot < x); });
            a += at;
            n -= at;
            continue;
        }
        i64 rest = n - at;
        if (at < n / 8 || rest < n / 8) --bad_splits_left;
        if (at < rest) {
            quick(a, at, bad_splits_left);
            a += at;
            n = rest;
        } else {
            quick(a + at, rest, bad_splits_left);
            n = at;
        }
    }
    sort_few(a, n);
}

template <class T> void reverse(T* a, i64 n) noexcept {
    for (i64 i = 0, j = n - 1; i < j; ++i, --j) {
        T kept = a[i];
        a[i] = a[j];
        a[j] = kept;
    }
}

// Sorted and reversed input is common. A few steps show that input is neither.
template <class T> bool sort_if_run(T* a, i64 n) noexcept {
    if (n < 2) return true;
    i64 i = 1;
    if (a[1] < a[0]) {
        while (i < n && a[i] < a[i - 1]) ++i;
        if (i < n) return false;
        reverse(a, n);
        return true;
    }
    while (i < n && !(a[i] < a[i - 1])) ++i;
    return i == n;
}

template <class T> void sort_integers(T* a, i64 n) noexcept {
    if (sort_if_run(a, n)) return;
    quick(a, n, detail::bad_cuts_allowed(n));
}

// Counting sort for small numbers.
template <class T> void sort_bytes(T* a, i64 n) noexcept {
    if (n <= 64) return sort_integers(a, n);
    i64 counts[256] = {};
    for (i64 i = 0; i < n; ++i) ++counts[i64(a[i]) - least<T>];
    for (i64 x = 0; x < 256; ++x) {
        std::memset(a, int(x + least<T>), u64(counts[x]));
        a += counts[x];
    }
}

template <class T> i64 partition_integers(T* a, i64 n) noexcept {
    if (n < 2) return n;
    T pivot = pivot_of(a, n);
    i64 low = partition_by(a, n, [=](T x) { return x < pivot; });
    i64 high = low;
    // Items equal to the pivot may go to either side. This keeps many equal items from making bad
    // splits.
    if (low < n / 4) high += partition_by(a + low, n - low, [=](T x) { return !(pivot < x); });
    i64 cut = low > n / 2 ? low : high < n / 2 ? high : n / 2;
    if (cut > 0 && cut < n && cut >= n / 8 && n - cut >= n / 8) [[likely]]
        return cut;
    quick(a, n, detail::bad_cuts_allowed(n));
    return n / 2;
}

// Maps the bits of a float to an integer of the same order. Applied twice it gives the float back.
template <class I, class F> void flip_floats(F* a, i64 n) noexcept {
    for (i64 i = 0; i < n; ++i) {
        I x;
        std::memcpy(&x, a + i, sizeof x);
        x = I(x ^ ((x >> (bits_of<I> - 1)) & largest<I>));
        std::memcpy(a + i, &x, sizeof x);
    }
}

// Treats the array as integers while `work` runs.
template <class I, class F, class Work> auto as_integers(F* a, i64 n, Work work) noexcept {
    flip_floats<I>(a, n);
    struct back {
        F* a;
        i64 n;
        ~back() { flip_floats<I>(a, n); }
    } flip{a, n};
    using aliased [[gnu::may_alias]] = I;
    return work(reinterpret_cast<aliased*>(a), n);
}

} // namespace

template <> void sort_items(i8* a, i64 n) { sort_bytes(a, n); }
template <> void sort_items(u8* a, i64 n) { sort_bytes(a, n); }
template <> void sort_items(i16* a, i64 n) { sort_integers(a, n); }
template <> void sort_items(i32* a, i64 n) { sort_integers(a, n); }
template <> void sort_items(i64* a, i64 n) { sort_integers(a, n); }
template <> void sort_items(u16* a, i64 n) { sort_integers(a, n); }
template <> void sort_items(u32* a, i64 n) { sort_integers(a, n); }
template <> void sort_items(u64* a, i64 n) { sort_integers(a, n); }

template <> i64 partition_items(i8* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(u8* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(i16* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(i32* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(i64* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(u16* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(u32* a, i64 n) { return partition_integers(a, n); }
template <> i64 partition_items(u64* a, i64 n) { return partition_integers(a, n); }

template <> void sort_items(f32* a, i64 n) {
    as_integers<i32>(a, n, [](auto* x, i64 m) { sort_integers(x, m); });
}
template <> void sort_items(f64* a, i64 n) {
    as_integers<i64>(a, n, [](auto* x, i64 m) { sort_integers(x, m); });
}
template <> i64 partition_items(f32* a, i64 n) {
    return as_integers<i32>(a, n, [](auto* x, i64 m) { return partition_integers(x, m); });
}
template <> i64 partition_items(f64* a, i64 n) {
    return as_integers<i64>(a, n, [](auto* x, i64 m) { return partition_integers(x, m); });
}

template <> void sort_items(string* a, i64 n) { detail::sort_any(a, n); }
template <> i64 partition_items(string* a, i64 n) { return detail::partition_any(a, n); }

} // namespace eve
