#pragma once
// error: a counted pointer to a code, a text and a cause. result<T>: Eve's T!, a value or an
// error.
#include "string.hpp"

namespace eve {

class error {
public:
    // The zero value: code 0, no text.
    error() noexcept;
    error(i64 code, string text);
    error(i64 code, string text, error cause);
    explicit error(niche) noexcept : held_(nullptr) {}
    error(const error& o) noexcept : held_(o.held_) { retain(); }
    error(error&& o) noexcept : held_(o.held_) { o.held_ = nullptr; }
    error& operator=(error o) noexcept {
        parts* old = held_;
        held_ = o.held_;
        o.held_ = old;
        return *this;
    }
    ~error() { release(); }

    bool is_niche() const noexcept { return held_ == nullptr; }
    i64 code() const noexcept;
    string text() const noexcept;
    option<error> cause() const noexcept;
    error copy() const noexcept { return *this; }

    u64 hash_value() const noexcept { return hash_join(hash_of(code()), hash_of(text())); }
    // Compares code and text.
    friend bool operator==(const error& a, const error& b) noexcept {
        return a.held_ == b.held_ || (a.code() == b.code() && a.text() == b.text());
    }

private:
    struct parts;
    void retain() const noexcept;
    void release() noexcept;
    parts* held_;
};

inline error make_error(i64 code, string text) { return error(code, static_cast<string&&>(text)); }

template <class T> class result {
public:
    result() : why_(niche{}), value_(zero_of<T>()) {}
    result(T x) noexcept : why_(niche{}), value_(static_cast<T&&>(x)) {}
    result(error why) noexcept : why_(static_cast<error&&>(why)) {}
    result(const result& o) : why_(o.why_) {
        if (ok()) new (place{&value_}) T(o.value_);
    }
    result(result&& o) noexcept : result(static_cast<result&&>(o), o.ok()) {}
    result& operator=(const result& o) {
        if (this != &o) *this = result(o);
        return *this;
    }
    result& operator=(result&& o) noexcept {
        result fresh(static_cast<result&&>(o));
        this->~result();
        new (place{this}) result(static_cast<result&&>(fresh));
        return *this;
    }
    ~result() {
        if (ok()) value_.~T();
    }

    bool ok() const noexcept { return why_.is_niche(); }
    bool has() const noexcept { return ok(); }
    // The value. The caller has checked ok().
    T& operator*() noexcept { return value_; }
    const T& operator*() const noexcept { return value_; }
    T take() noexcept { return static_cast<T&&>(value_); }
    // The error. The caller has checked ok().
    const error& why() const noexcept { return why_; }
    result copy() const { return ok() ? result(copy_of(value_)) : result(why_); }

    friend bool operator==(const result& a, const result& b) {
        if (a.ok() != b.ok()) return false;
        return a.ok() ? a.value_ == b.value_ : a.why_ == b.why_;
    }

private:
    // A moved-from error would read as success. So a failed result keeps its error, which is
    // counted.
    result(result&& o, bool good) noexcept : why_(o.why_) {
        if (good) new (place{&value_}) T(static_cast<T&&>(o.value_));
    }
    error why_;
    union {
        T value_;
    };
};

template <> class result<void> {
public:
    result() noexcept : why_(niche{}) {}
    result(error why) noexcept : why_(static_cast<error&&>(why)) {}
    bool ok() const noexcept { return why_.is_niche(); }
    bool has() const noexcept { return ok(); }
    const error& why() const noexcept { return why_; }

private:
    error why_;
};

} // namespace eve
