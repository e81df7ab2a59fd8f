#pragma once
// slice<T>: a view of consecutive elements that another container owns. It is two words, and
// copied freely. As in Eve, the holder of the slice may change the elements or not; the slice
// itself does not change, so all methods are const.
#include "sort.hpp"
#include "tuple.hpp"
#include "option.hpp"

namespace eve {

template <class T> class vector;

// Whether the `count` indexes from first on are valid for this size. False for a count below 0.
inline bool covers(i64 first, i64 count, i64 size) noexcept {
    return u64(first) <= u64(size) && u64(count) <= u64(size) - u64(first);
}

template <class T> class slice {
public:
    slice() noexcept = default;
    slice(const T* items, i64 size) noexcept : items_(const_cast<T*>(items)), size_(size) {}

    i64 size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() const noexcept { return items_; }
    T* begin() const noexcept { return items_; }
    T* end() const noexcept { return items_ + size_; }
    T& operator[](i64 i) const noexcept { return items_[i]; }
    T& at(i64 i, const site* here) const {
        if (u64(i) >= u64(size_)) [[unlikely]]
            fail_index(i, size_, here);
        return items_[i];
    }
    slice cut(i64 low, i64 high, const site* here) const {
        if (u64(low) > u64(high) || u64(high) > u64(size_)) [[unlikely]]
            fail_cut(low, high, size_, here);
        return slice(items_ + low, high - low);
    }
    tuple<slice, slice> split(i64 at, const site* here = nullptr) const {
        return tuple<slice, slice>(cut(0, at, here), cut(at, size_, here));
    }
    tuple<slice, slice> partition() const { return split(partition_items(items_, size_)); }
    void sort() const { sort_items(items_, size_); }

    void fill(const T& x) const {
        T value(x); // x may be one of the elements
        for (i64 i = 0; i < size_; ++i) items_[i] = value;
    }
    void swap(i64 i, i64 j, const site* here = nullptr) const {
        T& a = at(i, here);
        T& b = at(j, here);
        T kept(static_cast<T&&>(a));
        a = static_cast<T&&>(b);
        b = static_cast<T&&>(kept);
    }
    void reverse() const {
        for (i64 i = 0, j = size_ - 1; i < j; ++i, --j) swap(i, j);
    }
    option<i64> index_of(const T& x) const {
        for (i64 i = 0; i < size_; ++i) {
            if (items_[i] == x) return i;
        }
        return none;
    }
    bool contains(const T& x) const { return index_of(x).has(); }
    // Both must have the same size. They may overlap.
    void copy_from(const slice& o, const site* here = nullptr) const {
        if (o.size_ != size_) [[unlikely]]
            fail_sizes(size_, o.size_, here);
        if (o.items_ < items_) {
            for (i64 i = size_; i-- > 0;) items_[i] = o.items_[i];
        } else if (o.items_ > items_) {
            for (i64 i = 0; i < size_; ++i) items_[i] = o.items_[i];
        }
    }
    vector<T> to_vector() const {
        vector<T> v;
        v.append(*this);
        return v;
    }

    friend bool operator==(const slice& a, const slice& b) {
        if (a.size_ != b.size_) return false;
        for (i64 i = 0; i < a.size_; ++i) {
            if (!(a.items_[i] == b.items_[i])) return false;
        }
        return true;
    }

private:
    T* items_ = nullptr;
    i64 size_ = 0;
};

} // namespace eve
