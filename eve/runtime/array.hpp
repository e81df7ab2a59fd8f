#pragma once
// array<T, N>: N elements, stored in place. Copied by = when T is.
#include "slice.hpp"

namespace eve {

namespace detail {

template <class T, i64 N, bool Plain = __is_trivially_copyable(T)> struct array_items {
    T items_[N > 0 ? N : 1];
    array_items() {
        for (i64 i = 0; i < N; ++i) items_[i] = zero_of<T>();
    }
};

template <class T, i64 N> struct array_items<T, N, false> {
    union {
        T items_[N > 0 ? N : 1];
    };
    array_items() {
        for (i64 i = 0; i < N; ++i) new (place{items_ + i}) T(zero_of<T>());
    }
    array_items(const array_items& o) {
        for (i64 i = 0; i < N; ++i) new (place{items_ + i}) T(o.items_[i]);
    }
    array_items(array_items&& o) noexcept {
        for (i64 i = 0; i < N; ++i) new (place{items_ + i}) T(static_cast<T&&>(o.items_[i]));
    }
    array_items& operator=(const array_items& o) {
        for (i64 i = 0; i < N; ++i) items_[i] = o.items_[i];
        return *this;
    }
    array_items& operator=(array_items&& o) noexcept(__is_nothrow_assignable(T&, T&&)) {
        for (i64 i = 0; i < N; ++i) items_[i] = static_cast<T&&>(o.items_[i]);
        return *this;
    }
    ~array_items() { destroy(items_, N); }
};

} // namespace detail

template <class T, i64 N> class array {
public:
    array() = default;
    template <class... Ts> static array of(Ts&&... xs) {
        static_assert(sizeof...(Ts) == N);
        array a;
        i64 i = 0;
        ((a.held_.items_[i++] = T(static_cast<Ts&&>(xs))), ...);
        return a;
    }
    array copy() const {
        array a;
        for (i64 i = 0; i < N; ++i) a.held_.items_[i] = copy_of(held_.items_[i]);
        return a;
    }

    static constexpr i64 size() noexcept { return N; }
    T* data() noexcept { return held_.items_; }
    const T* data() const noexcept { return held_.items_; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + N; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + N; }
    T& operator[](i64 i) noexcept { return data()[i]; }
    const T& operator[](i64 i) const noexcept { return data()[i]; }
    T& at(i64 i, const site* here) {
        if (u64(i) >= u64(N)) [[unlikely]]
            fail_index(i, N, here);
        return data()[i];
    }
    const T& at(i64 i, const site* here) const {
        if (u64(i) >= u64(N)) [[unlikely]]
            fail_index(i, N, here);
        return data()[i];
    }

    slice<T> all() const noexcept { return slice<T>(data(), N); }
    operator slice<T>() const noexcept { return all(); }
    slice<T> cut(i64 low, i64 high, const site* here) const { return all().cut(low, high, here); }
    tuple<slice<T>, slice<T>> split(i64 at, const site* here = nullptr) {
        return all().split(at, here);
    }
    tuple<slice<T>, slice<T>> partition() { return all().partition(); }
    void sort() { all().sort(); }
    void fill(const T& x) { all().fill(x); }
    void swap(i64 i, i64 j, const site* here = nullptr) { all().swap(i, j, here); }
    void reverse() { all().reverse(); }
    bool contains(const T& x) const { return all().contains(x); }
    option<i64> index_of(const T& x) const { return all().index_of(x); }

    u64 hash_value() const {
        u64 h = u64(N);
        for (const T& x : *this) h = hash_join(h, hash_of(x));
        return h;
    }
    friend bool operator==(const array& a, const array& b) { return a.all() == b.all(); }

private:
    detail::array_items<T, N> held_;
};

} // namespace eve
