#pragma once
// What the file system says about a file, and about an entry of a directory.
#include "instant.hpp"

struct stat;

namespace eve::fs {

class file_info {
public:
    file_info() noexcept = default;
    explicit file_info(const struct ::stat& about) noexcept;

    i64 size() const noexcept { return size_; }
    instant modified() const noexcept { return {modified_ns_}; }
    i64 permissions() const noexcept;
    bool same_file(const file_info& other) const noexcept {
        return device_ == other.device_ && inode_ == other.inode_;
    }
    bool is_file() const noexcept;
    bool is_directory() const noexcept;
    bool is_link() const noexcept;

    u64 hash_value() const noexcept {
        return hash_join(hash_join(hash_of(size_), hash_of(modified_ns_)), hash_of(inode_));
    }
    friend bool operator==(const file_info& a, const file_info& b) noexcept = default;

private:
    i64 size_ = 0;
    i64 modified_ns_ = 0;
    u64 device_ = 0;
    u64 inode_ = 0;
    u32 mode_ = 0;
};

class entry {
public:
    enum class kind : u8 { other, file, directory, link };

    entry() noexcept = default;
    entry(string name, kind k) noexcept : name_(static_cast<string&&>(name)), kind_(k) {}

    string name() const noexcept { return name_; }
    bool is_file() const noexcept { return kind_ == kind::file; }
    bool is_directory() const noexcept { return kind_ == kind::directory; }
    bool is_link() const noexcept { return kind_ == kind::link; }

    u64 hash_value() const noexcept { return hash_join(hash_of(name_), hash_of(u8(kind_))); }
    friend bool operator==(const entry& a, const entry& b) noexcept {
        return a.name_ == b.name_ && a.kind_ == b.kind_;
    }
    // By name.
    friend bool operator<(const entry& a, const entry& b) noexcept { return a.name_ < b.name_; }

private:
    string name_;
    kind kind_ = kind::other;
};

} // namespace eve::fs
