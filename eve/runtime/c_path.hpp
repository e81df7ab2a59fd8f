#pragma once
// Paths for system calls. Only for the files that make them.
#include "vector.hpp"

#include <string.h>

namespace eve {

// A path as C wants it.
class c_path {
public:
    explicit c_path(const string& path) : text_(path.bytes()) {
        valid_ = memchr(path.data(), 0, static_cast<usize>(path.size())) == nullptr;
        text_.push(0);
    }
    // Whether it has no zero byte, at which the kernel would cut it off.
    bool valid() const noexcept { return valid_; }
    const char* text() const noexcept { return reinterpret_cast<const char*>(text_.data()); }

private:
    bytes text_;
    bool valid_;
};

} // namespace eve
