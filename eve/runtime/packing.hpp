#pragma once
// Module io.packing: what packs the messages of a WebSocket (std/io/packing.eve). Connections know
// these interfaces only, so a program that packs nothing needs no library for it. Module io.deflate
// makes coders.
#include "result.hpp"

namespace eve::io::packing {

// Codes of errors, as in std/io/packing.eve.
constexpr i64 damaged = 1;
constexpr i64 too_large = 2;

// The messages of one side. The window has 8 to 15 bits.
struct direction {
    int window;
    bool keeps;
};

// Of one connection. Owner only, all methods.
class message_coder {
public:
    message_coder() noexcept {}
    message_coder(const message_coder&) = delete;
    message_coder& operator=(const message_coder&) = delete;
    virtual ~message_coder() = default;

    virtual string pack(const string& message) = 0;
    virtual result<string> unpack(const string& packed, i64 most) = 0;
};

// Owns a message_coder, or has none.
class coder {
public:
    explicit coder(message_coder* what) noexcept : what_(what) {}
    coder(coder&& other) noexcept : what_(other.what_) { other.what_ = nullptr; }
    coder& operator=(coder&& other) noexcept {
        message_coder* mine = what_;
        what_ = other.what_;
        other.what_ = mine;
        return *this;
    }
    ~coder() { delete what_; }

    string pack(const string& message) {
        return what_ == nullptr ? string() : what_->pack(message);
    }
    result<string> unpack(const string& packed, i64 most) {
        if (what_ == nullptr) return error(damaged, string::literal("there is no coder"));
        return what_->unpack(packed, most);
    }

private:
    message_coder* what_;
};

// Any thread, all methods. The zero value makes coders that pack nothing.
class coders {
public:
    using maker = message_coder* (*)(i64 level, direction own, direction peer);
    coders() noexcept = default;
    coders(maker make, i64 level) noexcept : make_(make), level_(level) {}

    coder begin(i64 window, bool keeps, i64 peer_window, bool peer_keeps) const {
        if (make_ == nullptr) return coder(nullptr);
        direction own{static_cast<int>(window), keeps};
        direction peer{static_cast<int>(peer_window), peer_keeps};
        return coder(make_(level_, own, peer));
    }

    u64 hash_value() const noexcept {
        return hash_join(hash_of(reinterpret_cast<i64>(make_)), hash_of(level_));
    }
    friend bool operator==(const coders& a, const coders& b) noexcept {
        return a.make_ == b.make_ && a.level_ == b.level_;
    }

private:
    maker make_ = nullptr;
    i64 level_ = 0;
};

} // namespace eve::io::packing
