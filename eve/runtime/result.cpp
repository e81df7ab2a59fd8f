// error: a counted, immutable record.
#include "result.hpp"

namespace eve {

struct error::parts {
    u32 count;
    i64 code;
    string text;
    error cause; // a niche if there is none
};

error::error() noexcept : held_(nullptr) {
    // The record of the zero value. This handle keeps its count above 0.
    static error* const nothing = new (place{buffer_new(1, sizeof(error))}) error(0, string());
    held_ = nothing->held_;
    retain();
}

error::error(i64 code, string text) : error(code, static_cast<string&&>(text), error(niche{})) {}

error::error(i64 code, string text, error cause)
    : held_(new (place{buffer_new(1, sizeof(parts))})
                parts{1, code, static_cast<string&&>(text), static_cast<error&&>(cause)}) {}

i64 error::code() const noexcept { return held_->code; }
string error::text() const noexcept { return held_->text; }

option<error> error::cause() const noexcept {
    if (held_->cause.is_niche()) return none;
    return held_->cause;
}

void error::retain() const noexcept {
    if (held_ != nullptr) __atomic_fetch_add(&held_->count, 1u, __ATOMIC_RELAXED);
}

// A chain of causes may be long, so it is freed in a loop.
void error::release() noexcept {
    parts* p = held_;
    while (p != nullptr && __atomic_fetch_sub(&p->count, 1u, __ATOMIC_ACQ_REL) == 1) {
        parts* next = p->cause.held_;
        p->cause.held_ = nullptr;
        p->~parts();
        buffer_free(p);
        p = next;
    }
}

} // namespace eve
