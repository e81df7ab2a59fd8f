#pragma once
// Temporary files and folders: type temporary of std/fs.eve.
#include "string.hpp"

namespace eve::fs {

struct removal;

// A file or a folder that is removed with the last handle to it, and at the end of the process.
class temporary {
public:
    explicit temporary(string path) noexcept;
    temporary(temporary&& fresh) noexcept : removal_(fresh.removal_) { fresh.removal_ = nullptr; }
    temporary& operator=(temporary&&) = delete;
    ~temporary();

    string path() const noexcept;
    // Owner only. It stays.
    void keep() noexcept;

private:
    removal* removal_; // null: it was moved from
};

} // namespace eve::fs
