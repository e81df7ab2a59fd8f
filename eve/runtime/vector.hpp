#pragma once
// vector<T>: a growing array of three words that owns its elements. It is moved, or copied by
// .copy().
//
// Owner only, like all containers: a shared one is accessed under its object's permission. The
// last argument of methods that can fail is the place in the Eve text.
#include "slice.hpp"
#include "string.hpp"

namespace eve {

// The code that does not depend on the type of the elements. `size` is the size of an element in
// bytes.
class vector_base {
public:
    i64 size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    i64 capacity() const noexcept { return capacity_ & capacity_mask; }
    // Any thread that may read. While pinned, changing the size or moving elements fails.
    void pin() const noexcept { __atomic_fetch_sub(&capacity_, pin_unit, __ATOMIC_RELAXED); }
    void unpin() const noexcept { __atomic_fetch_add(&capacity_, pin_unit, __ATOMIC_RELAXED); }

protected:
    vector_base() noexcept = default;
    vector_base(void* items, i64 size, i64 capacity) noexcept
        : items_(items), size_(size), capacity_(capacity) {}

    // Makes capacity for at least one more element.
    [[gnu::cold, gnu::noinline]] void grow(u64 size, const site* here);
    // Makes capacity for n elements, and at least half more than before.
    void reserve_items(i64 n, u64 size, const site* here);
    // Opens a gap of one element at index i, or closes it, by moving the bytes behind it.
    void open_gap(i64 i, u64 size, const site* here);
    void close_gap(i64 i, u64 size) noexcept;
    void check_free(const site* here) const {
        if (capacity_ < 0) [[unlikely]]
            fail_iterated(here);
    }

    void* items_ = nullptr;
    i64 size_ = 0;
    mutable i64 capacity_ = 0; // less pin_unit for each iteration under way
};

template <class T> class vector : public vector_base {
public:
    vector() noexcept = default;
    vector(vector&& o) noexcept : vector_base(o.items_, o.size_, o.capacity_ & capacity_mask) {
        o.forget();
    }
    vector& operator=(vector&& o) {
        check_free(nullptr);
        vector fresh(static_cast<vector&&>(o));
        drop();
        items_ = fresh.items_;
        size_ = fresh.size_;
        capacity_ = fresh.capacity_;
        fresh.forget();
        return *this;
    }
    vector(const vector&) = delete;
    vector& operator=(const vector&) = delete;
    ~vector() { drop(); }

    // A vector of these elements.
    template <class... Ts> static vector of(Ts&&... xs) {
        vector v;
        v.reserve(i64(sizeof...(Ts)));
        (v.push(T(static_cast<Ts&&>(xs))), ...);
        return v;
    }
    // A vector of n zero values.
    static vector sized(i64 n, const site* here = nullptr) {
        vector v;
        v.resize(n, here);
        return v;
    }
    vector copy() const {
        vector v;
        v.reserve(size_);
        v.append_copies(data(), size_);
        return v;
    }

    T* data() noexcept { return static_cast<T*>(items_); }
    const T* data() const noexcept { return static_cast<const T*>(items_); }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    T& operator[](i64 i) noexcept { return data()[i]; }
    const T& operator[](i64 i) const noexcept { return data()[i]; }
    T& at(i64 i, const site* here) {
        if (u64(i) >= u64(size_)) [[unlikely]]
            fail_index(i, size_, here);
        return data()[i];
    }
    const T& at(i64 i, const site* here) const {
        if (u64(i) >= u64(size_)) [[unlikely]]
            fail_index(i, size_, here);
        return data()[i];
    }

    void push(T x, const site* here = nullptr) {
        if (size_ >= capacity_) [[unlikely]]
            grow(sizeof(T), here);
        new (place{data() + size_}) T(static_cast<T&&>(x));
        ++size_;
    }
    option<T> pop(const site* here = nullptr) {
        check_free(here);
        if (size_ == 0) return none;
        T* last = data() + --size_;
        option<T> x(static_cast<T&&>(*last));
        last->~T();
        return x;
    }
    void insert(i64 i, T x, const site* here = nullptr) {
        if (u64(i) > u64(size_)) [[unlikely]]
            fail_index(i, size_, here);
        open_gap(i, sizeof(T), here);
        new (place{data() + i}) T(static_cast<T&&>(x));
    }
    T remove(i64 i, const site* here = nullptr) {
        check_free(here);
        T* gone = &at(i, here);
        T x(static_cast<T&&>(*gone));
        gone->~T();
        close_gap(i, sizeof(T));
        return x;
    }
    // Copies. `other` may be a part of this vector.
    void append(const slice<T>& other, const site* here = nullptr) {
        check_free(here);
        const T* from = other.data();
        bool own = from >= data() && from < data() + size_;
        i64 offset = own ? from - data() : 0;
        reserve(size_ + other.size(), here);
        append_copies(own ? data() + offset : from, other.size());
    }
    void append(const vector& other, const site* here = nullptr) { append(other.all(), here); }
    void clear(const site* here = nullptr) {
        check_free(here);
        i64 n = size_;
        size_ = 0;
        destroy(data(), n);
    }
    void reserve(i64 n, const site* here = nullptr) {
        if (n > capacity_) reserve_items(n, sizeof(T), here);
    }
    // Cuts off the end, or adds zero values.
    void resize(i64 n, const site* here = nullptr) {
        check_free(here);
        if (n < 0) [[unlikely]]
            fail_size(n, here);
        if (n <= size_) {
            i64 old = size_;
            size_ = n;
            destroy(data() + n, old - n);
            return;
        }
        reserve_items(n, sizeof(T), here);
        if constexpr (is_plain<T>)
            __builtin_memset(static_cast<void*>(data() + size_), 0, u64(n - size_) * sizeof(T));
        else
            for (i64 i = size_; i < n; ++i) new (place{data() + i}) T(zero_of<T>());
        size_ = n;
    }

    slice<T> all() const noexcept { return slice<T>(data(), size_); }
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
    option<T> first() const { return size_ == 0 ? option<T>() : option<T>(T(data()[0])); }
    option<T> last() const { return size_ == 0 ? option<T>() : option<T>(T(data()[size_ - 1])); }
    bool contains(const T& x) const { return all().contains(x); }
    option<i64> index_of(const T& x) const { return all().index_of(x); }

    // Of bytes only.
    string text() const { return string(reinterpret_cast<const char*>(data()), size_); }
    string hex() const;
    void append_text(const string& s, const site* here = nullptr) {
        append(slice<T>(s.begin(), s.size()), here);
    }
    // Appends an integer of 1 to 8 bytes, the most significant first.
    void append_uint(u64 x, i64 size, const site* here = nullptr);
    u64 uint_at(i64 at, i64 size, const site* here = nullptr) const;
    // The elements for a C library, with capacity for n more that it may fill. `grown` says how
    // many it filled.
    T* room(i64 n, const site* here = nullptr) {
        check_free(here);
        if (n > capacity_ - size_) reserve_items(size_ + n, sizeof(T), here);
        return data() + size_;
    }
    void grown(i64 n) noexcept { size_ += n; }

    u64 hash_value() const {
        if constexpr (is_integer<T> && sizeof(T) == 1) return hash_bytes(data(), u64(size_));
        u64 h = u64(size_);
        for (const T& x : *this) h = hash_join(h, hash_of(x));
        return h;
    }
    friend bool operator==(const vector& a, const vector& b) { return a.all() == b.all(); }

private:
    void append_copies(const T* from, i64 n) {
        if constexpr (__is_trivially_copyable(T)) {
            if (n > 0)
                __builtin_memcpy(static_cast<void*>(data() + size_), from, u64(n) * sizeof(T));
            size_ += n;
        } else {
            for (i64 i = 0; i < n; ++i, ++size_) new (place{data() + size_}) T(copy_of(from[i]));
        }
    }
    void forget() noexcept {
        items_ = nullptr;
        size_ = 0;
        capacity_ = 0;
    }
    void drop() noexcept {
        destroy(data(), size_);
        buffer_free(items_);
    }
};

template <> string vector<character>::hex() const;
template <> void vector<character>::append_uint(u64 x, i64 size, const site* here);
template <> u64 vector<character>::uint_at(i64 at, i64 size, const site* here) const;

// Compiled once, in libeve.a.
template <> void sort_items(string* items, i64 n);
template <> i64 partition_items(string* items, i64 n);

// Concatenation: + on bytes.
inline bytes operator+(const bytes& a, const bytes& b) {
    bytes both;
    both.reserve(a.size() + b.size());
    both.append(a);
    both.append(b);
    return both;
}

} // namespace eve
