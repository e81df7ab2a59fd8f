#pragma once
// option<T>: Eve's T?. It is `none` or a value: two words for numbers, no larger than T for
// strings and handles.
#include "hash.hpp"

namespace eve {

struct none_type {};
inline constexpr none_type none{};

namespace detail {

// Copied as bytes.
template <class T> struct plain_option {
    union {
        T value_;
    };
    bool some_;
    constexpr plain_option() noexcept : some_(false) {
        __builtin_memset(static_cast<void*>(&value_), 0, sizeof value_);
    }
    constexpr explicit plain_option(T&& x) noexcept : value_(static_cast<T&&>(x)), some_(true) {}
    constexpr bool has() const noexcept { return some_; }
};

template <class T> struct owning_option {
    union {
        T value_;
    };
    bool some_;
    owning_option() noexcept : some_(false) {}
    explicit owning_option(T&& x) noexcept : value_(static_cast<T&&>(x)), some_(true) {}
    owning_option(const owning_option& o) : some_(o.some_) {
        if (some_) new (place{&value_}) T(o.value_);
    }
    owning_option(owning_option&& o) noexcept : some_(o.some_) {
        if (some_) new (place{&value_}) T(static_cast<T&&>(o.value_));
    }
    // By value: the argument was copied or moved as T allows, and the bytes are exchanged.
    owning_option& operator=(const owning_option& o) {
        if (this != &o) {
            owning_option fresh(o);
            exchange(fresh);
        }
        return *this;
    }
    owning_option& operator=(owning_option&& o) noexcept {
        owning_option fresh(static_cast<owning_option&&>(o));
        exchange(fresh);
        return *this;
    }
    ~owning_option() {
        if (some_) value_.~T();
    }
    bool has() const noexcept { return some_; }

private:
    void exchange(owning_option& o) noexcept {
        alignas(owning_option) unsigned char bytes[sizeof(owning_option)];
        __builtin_memcpy(bytes, static_cast<void*>(this), sizeof bytes);
        __builtin_memcpy(static_cast<void*>(this), static_cast<void*>(&o), sizeof bytes);
        __builtin_memcpy(static_cast<void*>(&o), bytes, sizeof bytes);
    }
};

template <class T> struct niche_option {
    T value_;
    niche_option() noexcept : value_(niche{}) {}
    explicit niche_option(T&& x) noexcept : value_(static_cast<T&&>(x)) {}
    bool has() const noexcept { return !value_.is_niche(); }
};

template <bool Niche, bool Plain> struct choose_option;
template <bool Plain> struct choose_option<true, Plain> {
    template <class T> using of = niche_option<T>;
};
template <> struct choose_option<false, true> { template <class T> using of = plain_option<T>; };
template <> struct choose_option<false, false> { template <class T> using of = owning_option<T>; };

} // namespace detail

template <class T> class option {
    using storage =
        typename detail::choose_option<has_niche<T>, __is_trivially_copyable(T)>::template of<T>;

public:
    option() noexcept = default;
    option(none_type) noexcept {}
    option(T x) noexcept : held_(static_cast<T&&>(x)) {}

    bool has() const noexcept { return held_.has(); }
    explicit operator bool() const noexcept { return held_.has(); }

    // The value. The caller has checked has().
    T& operator*() noexcept { return held_.value_; }
    const T& operator*() const noexcept { return held_.value_; }
    T* operator->() noexcept { return &held_.value_; }
    const T* operator->() const noexcept { return &held_.value_; }
    // Moves the value out. The option must not be read afterwards.
    T take() noexcept { return static_cast<T&&>(held_.value_); }

    option copy() const { return has() ? option(copy_of(held_.value_)) : option(); }

    u64 hash_value() const { return has() ? hash_join(1, hash_of(**this)) : 0; }
    friend bool operator==(const option& a, const option& b) {
        return a.has() == b.has() && (!a.has() || *a == *b);
    }
    // none is less than every value.
    friend bool operator<(const option& a, const option& b) {
        return b.has() && (!a.has() || *a < *b);
    }

private:
    storage held_;
};

template <class T> option<T> some(T x) { return option<T>(static_cast<T&&>(x)); }

} // namespace eve
